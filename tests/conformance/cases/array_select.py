"""Arrays: choosing."""

import numpy as np

from harness.arrays import FLOAT_INPUT
from harness.notation import *

WHERE_TYPES = [dtype for dtype in PLAIN if dtype != "half"]  # TensorFlow has no kernel for half on the CPU
op("Where", dict(input=t("T", lambda c: c.any_shape(1, 5), one_of(0, 0, 1))), dict(T=WHERE_TYPES), bad=[dict(input=zeros("float"), T="float")])


def condition_of(c):
    shape = c.shape("t")
    return c.pick(shape, shape, (), shape[:1] if shape else ())


op("Select", dict(condition=t("bool", condition_of), t=t("T"), e=t("T", like("t"))), dict(T=ALL_TYPES), gradient=["t", "e"], count=20,
   bad=[dict(condition=const("bool", [True, False, True]), t=FLOAT_INPUT, e=FLOAT_INPUT), dict(condition=const("bool", [[True, False]]), t=FLOAT_INPUT, e=FLOAT_INPUT),
        dict(condition=const("bool", True), t=FLOAT_INPUT, e=zeros("float", 3, 2)), dict(condition=const("bool", [True]), t=zeros("float"), e=zeros("float"))])
op("SelectV2", dict(condition=t("bool"), t=t("T", broadcast("condition")), e=t("T", lambda c: c.broadcastable(np.broadcast_shapes(c.shape("condition"), c.shape("t"))))),
   dict(T=ALL_TYPES), gradient=["t", "e"], count=30,
   bad=[dict(condition=const("bool", [True, False]), t=zeros("float", 3), e=zeros("float"))])
