"""Arrays: tiling and broadcasting."""

from harness.arrays import FLOAT_INPUT
from harness.notation import *

op("Tile", dict(input=t("T"), multiples=v("Tmultiples", lambda c: [c.int(0 if c.chance(0.2) else 1, 3) for _ in c.shape("input")])),
   dict(T=ALL_TYPES, Tmultiples=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, multiples=const("int32", m)) for m in ([1], [1, -1], [[1, 0]], [2**31 - 1] * 2)][:3])
op("Tile", dict(input=t("T", lambda c: c.any_shape(5, 6)), multiples=v("int32", lambda c: [c.int(1, 2) for _ in c.shape("input")])), dict(T=["float", "double"]),
   gradient=["input"], checks=("own_gradients",), count=3, special=0)
op("BroadcastTo", dict(input=t("T", lambda c: tuple(1 if c.chance(0.4) else n for n in c.any_shape(0, 4))),
                       shape=v("Tidx", lambda c: (list(c.any_shape(0, 1)) if c.mode != "empty" else []) + [c.size() if n == 1 else n for n in c.shape("input")])),
   dict(T=ALL_TYPES, Tidx=INDEX), gradient=["input"], count=20,
   bad=[dict(input=FLOAT_INPUT, shape=const("int32", s)) for s in ([3], [2, 4], [-1, 3], 3, [[2, 3]])])
