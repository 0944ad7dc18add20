"""Arrays: diagonals of matrices."""

from harness.arrays import FLOAT_INPUT
from harness.notation import *

DIAG_TYPES = FLOATS + ["half"] + INTS
op("Diag", dict(diagonal=t("T", lambda c: c.any_shape(1, 3))), dict(T=DIAG_TYPES), gradient=True, bad=[dict(diagonal=zeros("float"), T="float")])
op("DiagPart", dict(input=t("T", lambda c: 2 * c.any_shape(1, 3))), dict(T=DIAG_TYPES), gradient=True,
   bad=[dict(input=zeros("float", *s), T="float") for s in ((2, 3), (2,), (), (2, 2, 2))])
op("MatrixDiag", dict(diagonal=t("T", lambda c: c.any_shape(1, 3))), dict(T=PLAIN), gradient=True, bad=[dict(diagonal=zeros("float"), T="float")])
op("MatrixDiagPart", dict(input=t("T", lambda c: c.any_shape(2, 4))), dict(T=PLAIN), gradient=True, bad=[dict(input=zeros("float", 3), T="float")])
op("MatrixSetDiag", dict(input=t("T", lambda c: c.any_shape(2, 4)), diagonal=t("T", lambda c: c.shape("input")[:-2] + (min(c.shape("input")[-2:]),))), dict(T=PLAIN), gradient=True,
   bad=[dict(input=FLOAT_INPUT, diagonal=zeros("float", 3), T="float"), dict(input=FLOAT_INPUT, diagonal=zeros("float"), T="float")])
op("MatrixBandPart", dict(input=t("T", lambda c: c.any_shape(2, 4)), num_lower=v("Tindex", lambda c: c.int(-1, c.shape("input")[-2])),
                          num_upper=v("Tindex", lambda c: c.int(-1, c.shape("input")[-1]))), dict(T=PLAIN, Tindex=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, num_lower=const("int32", l), num_upper=const("int32", u), T="float", Tindex="int32") for l, u in [(3, 0), (0, 4), ([0], 0)]]
   + [dict(input=zeros("float", 3), num_lower=const("int32", 0), num_upper=const("int32", 0), T="float", Tindex="int32")])
