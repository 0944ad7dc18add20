"""Arrays: distinct values."""

from harness.notation import *


def few(rng, dtype, shape):
    """Few values, so that some come up often."""
    return (one_of(b"", b"a", b"b") if dtype == "string" else one_of(0, 1, 2))(rng, dtype, shape)


# TensorFlow tells the zeros of 16-bit floats apart by their sign, or not, as its hash table happens to fall.
COMPARED = FLOATS + ALL_INTS + ["string"]
op("ListDiff", dict(x=t("T", rank(1), few), y=t("T", rank(1), few)), dict(T=COMPARED, out_idx=INDEX),
   bad=[dict(x=zeros("float", 1, 1), T="float"), dict(y=zeros("float"), T="float")])
op(["Unique", "UniqueWithCounts"], dict(x=t("T", rank(1), few)), dict(T=COMPARED + ["bool"], out_idx=INDEX), bad=[dict(x=zeros("float", 1, 1), T="float")])
op(["UniqueV2", "UniqueWithCountsV2"], dict(x=t("T", lambda c: c.any_shape(1, 3), few), axis=v("Taxis", lambda c: [c.axis("x")])),
   dict(T=COMPARED + ["bool"], Taxis=INDEX, out_idx=INDEX), count=24,
   bad=[dict(x=zeros("float", 2, 2), axis=const("int32", a), T="float", Taxis="int32") for a in ([], 0, [0, 0], [2], [-3])])
op("UniqueV2", dict(x=t("T", rank(1), few), axis=v("int64", [])), dict(T=["float", "int32"]), count=2)
op("Unique", dict(x=t("T", rank(1), few)), dict(T=HALVES), count=4, special=0)
