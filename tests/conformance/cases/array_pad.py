"""Arrays: pads."""

import numpy as np

from harness.arrays import FLOAT_INPUT
from harness.notation import *


def paddings_of(c):
    return [[c.int(0, 3), c.int(0, 3)] for _ in c.shape("input")] if c.rank("input") else np.zeros((0, 2))


BAD_PADDINGS = ([[0, 0], [-1, 1]], [[0, 0]], [0, 0], [[0, 0, 0], [0, 0, 0]])
op("Pad", dict(input=t("T"), paddings=v("Tpaddings", paddings_of)), dict(T=PLAIN, Tpaddings=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, paddings=const("int32", p)) for p in BAD_PADDINGS])
op("PadV2", dict(input=t("T"), paddings=v("Tpaddings", paddings_of), constant_values=t("T", "")), dict(T=ALL_TYPES, Tpaddings=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, paddings=const("int32", p)) for p in BAD_PADDINGS] + [dict(input=FLOAT_INPUT, paddings=const("int32", [[0, 0], [0, 0]]), constant_values=zeros("float", 1))])


def mirrors_of(c):
    """At most what can be mirrored."""
    skipped = 1 if c["mode"] == "REFLECT" else 0
    return [[c.int(0, max(n - skipped, 0)), c.int(0, max(n - skipped, 0))] for n in c.shape("input")] if c.rank("input") else np.zeros((0, 2))


MODES = ["REFLECT", "SYMMETRIC"]
op("MirrorPad", dict(input=t("T"), paddings=v("Tpaddings", mirrors_of)), dict(T=ALL_TYPES, Tpaddings=INDEX, mode=MODES), gradient=["input"], count=20, may_fail=True,
   bad=[dict(input=FLOAT_INPUT, paddings=const("int32", [[2, 0], [0, 0]])), dict(input=FLOAT_INPUT, paddings=const("int32", [[3, 0], [0, 0]]), mode="SYMMETRIC"),
        dict(input=FLOAT_INPUT, paddings=const("int32", [[-1, 0], [0, 0]])), dict(input=FLOAT_INPUT, paddings=const("int32", [[0, 0]]))])


@generate("MirrorPadGrad", attrs=dict(T=ALL_FLOATS + INTS, Tpaddings=INDEX, mode=MODES), gradient=["input"], count=20, empty=0,
          bad=[dict(input=zeros("float", 5), paddings=const("int32", p), T="float", mode="REFLECT") for p in ([[2, 2]], [[3, 3]], [[-1, 1]])])
def mirror_pad_grad(c):
    inner = tuple(c.int(1, 5) for _ in range(c.int(1, 4)))
    skipped = 1 if c["mode"] == "REFLECT" else 0
    paddings = [[c.int(0, n - skipped), c.int(0, n - skipped)] for n in inner]
    shape = [n + sum(pair) for n, pair in zip(inner, paddings)]
    return dict(input=c.array(c["T"], shape, special=False), paddings=const(c["Tpaddings"], paddings)), dict(mode=c["mode"])
