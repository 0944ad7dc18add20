"""Arrays: partitions and stitches."""

import numpy as np

from harness.notation import *


@generate("DynamicPartition", attrs=dict(T=ALL_TYPES), gradient=["data"],
          bad=[dict(data=zeros("float", 2), partitions=const("int32", [0, 3]), num_partitions=3, T="float"),
               dict(data=zeros("float", 2), partitions=const("int32", [0, -1]), num_partitions=3, T="float"),
               dict(data=zeros("float", 2), partitions=const("int32", [0, 1, 1]), num_partitions=3, T="float")])
def dynamic_partition(c):
    shape = c.any_shape(0, 3)
    partitions = c.rng.integers(0, 3, shape)
    return dict(data=c.array(c["T"], shape + c.any_shape(0, 2)), partitions=const("int32", partitions)), dict(num_partitions=3, T=c["T"])


BAD_STITCHES = [dict(indices=[const("int32", [0, -1])], data=[zeros("float", 2)]),
                dict(indices=[const("int32", [0, 1, 2])], data=[zeros("float", 2)]),
                dict(indices=[const("int32", [0]), const("int32", [1])], data=[zeros("float", 1), zeros("float", 1, 1)])]


@generate(["DynamicStitch", "ParallelDynamicStitch"], attrs=dict(T=ALL_TYPES), gradient=["data"], bad=BAD_STITCHES)
def dynamic_stitch(c):
    slice_shape = c.any_shape(0, 2)
    shapes = [c.any_shape(0, 2) for _ in range(c.int(1, 3))]
    places = c.rng.permutation(sum(int(np.prod(shape)) for shape in shapes))
    indices, data = [], []
    for shape in shapes:
        n = int(np.prod(shape))
        indices.append(const("int32", places[:n].reshape(shape)))
        places = places[n:]
        data.append(c.array(c["T"], shape + slice_shape))
    return dict(indices=indices, data=data), {}


op("DynamicStitch", dict(indices=[const("int32", [0, 1, 0]), const("int32", 1)], data=[const("float", [1, 2, 3]), const("float", 4)]), count=1, empty=0, special=0)
