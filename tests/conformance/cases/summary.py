"""Summaries: the bytes that TensorBoard reads."""

import numpy as np

from harness.notation import *

op("ScalarSummary", dict(tags=t("string", rank(0, 2)), values=t("T", like("tags"))), dict(T=NUMBERS),
   bad=[dict(tags=const("string", ["a", "b"]), values=zeros("float", 1, 2)), dict(tags=const("string", "a"), values=zeros("float", 1))])
op("HistogramSummary", dict(tag=t("string", ""), values=t("T", special=False)), dict(T=NUMBERS),
   bad=[dict(tag=const("string", ["a"])), dict(values=const("float", [1, np.nan])), dict(values=const("double", [np.inf]))])
op("HistogramSummary", dict(tag=t("string", ""), values=lambda c: np.concatenate([
    c.rng.standard_normal(20) * 10.0 ** c.rng.integers(-15, 25, 20), [0.0, -0.0, 1e300, -1e300, 1.0, 1e-12]])), dict(T=["double"]), count=4, empty=0, special=0)


def pictures(c):
    shape = (c.int(0, 4), c.int(1, 6), c.int(1, 6), c.pick(1, 3, 4))
    dtype = c["T"]
    if dtype == "uint8":
        return c.rng.integers(0, 256, shape).astype(np.uint8)
    values = c.rng.standard_normal(shape) * c.pick(1, 100, 0) + c.pick(0, 3)
    values = np.abs(values) if c.chance() else values
    if c.chance(0.3) and values.size:
        values.flat[c.int(0, values.size - 1)] = c.pick(np.nan, np.inf, -np.inf)
    return const(dtype, values)


op("ImageSummary", dict(tag=t("string", ""), tensor=pictures), dict(T=["uint8", "float", "half", "double"], max_images=[1, 3, 2]), count=24, empty=0, special=0,
   bad=[dict(tensor=zeros("float", 1, 2, 2, 2)), dict(tensor=zeros("float", 2, 2, 1)), dict(tensor=zeros("uint8", 1, 0, 2, 1), T="uint8"),
        dict(tensor=zeros("float", 1, 2, 0, 1)), dict(tag=const("string", ["a"])), dict(tensor=zeros("float", 1, 2, 2, 3), bad_color=const("uint8", [1, 2])),
        dict(tensor=zeros("float", 1, 2, 2, 3), bad_color=const("int32", [1, 2, 3])), dict(max_images=0)])
op("AudioSummaryV2", dict(tag=t("string", ""), tensor=t("float", rank(2, 3)), sample_rate=t("float", "", one_of(8000, 44100, 0.7))), dict(max_outputs=[1, 3]), empty=0,
   may_fail=True, bad=[dict(sample_rate=const("float", -1)), dict(sample_rate=const("float", 0)), dict(tensor=zeros("float", 3)), dict(tag=const("string", ["a"]))])
op("TensorSummary", dict(tensor=t("T")), dict(T=ALL_TYPES, description="d", labels=[["a", "b"]], display_name="name"))
op("TensorSummaryV2", dict(tag=t("string", ""), tensor=t("T"), serialized_summary_metadata=const("string", b"\x0a\x07\x0a\x05hello\x12\x01n")), dict(T=ALL_TYPES),
   bad=[dict(tag=const("string", ["a"])), dict(serialized_summary_metadata=const("string", [""]))])
op("TensorSummaryV2", dict(tag=t("string", ""), tensor=t("float"), serialized_summary_metadata=const("string", b"\x0a\x02\x0a")), dict(T=["float"]), count=1, empty=0, special=0)
A, B = b"\x0a\x08\x0a\x01a\x15\x00\x00\x80\x3f", b"\x0a\x08\x0a\x01b\x15\x00\x00\x80\x3f"
op("MergeSummary", dict(inputs=[const("string", A), const("string", B)]), count=1, empty=0, special=0,
   bad=[dict(inputs=[const("string", A), const("string", A)]), dict(inputs=[const("string", b"\xff")])])
op("MergeSummary", dict(inputs=lambda c: [const("string", [[A], [b""]]), const("string", B), const("string", b"")]), count=1, empty=0, special=0)
