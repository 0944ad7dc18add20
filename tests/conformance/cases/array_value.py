"""Arrays: values that pass, are checked or are given."""

import numpy as np

from harness.arrays import FLOAT_INPUT
from harness.notation import *

op(["Identity", "StopGradient"], dict(input=t("T")), dict(T=ALL_TYPES), gradient=True)
op("PreventGradient", dict(input=t("T")), dict(T=ALL_TYPES))
op("Snapshot", dict(input=t("T")), dict(T=NUMBERS))
op("DeepCopy", dict(x=t("T")), dict(T=PLAIN))
op("IdentityN", dict(input=many((1, 3), t(ALL_TYPES))), dict(), gradient=True)
op("PlaceholderWithDefault", dict(input=t("dtype")), dict(dtype=ALL_TYPES, shape=lambda c: list(c.shape("input"))), gradient=True,
   bad=[dict(input=FLOAT_INPUT, dtype="float", shape=[2, 4])])
op("EnsureShape", dict(input=t("T")), dict(T=ALL_TYPES, shape=lambda c: [None if c.chance(0.4) else n for n in c.shape("input")]), gradient=True,
   bad=[dict(input=FLOAT_INPUT, shape=[2, 4]), dict(input=FLOAT_INPUT, shape=[2])])
op("CheckNumerics", dict(tensor=t("T", special=False)), dict(T=ALL_FLOATS, message="checked"), gradient=True,
   bad=[dict(tensor=const("float", [1, np.nan])), dict(tensor=const("float", [np.inf])), dict(tensor=const("float", [np.nan, -np.inf]))])
op("CheckNumericsV2", dict(tensor=t("T", special=False)), dict(T=ALL_FLOATS, message="checked"), gradient=True,
   bad=[dict(tensor=const("float", [1, np.nan])), dict(tensor=const("float", [-np.inf, np.inf, np.nan]))])


@program(ops=["Const"], count=len(ALL_TYPES))
def constants(c, tf):
    dtype = ALL_TYPES[c.int(0, len(ALL_TYPES) - 1)]
    return [tf.constant(c.array(dtype)), tf.constant(c.array(dtype, (0, 2))), tf.constant(c.array(dtype, (3,)))]


@program(ops=["Placeholder", "PlaceholderV2"], count=1)
def fed_placeholders(c, tf):
    return [tf.identity(c.feed(c.array("float", (2, 3))))]
