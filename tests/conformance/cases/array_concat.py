"""Arrays: joining and taking apart."""

from harness.arrays import FLOAT_INPUT
from harness.notation import *


def join(c):
    """Parts that agree in all dimensions but one."""
    shape = c.any_shape(1, 4)
    axis = c.int(-len(shape), len(shape) - 1)
    parts = []
    for _ in range(c.int(2, 4)):
        part = list(shape)
        part[axis] = c.size()
        parts.append(c.array(c["T"], part))
    return parts, axis


BAD_JOINS = [([zeros("float", 2, 3), zeros("float", 3, 3)], 1), ([zeros("float", 2, 3), zeros("float", 2, 3)], 2),
             ([zeros("float"), zeros("float")], 0), ([zeros("float", 2), zeros("float", 2, 1)], 0)]


# TensorFlow's own gradient fails for an int64 axis.
@generate("ConcatV2", attrs=dict(T=ALL_TYPES, Tidx=INDEX), gradient=lambda inputs, attrs: attrs["Tidx"] == "int32" and ["values"],
          bad=[dict(values=values, axis=const("int32", axis)) for values, axis in BAD_JOINS])
def concat_v2(c):
    values, axis = join(c)
    return dict(values=values, axis=const(c["Tidx"], axis)), dict(T=c["T"], Tidx=c["Tidx"])


@generate("Concat", attrs=dict(T=ALL_TYPES), gradient=["values"],
          bad=[dict(values=values, concat_dim=const("int32", axis)) for values, axis in BAD_JOINS])
def concat(c):
    values, axis = join(c)
    return dict(values=values, concat_dim=const("int32", axis)), dict(T=c["T"])


@generate("ConcatOffset", attrs=dict(shape_type=INDEX), special=0,
          bad=[dict(concat_dim=const("int32", 1), shape=[const("int32", [2, 2]), const("int32", [3, 3])], shape_type="int32"),
               dict(concat_dim=const("int32", 2), shape=[const("int32", [2, 2]), const("int32", [2, 3])], shape_type="int32"),
               dict(concat_dim=const("int32", 0), shape=[const("int32", [2]), const("int32", [2, 3])], shape_type="int32")])
def concat_offset(c):
    dtype, values, axis = c["shape_type"], *join_shapes(c)
    return dict(concat_dim=const("int32", axis), shape=[const(dtype, value) for value in values]), dict(shape_type=dtype)


def join_shapes(c):
    shape = c.any_shape(1, 4)
    axis = c.int(-len(shape), len(shape) - 1)
    shapes = []
    for _ in range(c.int(2, 4)):
        shapes.append(list(shape))
        shapes[-1][axis] = c.size()
    return shapes, axis


@generate("Split", attrs=dict(T=ALL_TYPES), gradient=["value"],
          bad=[dict(split_dim=const("int32", 1), value=zeros("float", 2, 3), num_split=2, T="float"),
               dict(split_dim=const("int32", 2), value=zeros("float", 2, 3), num_split=2, T="float"),
               dict(split_dim=const("int32", [0]), value=zeros("float", 2, 3), num_split=2, T="float"),
               dict(split_dim=const("int32", 0), value=zeros("float"), num_split=1, T="float")])
def split(c):
    parts = c.int(1, 3)
    shape = list(c.any_shape(1, 4))
    axis = c.int(-len(shape), len(shape) - 1)
    shape[axis] *= parts
    return dict(split_dim=const("int32", axis), value=c.array(c["T"], shape)), dict(T=c["T"], num_split=parts)


# TensorFlow takes an unknown axis for the last one.
@generate("SplitV", attrs=dict(T=ALL_TYPES, Tlen=INDEX), gradient=["value"], vague=False,
          bad=[dict(value=zeros("float", 2, 3), size_splits=const("int64", [1, 1]), split_dim=const("int32", 1), num_split=2, T="float", Tlen="int64"),
               dict(value=zeros("float", 2, 3), size_splits=const("int64", [-1, -1]), split_dim=const("int32", 1), num_split=2, T="float", Tlen="int64"),
               dict(value=zeros("float", 2, 3), size_splits=const("int64", [-2, 5]), split_dim=const("int32", 1), num_split=2, T="float", Tlen="int64"),
               dict(value=zeros("float", 2, 3), size_splits=const("int64", [4, -1]), split_dim=const("int32", 1), num_split=2, T="float", Tlen="int64"),
               dict(value=zeros("float", 2, 3), size_splits=const("int64", [3]), split_dim=const("int32", 1), num_split=2, T="float", Tlen="int64"),
               dict(value=zeros("float", 2, 3), size_splits=const("int64", [1, 2]), split_dim=const("int32", 3), num_split=2, T="float", Tlen="int64")])
def split_v(c):
    sizes = [c.int(0, 4) for _ in range(c.int(1, 4))]
    shape = list(c.any_shape(1, 4))
    axis = c.int(-len(shape), len(shape) - 1)
    shape[axis] = sum(sizes)
    if len(sizes) > 1 and c.chance(0.4):
        sizes[c.int(0, len(sizes) - 1)] = -1
    inputs = dict(value=c.array(c["T"], shape), size_splits=const(c["Tlen"], sizes), split_dim=const("int32", axis))
    return inputs, dict(T=c["T"], Tlen=c["Tlen"], num_split=len(sizes))


@generate("Pack", attrs=dict(T=ALL_TYPES), gradient=True,
          bad=[dict(values=[zeros("float", 2), zeros("float", 3)], axis=0), dict(values=[zeros("float", 2), zeros("float", 2)], axis=2),
               dict(values=[zeros("float"), zeros("float", 1)], axis=0)])
def pack(c):
    shape = c.any_shape(0, 4)
    values = [c.array(c["T"], shape) for _ in range(c.int(1, 4))]
    return dict(values=values), dict(axis=c.int(-len(shape) - 1, len(shape)))


op("Unpack", dict(value=t("T", lambda c: c.any_shape(1, 4))),
   dict(T=ALL_TYPES, axis=lambda c: c.axis("value"), num=lambda c: c.shape("value")[c["axis"]]), gradient=True, empty=0,
   bad=[dict(value=FLOAT_INPUT, axis=0, num=3), dict(value=FLOAT_INPUT, axis=2, num=3), dict(value=zeros("float"), axis=0, num=1)])
