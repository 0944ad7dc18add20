"""Arrays: scatters."""

import numpy as np

from harness.arrays import nd_indices
from harness.notation import *

BAD_SCATTERS = [(const("int32", [[3]]), zeros("float", 1), [3]), (const("int32", [[-1]]), zeros("float", 1), [3]), (const("int32", [[1]]), zeros("float", 2), [3]),
                (const("int32", [[1]]), zeros("float", 1, 2), [3]), (const("int32", [[1, 1]]), zeros("float", 1), [3]), (const("int32", [[0]]), zeros("float", 1), [0]),
                (const("int32", 1), zeros("float", 1), [3])]


def scatter_parts(c, dtype, index_type):
    shape = c.any_shape(1, 4)
    depth = c.int(1, len(shape))
    rows = (0,) if 0 in shape else c.any_shape(1, 2)
    return shape, nd_indices(c, index_type, shape, depth, rows), c.array(dtype, tuple(rows) + shape[depth:], special=False)


@generate("ScatterNd", attrs=dict(T=ALL_TYPES, Tindices=INDEX), gradient=["updates"],
          bad=[dict(indices=i, updates=u, shape=const("int32", s), T="float", Tindices="int32") for i, u, s in BAD_SCATTERS + [(const("int32", [[1]]), zeros("float", 1), [-3])]])
def scatter_nd(c):
    shape, indices, updates = scatter_parts(c, c["T"], c["Tindices"])
    return dict(indices=indices, updates=updates, shape=const(c["Tindices"], shape)), {}


def tensor_scatter(name, types, index_types, unique):
    @generate(name, attrs=dict(T=types, Tindices=index_types), gradient=lambda inputs, attrs: (not unique or len(inputs["indices"]) < 2) and ["tensor", "updates"],
              bad=[dict(tensor=zeros("float", *s), indices=i, updates=u, T="float", Tindices="int32") for i, u, s in BAD_SCATTERS])
    def make(c):
        shape, indices, updates = scatter_parts(c, c["T"], c["Tindices"])
        return dict(tensor=c.array(c["T"], shape), indices=indices, updates=updates), {}


tensor_scatter("TensorScatterUpdate", ALL_TYPES, INDEX, True)
tensor_scatter("TensorScatterAdd", NUMBERS, INDEX, False)
tensor_scatter("TensorScatterSub", NUMBERS, INDEX, False)
op("TensorScatterUpdate", dict(tensor=t("T", (4,)), indices=v("int32", lambda c: c.rng.integers(-2, 6, (5, 1))), updates=t("T", (5,))),
   dict(T=["float", "string"], bad_indices_policy="IGNORE"), count=3, empty=0, special=0)


@generate("SparseToDense", attrs=dict(T=ALL_TYPES, Tindices=INDEX), gradient=lambda inputs, attrs: inputs["sparse_indices"].ndim == 2 and inputs["sparse_values"].ndim == 1 and ["sparse_values", "default_value"],
          bad=[dict(sparse_indices=const("int32", i), output_shape=const("int32", s), sparse_values=const("float", x), default_value=const("float", 9), T="float", Tindices="int32")
               for i, s, x in [([3, 1], [5], [1, 2]), ([3, 3], [5], [1, 2]), ([3, 5], [5], [1, 2]), ([1, 3], [5], [1, 2, 3]), ([[1, 3]], [5], [1]), ([1], 5, [1]), ([1], [-5], [1])]])
def sparse_to_dense(c):
    shape = c.any_shape(1, 3)
    total = int(np.prod(shape))
    chosen = np.sort(c.rng.permutation(total)[: c.int(0, total)])
    indices = np.stack(np.unravel_index(chosen, shape), -1) if total else np.zeros((0, len(shape)), int)
    if len(shape) == 1 and c.chance():
        indices = indices[:, 0]
    values = c.array(c["T"], () if c.chance(0.3) else (len(indices),))
    return dict(sparse_indices=const(c["Tindices"], indices), output_shape=const(c["Tindices"], shape), sparse_values=values, default_value=c.array(c["T"], ())), \
        dict(validate_indices=c.mode == "bad" or c.chance())
