"""Arrays: bands of diagonals."""

import numpy as np

from harness.arrays import FLOAT_INPUT
from harness.notation import *


def band_of(c, rows, columns):
    """k, and the shape of the rows that hold its diagonals."""
    lower, upper = sorted((c.int(-rows + 1, columns - 1), c.int(-rows + 1, columns - 1))) if rows and columns else (0, 0)
    if c.chance(0.3):
        lower = upper
    longest = min(rows + min(upper, 0), columns - max(lower, 0))
    k = lower if lower == upper and c.chance() else [lower, upper]
    return const("int32", k), ((upper - lower + 1,) if lower < upper else ()) + (longest,)


ALIGNMENTS = ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]


def bands(name, make, gradient, **options):
    def attrs_of(c, version):
        return dict(align=c["align"]) if version == "V3" else {}

    # TensorFlow's gradients of V2 align as V3 does, and its static shapes are wrong where it takes what is unknown for -1.
    for version in ("V2", "V3"):
        wanted = gradient if version == "V3" else False
        generate(name + version, attrs=dict(T=PLAIN, align=ALIGNMENTS), count=20, vague=False, gradient=wanted, **options)(
            lambda c, version=version: (make(c), attrs_of(c, version)))


def matrix_diag_band(c):
    rows, columns = c.size(), c.size()
    k, shape = band_of(c, rows, columns)
    sizes = c.pick((-1, -1), (rows, columns), (rows, -1), (-1, columns))
    # What is left open follows from the diagonals: take sizes that fit it.
    lower, upper = np.ravel(k)[0], np.ravel(k)[-1]
    least = (shape[-1] - min(upper, 0), shape[-1] + max(lower, 0))
    if sizes == (rows, -1) and rows != least[0]:
        sizes = (least[0], -1)
    if sizes == (-1, columns) and columns != least[1]:
        sizes = (-1, least[1])
    return dict(diagonal=c.array(c["T"], c.any_shape(0, 2) + shape), k=k, num_rows=const("int32", sizes[0]), num_cols=const("int32", sizes[1]), padding_value=c.array(c["T"], ()))


def matrix_diag_part_band(c):
    x = c.array(c["T"], c.any_shape(2, 4))
    return dict(input=x, k=band_of(c, *x.shape[-2:])[0], padding_value=c.array(c["T"], ()))


def matrix_set_diag_band(c):
    x = c.array(c["T"], c.any_shape(2, 4))
    k, shape = band_of(c, *x.shape[-2:])
    return dict(input=x, diagonal=c.array(c["T"], x.shape[:-2] + shape), k=k)


BAD_BANDS = ([1, 0], [0, 3], [-2, 0], [0, 0, 0], [[0]])
# A band may reach out of a matrix whose sizes follow from it; TensorFlow's gradient then fails.
bands("MatrixDiag", matrix_diag_band, gradient=lambda inputs, attrs: inputs["num_rows"] > 0 and inputs["num_cols"] > 0 and ["diagonal"],
      bad=[dict(diagonal=zeros("float", *s), k=const("int32", k), num_rows=const("int32", r), num_cols=const("int32", n), padding_value=zeros("float"))
           for s, k, r, n in [((2,), [1, 0], -1, -1), ((2, 2), [0, 2], -1, -1), ((2,), 0, 1, -1), ((2,), 0, 3, 3), ((2,), 0, -1, 1), ((), 0, -1, -1)]])
bands("MatrixDiagPart", matrix_diag_part_band, gradient=["input"],
      bad=[dict(input=FLOAT_INPUT, k=const("int32", k), padding_value=zeros("float")) for k in BAD_BANDS]
      + [dict(input=FLOAT_INPUT, k=const("int32", 0), padding_value=zeros("float", 1)), dict(input=zeros("float", 2), k=const("int32", 0), padding_value=zeros("float"))])
bands("MatrixSetDiag", matrix_set_diag_band, gradient=["input", "diagonal"],
      bad=[dict(input=FLOAT_INPUT, k=const("int32", k), diagonal=zeros("float", 2, 2)) for k in BAD_BANDS] + [dict(input=FLOAT_INPUT, k=const("int32", 0), diagonal=zeros("float", 3))])
