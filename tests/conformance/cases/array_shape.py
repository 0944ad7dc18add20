"""Arrays: shapes and what changes only them."""

import numpy as np

from harness.arrays import FLOAT_INPUT, with_ones
from harness.notation import *

op(["Shape", "Size"], dict(input=t("T")), dict(T=ALL_TYPES, out_type=INDEX))
op("ShapeN", dict(input=many((1, 3), t("T"))), dict(T=ALL_TYPES, out_type=INDEX))
op("Rank", dict(input=t("T")), dict(T=ALL_TYPES))


def new_shape(c):
    """Another shape with the same number of elements, one size of which may be left open."""
    left = int(np.prod(c.shape("tensor"), dtype=np.int64))
    if left == 0:
        return [0, c.int(1, 3)] if c.chance() else [c.int(1, 3), -1]
    sizes = []
    while left > 1 or c.chance(0.3):
        if len(sizes) == 5:
            sizes.append(left)
            break
        divisors = [n for n in range(1, left + 1) if left % n == 0]
        sizes.append(c.pick(*divisors))
        left //= sizes[-1]
    if sizes and c.chance():
        sizes[c.int(0, len(sizes) - 1)] = -1
    return sizes


op("Reshape", dict(tensor=t("T"), shape=v("Tshape", new_shape)), dict(T=ALL_TYPES, Tshape=INDEX), gradient=["tensor"],
   bad=[dict(tensor=FLOAT_INPUT, shape=const("int32", [4, -1])), dict(tensor=FLOAT_INPUT, shape=const("int32", [-1, -1])),
        dict(tensor=FLOAT_INPUT, shape=const("int32", [-2, 3])), dict(tensor=FLOAT_INPUT, shape=const("int32", [7])),
        dict(tensor=FLOAT_INPUT, shape=const("int32", [[6]])), dict(tensor=FLOAT_INPUT, shape=const("int32", [0, -1])),
        dict(tensor=FLOAT_INPUT, shape=const("int32", [2**31 - 1] * 3))])
op("Reshape", dict(tensor=t("float", lambda c: c.pick((0, 3), (2, 0, 3), (0, 0), (0,), (4, 0))),
                   shape=v("int32", lambda c: c.pick([0, -1], [0, 2, -1], [-1], [3, -1], [0, 0, 2, -1]))), count=12, empty=0, special=0)
op("ExpandDims", dict(input=t("T"), dim=v("Tdim", lambda c: c.axis("input", 1) if c.chance() else [c.axis("input", 1)])),
   dict(T=ALL_TYPES, Tdim=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, dim=const("int32", 3)), dict(input=FLOAT_INPUT, dim=const("int32", -4)),
        dict(input=FLOAT_INPUT, dim=const("int32", [0, 1]))])


def some_ones(c):
    ones = [i for i, n in enumerate(c.shape("input")) if n == 1]
    rank = c.rank("input")
    return [i - rank if c.chance(0.3) else i for i in ones if c.chance(0.6)]


op("Squeeze", dict(input=t("T", with_ones)), dict(T=ALL_TYPES, squeeze_dims=some_ones), gradient=True,
   bad=[dict(input=FLOAT_INPUT, squeeze_dims=[0]), dict(input=FLOAT_INPUT, squeeze_dims=[2]), dict(input=FLOAT_INPUT, squeeze_dims=[-3])])
op(["BroadcastArgs", "BroadcastGradientArgs"],
   dict(s0=v("T", lambda c: c.any_shape(0, 4)), s1=v("T", lambda c: c.broadcastable(tuple(c["s0"].tolist())))), dict(T=INDEX), special=0, empty=3,
   bad=[dict(s0=const("int32", [2]), s1=const("int32", [3])), dict(s0=const("int32", 2), s1=const("int32", [3]))])


# Sizes computed from shapes, which must be known before a step.
@program(count=6)
def shapes_from_shapes(c, tf):
    x = c.feed(c.array("float", (4, 6, 5)))
    n = tf.shape(x)
    rows = tf.reshape(x, tf.stack([n[0], -1]))
    padded = tf.zeros(tf.concat([n[:1] + 1, [n[1] * n[2]]], 0))
    tiled = tf.tile(x, tf.stack([1, n[0] // 2, tf.minimum(n[1], n[2])]))
    flat = tf.reshape(x, [tf.reduce_prod(n)])
    spread = tf.broadcast_to(x, tf.broadcast_dynamic_shape(tf.stack([3, 1, 1, 1]), n))
    part = tf.slice(x, [0, 0, 0], n - 1)
    return [rows, padded, tiled, flat, spread, part, tf.gather(n, [2, 0]), tf.size(x), tf.rank(x), tf.unstack(n)[1]]
