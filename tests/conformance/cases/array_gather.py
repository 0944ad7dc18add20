"""Arrays: gathers."""

import numpy as np

from harness.arrays import FLOAT_INPUT, nd_indices
from harness.notation import *


def indices_into(c, dtype, n, shape):
    return const(dtype, c.rng.integers(0, n, shape)) if n > 0 else const(dtype, np.zeros((0,) + tuple(shape[1:]), int))


@generate("Gather", attrs=dict(Tparams=ALL_TYPES, Tindices=INDEX), gradient=["params"],
          bad=[dict(params=FLOAT_INPUT, indices=const("int32", [0, 2]), Tparams="float", Tindices="int32"),
               dict(params=FLOAT_INPUT, indices=const("int32", -1), Tparams="float", Tindices="int32"),
               dict(params=zeros("float"), indices=const("int32", 0), Tparams="float", Tindices="int32")])
def gather(c):
    params = c.array(c["Tparams"], c.any_shape(1, 4))
    return dict(params=params, indices=indices_into(c, c["Tindices"], params.shape[0], c.any_shape(0, 3))), {}


BAD_GATHERS = [dict(indices=const("int32", [[0, 5]])), dict(indices=const("int32", [-1])), dict(axis=const("int32", 2)), dict(axis=const("int32", -3)),
               dict(axis=const("int32", [1])), dict(params=zeros("float"), axis=const("int32", 0)), dict(batch_dims=1),
               dict(indices=const("int32", [[0], [1]]), axis=const("int32", 1), batch_dims=3),
               dict(indices=const("int32", [[0], [1], [1]]), axis=const("int32", 1), batch_dims=1),
               dict(params=zeros("float", 0, 2), indices=const("int32", [0]))]


@generate("GatherV2", attrs=dict(Tparams=ALL_TYPES, Tindices=INDEX + ["int16"], Taxis=INDEX), count=40, empty=6,
          gradient=lambda inputs, attrs: inputs["indices"].dtype != np.int16 and inputs["params"].size > 0 and ["params"],
          bad=[{**dict(params=FLOAT_INPUT, indices=const("int32", [0]), axis=const("int32", 0), batch_dims=0, Tparams="float", Tindices="int32", Taxis="int32"), **bad}
               for bad in BAD_GATHERS])
def gather_v2(c):
    params = c.array(c["Tparams"], c.any_shape(1, 4))
    axis = c.int(0, params.ndim - 1)
    batch = c.int(0, axis) if c.chance() else 0
    indices = indices_into(c, c["Tindices"], params.shape[axis], params.shape[:batch] + c.any_shape(0, 2))
    if indices.shape[:batch] != params.shape[:batch]:
        batch = 0
    given_axis = axis - params.ndim if c.chance(0.3) else axis
    return dict(params=params, indices=indices, axis=const(c["Taxis"], given_axis)), dict(batch_dims=batch)


@generate("GatherNd", attrs=dict(Tparams=ALL_TYPES, Tindices=INDEX + ["int16"], bad_indices_policy=["", "ERROR", "DEFAULT"]), count=24,
          gradient=lambda inputs, attrs: inputs["indices"].dtype != np.int16 and inputs["indices"].shape[-1] > 0 and ["params"],
          bad=[dict(params=FLOAT_INPUT, indices=const("int32", [[0, 3]])), dict(params=FLOAT_INPUT, indices=const("int32", [[-1]])),
               dict(params=FLOAT_INPUT, indices=const("int32", [[0, 0, 0]])), dict(params=FLOAT_INPUT, indices=const("int32", 0)),
               dict(params=zeros("float", 0, 2), indices=const("int32", [[0]]))])
def gather_nd(c):
    params = c.array(c["Tparams"], c.any_shape(1, 4))
    rows = (0,) if 0 in params.shape else c.any_shape(0, 3)
    return dict(params=params, indices=nd_indices(c, c["Tindices"], params.shape, c.int(0, params.ndim), rows)), dict(bad_indices_policy=c["bad_indices_policy"])


op("GatherNd", dict(params=t("Tparams", (2, 3)), indices=v("int32", lambda c: c.rng.integers(-2, 4, (5, c.int(1, 2))))),
   dict(Tparams=["float", "int64", "string", "uint8"], bad_indices_policy="IGNORE"), count=4, empty=0, special=0)
