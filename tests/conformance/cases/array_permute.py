"""Arrays: transposing, reversing, rolling."""

from harness.arrays import FLOAT_INPUT, with_ones
from harness.notation import *

op(["Transpose", "ConjugateTranspose"],
   dict(x=t("T", lambda c: c.any_shape(0, 6) if c.chance() else with_ones(c)), perm=v("Tperm", lambda c: c.rng.permutation(c.rank("x")))),
   dict(T=ALL_TYPES, Tperm=INDEX), gradient=["x"], count=20,
   bad=[dict(x=FLOAT_INPUT, perm=const("int32", [1, 1])), dict(x=FLOAT_INPUT, perm=const("int32", [2, 0])),
        dict(x=FLOAT_INPUT, perm=const("int32", [0])), dict(x=FLOAT_INPUT, perm=const("int32", [[0, 1]]))])
op("Transpose", dict(x=t("T", lambda c: (c.int(20, 40), c.int(1, 3), c.int(20, 70))), perm=v("int32", lambda c: c.rng.permutation(3))),
   dict(T=["uint8", "half", "float", "double", "string"]), count=10, empty=0, special=0)
op("InvertPermutation", dict(x=v("T", lambda c: c.rng.permutation(c.int(0, 6)))), dict(T=INDEX), empty=0, special=0,
   bad=[dict(x=const("int32", [1, 1])), dict(x=const("int32", [2, 0])), dict(x=const("int32", [-1, 0])), dict(x=const("int32", [[0]]))])
op("ReverseV2", dict(tensor=t("T"), axis=v("Tidx", lambda c: [i - c.rank("tensor") if c.chance(0.3) else i for i in c.rng.permutation(c.rank("tensor")) if c.chance()])),
   dict(T=ALL_TYPES, Tidx=INDEX), gradient=["tensor"],
   bad=[dict(tensor=FLOAT_INPUT, axis=const("int32", a)) for a in ([0, 0], [2], 0, [-3])])


@generate("ReverseSequence", attrs=dict(T=ALL_TYPES, Tlen=INDEX), gradient=["input"], count=20,
          bad=[dict(input=FLOAT_INPUT, seq_lengths=const("int64", l), seq_dim=s, batch_dim=b, T="float", Tlen="int64")
               for l, s, b in [([2, 3], 0, 0), ([2, 4], 1, 0), ([2, -1], 1, 0), ([2], 1, 0), ([2, 3], 2, 0), ([[2, 3]], 1, 0), ([2, 3], 1, 3)]])
def reverse_sequence(c):
    x = c.array(c["T"], c.any_shape(2, 4))
    batch_dim, seq_dim = (int(i) for i in c.rng.permutation(x.ndim)[:2])
    lengths = c.rng.integers(0, x.shape[seq_dim], x.shape[batch_dim], endpoint=True)
    return dict(input=x, seq_lengths=const(c["Tlen"], lengths)), dict(seq_dim=seq_dim, batch_dim=batch_dim)


@generate("Roll", attrs=dict(T=ALL_TYPES, Tshift=INDEX, Taxis=INDEX), gradient=["input"], count=20,
          bad=[dict(input=x, shift=const("int32", s), axis=const("int32", a), T="float", Tshift="int32", Taxis="int32")
               for x, s, a in [(FLOAT_INPUT, 1, 2), (FLOAT_INPUT, [1, 1], [0]), (zeros("float"), 1, 0), (FLOAT_INPUT, [[1]], [[0]])]])
def roll(c):
    x = c.array(c["T"], c.any_shape(1, 4))
    n = c.int(1, 3)
    shift, axis = [c.int(-7, 7) for _ in range(n)], [c.int(-x.ndim, x.ndim - 1) for _ in range(n)]
    if c.chance(0.3):
        shift, axis = shift[0], axis[0]
    return dict(input=x, shift=const(c["Tshift"], shift), axis=const(c["Taxis"], axis)), {}
