"""Arrays: searches and sets."""

import numpy as np

from harness.notation import *

op(["LowerBound", "UpperBound"], dict(sorted_inputs=lambda c: np.sort(c.array(c["T"], "n k", special=False), -1), values=t("T", "n m", special=False)),
   dict(T=["float", "double", "int32", "int64", "uint8", "int8", "int16"], out_type=INDEX),
   bad=[dict(sorted_inputs=zeros("float", 3), values=zeros("float", 3), T="float"), dict(sorted_inputs=zeros("float", 2, 3), values=zeros("float", 1, 3), T="float")])


@generate("DenseToDenseSetOperation", attrs=dict(T=INTS + SMALL_INTS + ["string"], set_operation=["a-b", "b-a", "intersection", "union"]), count=28, special=0,
          bad=[dict(set1=zeros("int32", *a), set2=zeros("int32", *b), set_operation=o, T="int32")
               for a, b, o in [((2,), (2,), "union"), ((1, 2), (2, 2), "union"), ((1, 2), (1, 2), "xor"), ((2, 2, 1), (2, 1), "a-b")]])
def set_operation(c):
    groups = c.any_shape(1, 2)
    domain = usual if c["T"] == "string" else between(0, 6)
    sets = [c.array(c["T"], groups + (c.size(),), domain) for _ in range(2)]
    return dict(set1=sets[0], set2=sets[1]), dict(set_operation=c["set_operation"])
