"""Arrays: making tensors."""

import numpy as np

from harness.notation import *

op("Fill", dict(dims=v("index_type", lambda c: c.any_shape(0, 4)), value=t("T", "")), dict(T=ALL_TYPES, index_type=INDEX), gradient=["value"], special=0,
   bad=[dict(dims=const("int32", [-3])), dict(dims=const("int32", [2**31 - 1] * 3)), dict(value=zeros("float", 2), T="float"), dict(dims=const("int32", [[2]]))])
op("ZerosLike", dict(x=t("T")), dict(T=ALL_TYPES))
op("OnesLike", dict(x=t("T")), dict(T=PLAIN))
op("Empty", dict(shape=v("int32", lambda c: c.any_shape(0, 3))), dict(dtype=ALL_TYPES, init=True), special=0,
   bad=[dict(shape=const("int32", [-2]), dtype="float"), dict(shape=const("int32", 2), dtype="float")])


@generate("Range", attrs=dict(Tidx=ALL_FLOATS + INTS), count=32, empty=0, special=0,
          bad=[dict(start=const("int32", a), limit=const("int32", b), delta=const("int32", d), Tidx="int32") for a, b, d in [(0, 5, 0), (0, 5, -1), (5, 0, 1), ([0, 1], 5, 1)]]
          + [dict(start=const("float", 0), limit=const("float", b), delta=const("float", 1), Tidx="float") for b in (np.nan, np.inf)])
def number_range(c):
    dtype = c["Tidx"]
    ends = sorted([c.int(-20, 20), c.int(-20, 20)])
    delta = c.pick(1, 2, 3, 7)
    if dtype in ALL_FLOATS:
        ends = [end + round(c.rng.random(), 3) for end in ends]
        delta = c.pick(0.1, 0.25, 1.5, 3)
    start, limit = ends if c.chance() else ends[::-1]
    return dict(start=const(dtype, start), limit=const(dtype, limit), delta=const(dtype, delta if start <= limit else -delta)), dict(Tidx=dtype)


op("LinSpace", dict(start=t("T", ""), stop=t("T", ""), num=v("Tidx", lambda c: c.int(1, 40))), dict(T=FLOATS, Tidx=INDEX), special=0, empty=0, compare="bits",
   bad=[dict(num=const("int32", 0), Tidx="int32"), dict(start=zeros("float", 1), T="float")])


@generate("OneHot", attrs=dict(T=ALL_TYPES, TI=["int32", "int64", "uint8", "int8"]), count=20,
          bad=[dict(indices=const("int32", [0]), depth=const("int32", d), axis=a, T="float", TI="int32", on_value=const("float", 1), off_value=const("float", 0))
               for d, a in [(3, 2), (3, -2), (-3, -1), ([3], -1)]])
def one_hot(c):
    dtype = c["TI"]
    indices = c.array(dtype, c.any_shape(0, 3), between(0 if dtype[0] == "u" else -2, 6))
    return dict(indices=indices, depth=const("int32", c.int(0, 5)), on_value=c.array(c["T"], ()), off_value=c.array(c["T"], ())), \
        dict(axis=c.int(-1, indices.ndim), T=c["T"], TI=dtype)
