"""Mathematics: element by element, reductions, products."""

from harness.notation import *

op("Add", dict(x=t("T"), y=t("T", broadcast("x"))), dict(T=ALL_FLOATS + INTS + ["int8", "int16", "uint8", "string"]), gradient=True,
   bad=[dict(x=zeros("float", 2, 3), y=zeros("float", 2, 4)),
        dict(x=zeros("float", 3), y=zeros("int32", 3))])
