"""Arrays: blocks of space."""

import numpy as np

from harness.arrays import FLOAT_INPUT
from harness.notation import *


def blocks_of(c, dims):
    blocks = [c.int(1, 3) for _ in range(dims)]
    borders = [[c.int(0, 3), c.int(0, 3)] for _ in range(dims)]
    return blocks, borders


@generate("SpaceToBatchND", attrs=dict(T=NUMBERS, Tblock_shape=INDEX, Tpaddings=INDEX), gradient=["input"], count=20, may_fail=True,
          bad=[dict(input=x, block_shape=const("int32", b), paddings=const("int32", p), T="float", Tblock_shape="int32", Tpaddings="int32")
               for x, b, p in [(FLOAT_INPUT, [-1], [[0, 0]]), (FLOAT_INPUT, [0], [[0, 0]]), (FLOAT_INPUT, [2], [[0, 0]]), (zeros("float", 2), [2], [[0, 0]]),
                               (FLOAT_INPUT, [[1]], [[0, 0]]), (FLOAT_INPUT, [1], [0, 0]), (FLOAT_INPUT, [3], [[-1, 1]])]])
def space_to_batch_nd(c):
    m = c.int(1, 3)
    blocks, borders = blocks_of(c, m)
    shape = [c.size()]
    for block, border in zip(blocks, borders):
        size = c.size()
        border[1] += -(size + sum(border)) % block
        shape.append(size)
    x = c.array(c["T"], tuple(shape) + c.any_shape(0, 1))
    return dict(input=x, block_shape=const(c["Tblock_shape"], blocks), paddings=const(c["Tpaddings"], borders)), {}


@generate("BatchToSpaceND", attrs=dict(T=NUMBERS, Tblock_shape=INDEX, Tcrops=INDEX), gradient=["input"], count=20, may_fail=True,
          bad=[dict(input=FLOAT_INPUT, block_shape=const("int32", b), crops=const("int32", p), T="float", Tblock_shape="int32", Tcrops="int32")
               for b, p in [([2], [[4, 3]]), ([2], [[-1, 3]]), ([3], [[0, 0]]), ([0], [[0, 0]]), ([2], [0, 0])]])
def batch_to_space_nd(c):
    m = c.int(1, 3)
    blocks, borders = blocks_of(c, m)
    shape = [c.size() * int(np.prod(blocks))]
    for i, block in enumerate(blocks):
        size = c.size()
        borders[i] = [c.int(0, size * block // 2), c.int(0, size * block // 2)]
        shape.append(size)
    x = c.array(c["T"], tuple(shape) + c.any_shape(0, 1))
    return dict(input=x, block_shape=const(c["Tblock_shape"], blocks), crops=const(c["Tcrops"], borders)), {}


@generate("SpaceToBatch", attrs=dict(T=NUMBERS, Tpaddings=INDEX), gradient=["input"],
          bad=[dict(input=zeros("float", *s), paddings=const("int32", p), block_size=2, T="float", Tpaddings="int32")
               for s, p in [((1, 2, 2, 1), [[1, 0], [0, 0]]), ((1, 2, 2), [[0, 0], [0, 0]]), ((1, 2, 2, 1), [[-1, 1], [0, 0]])]])
def space_to_batch(c):
    block = c.int(2, 3)
    borders = [[c.int(0, 3), c.int(0, 3)] for _ in range(2)]
    sizes = [c.size(), c.size()]
    for size, border in zip(sizes, borders):
        border[1] += -(size + sum(border)) % block
    return dict(input=c.array(c["T"], (c.size(), *sizes, c.size())), paddings=const(c["Tpaddings"], borders)), dict(block_size=block)


@generate("BatchToSpace", attrs=dict(T=NUMBERS, Tidx=INDEX), gradient=["input"],
          bad=[dict(input=zeros("float", *s), crops=const("int32", p), block_size=2, T="float", Tidx="int32")
               for s, p in [((3, 2, 2, 1), [[0, 0], [0, 0]]), ((4, 2, 2), [[0, 0], [0, 0]]), ((4, 2, 2, 1), [[-1, 1], [0, 0]]), ((4, 2, 2, 1), [[3, 3], [0, 0]])]])
def batch_to_space(c):
    block = c.int(2, 3)
    sizes = [c.size(), c.size()]
    crops = [[c.int(0, n * block // 2), c.int(0, n * block // 2)] for n in sizes]
    return dict(input=c.array(c["T"], (c.size() * block * block, *sizes, c.size())), crops=const(c["Tidx"], crops)), dict(block_size=block)


op("SpaceToDepth", dict(input=t("T", lambda c: (c.size(), c.size() * c["block_size"], c.size() * c["block_size"], c.size()))), dict(T=PLAIN, block_size=[2, 3]), gradient=True,
   bad=[dict(input=zeros("float", *s), block_size=2, T="float") for s in ((1, 1, 2, 1), (1, 2, 3, 1), (2, 2))])
op("DepthToSpace", dict(input=t("T", lambda c: (c.size(), c.size(), c.size(), c.size() * c["block_size"] ** 2))), dict(T=PLAIN, block_size=[2, 3]), gradient=True,
   bad=[dict(input=zeros("float", *s), block_size=2, T="float") for s in ((1, 1, 1, 3), (2, 4))])
