"""Accumulators of gradients: over several runs of a session."""

import numpy as np

from harness.notation import *

FLOAT_TYPES = ["float32", "float64", "float16"]


class A:
    """A dense accumulator with an old or a resource handle, or a sparse one."""

    def __init__(self, tf, dtype, shape, kind="", **attrs):
        self.tf, self.raw, self.kind, self.dtype = tf, tf.raw_ops, kind, tf.as_dtype(dtype)
        self.handle = getattr(self.raw, f"{kind}ConditionalAccumulator")(dtype=self.dtype, shape=shape, **attrs)

    def op(self, name, **args):
        prefix = self.kind if self.kind == "Resource" or "Gradient" in name else ""
        return getattr(self.raw, f"{prefix}Accumulator{name}")(handle=self.handle, **args)

    def apply(self, step, gradient):
        return self.op("ApplyGradient", local_step=self.tf.constant(step, self.tf.int64), gradient=gradient)

    def apply_rows(self, step, indices, values, shape, known=True):
        return self.op("ApplyGradient", local_step=self.tf.constant(step, self.tf.int64), gradient_indices=indices, gradient_values=values,
                       gradient_shape=shape, has_known_shape=known)

    def take(self, n):
        return self.op("TakeGradient", num_required=n, dtype=self.dtype)

    def count(self):
        return self.op("NumAccumulated")

    def set_step(self, step):
        return self.op("SetGlobalStep", new_global_step=self.tf.constant(step, self.tf.int64))


def number(c, dtype, shape):
    return c.array({"float32": "float", "float64": "double", "float16": "half"}[dtype], shape)


DENSE = ["ConditionalAccumulator"] + [f"Accumulator{op}" for op in ("ApplyGradient", "TakeGradient", "NumAccumulated", "SetGlobalStep")]


@program(ops=DENSE + [f"Resource{op}" for op in DENSE], count=12)
def means_and_sums(c, tf):
    dtype = c.pick(*FLOAT_TYPES)
    shape = c.pick([], [3], [2, 3], None, [None, 3])
    a = A(tf, dtype, shape, c.pick("", "Resource"), reduction_type=c.pick("MEAN", "SUM"))
    shape = [2 if size is None else size for size in shape or []]
    for step in range(3):
        for _ in range(c.int(1, 4)):
            c.run([], [a.apply(step, c.feed(number(c, dtype, shape)))])
        c.run([a.count()])
        c.run([a.take(1)])
        c.run([], [a.apply(step, c.feed(number(c, dtype, shape)))])  # stale
    c.run([], [a.set_step(10)])
    c.run([], [a.apply(9, c.feed(number(c, dtype, shape)))])
    c.run([], [a.apply(10, c.feed(number(c, dtype, shape)))])
    return [a.count()]


@program(count=2)
def take_waits_in_the_same_step(c, tf):
    a = A(tf, "float32", [2], c.pick("", "Resource"))
    applies = [a.apply(0, c.feed(c.array("float", (2,)))) for _ in range(3)]
    c.run([a.take(3)], applies)
    return [a.count()]


@program(count=2)
def stale_gradients_may_be_anything(c, tf):
    a = A(tf, "float32", [2])
    c.run([], [a.apply(0, c.feed(c.array("float", (2,))))])
    c.run([a.take(1)])
    c.run([], [a.apply(0, c.feed(c.array("float", (3, 3))))])
    return [a.count()]


@program(count=2)
def unknown_shapes_are_forgotten(c, tf):
    a = A(tf, "float32", None)
    for step, shape in enumerate([(2,), (1, 2), ()]):
        c.run([], [a.apply(step, c.feed(c.array("float", shape)))])
        c.run([a.take(1)])
    return [a.count()]


SPARSE = ["SparseConditionalAccumulator", "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient"]


@program(ops=SPARSE, count=16)
def rows(c, tf):
    dtype = c.pick(*FLOAT_TYPES)
    whole = c.pick([6], [6, 2], [6, 2, 3])
    declared = c.pick(whole, None, [None, *whole[1:]])
    a = A(tf, dtype, declared, "Sparse", reduction_type=c.pick("MEAN", "SUM"))
    for step in range(2):
        for _ in range(c.int(1, 4)):
            n = c.int(0, 5)
            indices = c.pick(lambda: np.sort(c.rng.permutation(6)[:n]), lambda: c.rng.integers(0, 6, n))()
            known = c.chance()
            values = number(c, dtype, (n, *whole[1:]))
            shape = const("int64", whole if known else [])
            c.run([], [a.apply_rows(step, c.feed(indices.astype(np.int64)), c.feed(values), c.feed(shape), known)])
        c.run([a.count()])
        c.run(list(a.take(1)))
    return [a.count()]


def fails(function):
    return program(count=1, may_fail=True)(function)


@program(count=3, may_fail=True)
def too_few_required(c, tf):
    return [A(tf, "float32", [2], c.pick("", "Resource")).take(c.feed(const("int32", c.pick(0, -3))))]


@fails
def wrong_declared_shape(c, tf):
    c.run([], [A(tf, "float32", [2]).apply(0, c.feed(zeros("float", 3)))])


@fails
def not_like_the_first(c, tf):
    a = A(tf, "float32", [None, 2])
    c.run([], [a.apply(0, c.feed(zeros("float", 3, 2)))])
    c.run([], [a.apply(0, c.feed(zeros("float", 2, 2)))])


for number_of_case, (indices, values, shape, known) in enumerate([
        ([1], zeros("float", 1, 2), [4, 3], True), ([1], zeros("float", 1, 2), [4], True), ([1], zeros("float", 1, 3), [4, 2], True),
        ([4], zeros("float", 1, 2), [4, 2], True), ([1, 2], zeros("float", 1, 2), [4, 2], True), ([[1]], zeros("float", 1, 2), [4, 2], True),
        ([1], zeros("float"), [4, 2], True), ([1], zeros("float", 1), [4, 2], True), (1, zeros("float", 1, 2), [4, 2], True),
        ([1], zeros("float", 1, 2), [], True)]):

    def bad_rows(c, tf, indices=indices, values=values, shape=shape, known=known):
        a = A(tf, "float32", [4, 2], "Sparse")
        unknown = tf.placeholder_with_default
        c.run([], [a.apply_rows(0, unknown(const("int64", indices), None), unknown(values, None), unknown(const("int64", shape), None), known)])

    bad_rows.__name__ = f"bad_rows_{number_of_case}"
    fails(bad_rows)


@fails
def rows_not_like_the_first(c, tf):
    a = A(tf, "float32", None, "Sparse")
    c.run([], [a.apply_rows(0, const("int64", [1]), c.feed(zeros("float", 1, 2)), const("int64", []), False)])
    c.run([], [a.apply_rows(0, const("int64", [1]), c.feed(zeros("float", 1, 3)), const("int64", []), False)])
