"""Arrays: slices."""

import numpy as np

from harness.arrays import FLOAT_INPUT
from harness.notation import *


def begin_of(c):
    return [c.int(0, n) for n in c.shape("input")]


def size_of(c):
    return [-1 if c.chance(0.3) else c.int(0, n - b) for n, b in zip(c.shape("input"), c["begin"].tolist())]


op("Slice", dict(input=t("T"), begin=v("Index", begin_of), size=v("Index", size_of)), dict(T=ALL_TYPES, Index=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, begin=const("int32", begin), size=const("int32", size))
        for begin, size in [([3, 1], [-1, 1]), ([0, 1], [-1, 3]), ([0, -1], [1, 1]), ([0, 1], [-2, 1]), ([0], [1]), ([[0, 0]], [[1, 1]])]])


def python_slice(c, shape, index_type, assigning=False):
    """begin, end, strides and masks for a tensor of that shape, every feature of Python's slices included."""
    begin, end, strides = [], [], []
    masks = dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
    dims = list(shape)
    ellipsis_at = c.int(0, len(dims)) if c.chance(0.3) else None
    i = 0
    while i < len(dims) and (i < 6):
        bit = 1 << len(begin)
        if i == ellipsis_at:
            skipped = c.int(0, len(dims) - i)
            masks["ellipsis_mask"] |= bit
            begin.append(c.int(-2, 2)), end.append(c.int(-2, 2)), strides.append(1)
            i += skipped
            ellipsis_at = None
            # What follows an ellipsis counts from the end: the rest has to be named.
            continue
        if not assigning and c.chance(0.12):
            masks["new_axis_mask"] |= bit
            begin.append(0), end.append(0), strides.append(1)
            continue
        n = dims[i]
        if n > 0 and c.chance(0.25):
            masks["shrink_axis_mask"] |= bit
            begin.append(c.int(-n, n - 1)), end.append(c.int(-3, 3)), strides.append(1)
        else:
            stride = c.pick(1, 1, 1, 2, 3, -1, -2, 100, -100)
            begin.append(c.int(-n - 2, n + 2)), end.append(c.int(-n - 2, n + 2)), strides.append(stride)
            if c.chance(0.3):
                masks["begin_mask"] |= bit
            if c.chance(0.3):
                masks["end_mask"] |= bit
        i += 1
        if masks["ellipsis_mask"] == 0 and c.chance(0.15):
            break
    return [const(index_type, x) for x in (begin, end, strides)], masks


# An index into x, of shape [2,3]: begin, end, strides, attributes.
BAD_SLICES = [([0], [1], [0], {}), ([5], [6], [1], dict(shrink_axis_mask=1)), ([-3], [0], [1], dict(shrink_axis_mask=1)),
              ([1], [0], [-1], dict(shrink_axis_mask=1)), ([0, 0, 0], [1, 1, 1], [1, 1, 1], {}), ([0, 0], [1, 1], [1, 1], dict(ellipsis_mask=3)),
              ([0, 0], [1], [1, 1], {}), ([[0]], [[1]], [[1]], {})]


def bad_slices(**more):
    return [dict(begin=const("int32", b), end=const("int32", e), strides=const("int32", s),
                 **{**dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0), **masks, **more}) for b, e, s, masks in BAD_SLICES]


@generate("StridedSlice", attrs=dict(T=ALL_TYPES, Index=INDEX + ["int16"]), count=60, empty=8,
          gradient=lambda inputs, attrs: attrs["Index"] != "int16" and ["input"], bad=bad_slices(input=FLOAT_INPUT, T="float", Index="int32"))
def strided_slice(c):
    x = c.array(c["T"], c.any_shape(0, 5))
    (begin, end, strides), masks = python_slice(c, x.shape, c["Index"])
    return dict(input=x, begin=begin, end=end, strides=strides), dict(T=c["T"], Index=c["Index"], **masks)


def sliced(x, begin, end, strides, masks):
    """What numpy makes of it, for the shape."""
    index = []
    for i, (b, e, s) in enumerate(zip(begin.tolist(), end.tolist(), strides.tolist())):
        bit = 1 << i
        if masks["ellipsis_mask"] & bit:
            index.append(Ellipsis)
        elif masks["new_axis_mask"] & bit:
            index.append(None)
        elif masks["shrink_axis_mask"] & bit:
            index.append(b)
        else:
            index.append(slice(None if masks["begin_mask"] & bit else b, None if masks["end_mask"] & bit else e, s))
    return np.asarray(x[tuple(index)])


@generate("StridedSliceGrad", attrs=dict(T=ALL_TYPES, Index=INDEX), count=30, gradient=["dy"],
          bad=bad_slices(shape=const("int32", [2, 3]), dy=zeros("float", 1, 1), T="float", Index="int32")
          + [dict(shape=const("int32", [4]), begin=const("int32", [0]), end=const("int32", [2]), strides=const("int32", [1]), dy=zeros("float", 1), T="float", Index="int32",
                  begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)])
def strided_slice_grad(c):
    shape = c.any_shape(0, 5)
    (begin, end, strides), masks = python_slice(c, shape, c["Index"])
    dy = c.array(c["T"], sliced(np.zeros(shape), begin, end, strides, masks).shape)
    return dict(shape=const(c["Index"], shape), begin=begin, end=end, strides=strides, dy=dy), dict(T=c["T"], Index=c["Index"], **masks)


def assignment(c, kind):
    x = c.array(c["T"], c.any_shape(1, 4))
    (begin, end, strides), masks = python_slice(c, x.shape, c["Index"], assigning=True)
    shape = sliced(x, begin, end, strides, masks).shape
    if c.chance(0.3) and 0 not in shape:
        shape = tuple(1 if c.chance() else n for n in shape)
    return kind(x), dict(begin=begin, end=end, strides=strides, value=c.array(c["T"], shape)), dict(T=c["T"], Index=c["Index"], **masks)


@generate("TensorStridedSliceUpdate", attrs=dict(T=ALL_TYPES, Index=INDEX), count=30, gradient=["input", "value"],
          bad=bad_slices(input=FLOAT_INPUT, value=zeros("float"), T="float", Index="int32"))
def tensor_strided_slice_update(c):
    x, inputs, attrs = assignment(c, lambda x: x)
    return dict(input=x, **inputs), attrs


class Given:
    """A variable with a given value."""

    def __init__(self, value):
        self.value = value

    def resolve(self, c):
        return self.value


@generate("StridedSliceAssign", attrs=dict(T=ALL_TYPES, Index=INDEX), count=20, special=0)
def strided_slice_assign(c):
    x, inputs, attrs = assignment(c, lambda x: ref(Given(x)))
    return dict(ref=x, **inputs), attrs


@generate("ResourceStridedSliceAssign", attrs=dict(T=ALL_TYPES, Index=INDEX), count=20, special=0)
def resource_strided_slice_assign(c):
    x, inputs, attrs = assignment(c, lambda x: resource(Given(x)))
    return dict(ref=x, **inputs), attrs
