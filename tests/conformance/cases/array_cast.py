"""Arrays: types."""

import numpy as np

from harness.notation import *

SIGNED_OR_WIDE = ALL_FLOATS + ALL_INTS + ["bool"]
op("Cast", dict(x=t("SrcT", domain=between(0, 100))), dict(SrcT=SIGNED_OR_WIDE, DstT=SIGNED_OR_WIDE), count=180, special=0, gradient=True)
op("Cast", dict(x=t("SrcT")), dict(SrcT=SIGNED_OR_WIDE, DstT=ALL_FLOATS + ["bool", "int8", "int16", "int32", "int64"]), count=100)
op("Cast", dict(x=t("SrcT")), dict(SrcT=ALL_FLOATS, DstT=ALL_FLOATS, Truncate=True), count=20, compare="bits")
op("Cast", dict(x=t("SrcT", domain=extreme)), dict(SrcT=ALL_INTS, DstT=ALL_INTS), count=64, special=0, empty=0)
op("Cast", dict(x=v("SrcT", [300.0, -129.0, 3e9, -3e9, 1e20, np.nan, np.inf, -np.inf])), dict(SrcT=["float", "double"], DstT=["int8", "uint8", "int16", "uint16", "int32", "int64"]),
   count=12, special=0, empty=0)
op("Cast", dict(x=t("string", (2,))), dict(SrcT="string", DstT="int32"), count=0, empty=0, special=0, bad=[dict()])


@generate("Bitcast", attrs=dict(T=["float", "double", "half", "bfloat16", "int32", "int64", "uint8", "int8", "int16", "uint16", "uint32", "uint64"],
                                type=["uint8", "uint16", "uint32", "uint64", "int8", "int16"]), count=36, special=0,
          bad=[dict(input=zeros("int32", 1, 3), type="int64", T="int32"), dict(input=zeros("int32"), type="int64", T="int32")])
def bitcast(c):
    from harness import dtypes
    shape = c.any_shape(0, 3)
    sizes = [dtypes.as_numpy(c[name]).itemsize for name in ("T", "type")]
    if sizes[0] < sizes[1]:
        shape = shape + (sizes[1] // sizes[0],)
    return dict(input=c.array(c["T"], shape, special=False)), dict(type=c["type"])
