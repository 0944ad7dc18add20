"""Arrays: shapes, slices, joins."""

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


# TensorFlow's own gradient fails for an int64 axis.
@generate("ConcatV2", attrs=dict(T=ALL_TYPES, Tidx=INDEX), gradient=lambda inputs, attrs: attrs["Tidx"] == "int32" and ["values"],
          bad=[dict(values=[zeros("float", 2, 3), zeros("float", 3, 3)], axis=const("int32", 1)),
               dict(values=[zeros("float", 2, 3), zeros("float", 2, 3)], axis=const("int32", 2)),
               dict(values=[zeros("float"), zeros("float")], axis=const("int32", 0))])
def concat_v2(c):
    values, axis = join(c)
    return dict(values=values, axis=const(c["Tidx"], axis)), dict(T=c["T"], Tidx=c["Tidx"])
