"""Functions, and the conditionals and loops that call them, as TensorFlow's Python builds them."""

import contextlib

import numpy as np

from harness.notation import *

# Our own Gradients() does not go through functional loops.
THEIRS = ("gradients",)

op("ToBool", dict(input=t("T", rank(1, 3))), dict(T=ALL_FLOATS + INTS + ["bool", "string"]))
op("ToBool", dict(input=t("string", "")), empty=0, special=0)
op("ToBool", dict(input=t("T", "", one_of(0, 1))), dict(T=["float", "double"] + INTS + ["bool"]), empty=0,
   bad=[dict(input=const("half", 1), T="half")])
op("FakeParam", {}, dict(dtype=ALL_TYPES, shape=[[], [2, 3], [0]]), compare="shapes", empty=0, special=0)
op("DeviceIndex", {}, dict(device_names=[["CPU"], ["GPU", "CPU"], ["TPU"]]), empty=0, special=0)


@contextlib.contextmanager
def functional_control_flow(tf):
    """tf.cond and tf.while_loop make If and While."""
    tf.enable_control_flow_v2()
    try:
        yield
    finally:
        tf.disable_control_flow_v2()


def number(c, low=0, high=6):
    return c.int(low, high)


# Calls.
@program(ops=["PartitionedCall"], count=4)
def call(c, tf):
    x = c.feed(c.array("float", (2, 3)), shape=c.pick([2, 3], [None, 3]))

    @tf.function
    def f(a, b):
        return tf.sin(a) * b, tf.reduce_sum(a)

    y, z = f(x, tf.constant(2.0))
    c.gradient([y], [x])
    return [y, z]


@program(ops=["PartitionedCall"], count=4)
def calls_in_calls(c, tf):
    x = c.feed(c.array("double", (3,)))

    @tf.function
    def inner(a):
        return tf.exp(a) + 1, tf.split(a, 3)[1]

    @tf.function
    def outer(a):
        p, q = inner(a)
        r, _ = inner(p * 0.1)
        return tf.concat([p, q, r], 0)

    y = outer(x) + outer(2 * x)
    c.gradient([y], [x])
    return [y]


@program(ops=["StatefulPartitionedCall"], count=4)
def effects_of_a_call(c, tf):
    v = tf.get_variable("v", (2,), tf.float32, tf.constant_initializer(1), use_resource=True)
    x = c.feed(c.array("float", (2,)))

    @tf.function
    def update(a):
        v.assign_add(a)
        before = v.read_value()
        v.assign(before * 2)
        return before

    c.run([], [v.initializer])
    result = update(x)
    c.run([result])
    with tf.control_dependencies([result.op]):
        after = v.read_value()
    c.run([result, after])
    c.run([], [result.op])
    return [v.read_value()]


@program(ops=["StatefulPartitionedCall"], count=2)
def calls_wait(c, tf):
    v = tf.get_variable("v", (), tf.float32, tf.constant_initializer(1), use_resource=True)
    read = tf.function(lambda: v.read_value() * 10)
    c.run([], [v.initializer])
    with tf.control_dependencies([v.assign_add(5)]):
        late = read()
    return [late]


@program(count=3)
def functions_of_the_old_kind(c, tf):
    """Attributes, several instantiations, and calls by the function's own name."""
    from tensorflow.python.framework import function

    @function.Defun(tf.float32, tf.float32)
    def f(a, b):
        return a * b + tf.exp(a), tf.reduce_max(b)

    @function.Defun(tf.float32, func_name="twice")
    def g(a):
        return f(a, f(a, a)[0])[0]

    x = c.feed(c.array("float", (2, 2)))
    y = g(x)
    return [y, f(x, y)[1]]


@program(ops=["SymbolicGradient"], count=3)
def gradients_of_the_old_kind(c, tf):
    from tensorflow.python.framework import function

    @function.Defun(tf.float32, tf.float32)
    def f(a, b):
        return tf.tanh(tf.matmul(a, b)) + a

    x, w = c.feed(c.array("float", (2, 2))), c.feed(c.array("float", (2, 2)))
    y = f(x, w)
    c.gradient([y], [x, w])
    return [y]


@program(ops=["SymbolicGradient"], count=2)
def gradients_of_ones_own(c, tf):
    from tensorflow.python.framework import function

    @function.Defun(tf.float32, tf.float32)
    def backward(a, dy):
        return dy * 100 + a

    @function.Defun(tf.float32, grad_func=backward)
    def f(a):
        return tf.exp(a)

    x = c.feed(c.array("float", (3,)))
    y = f(x)
    c.gradient([y], [x])
    return [y]


@program(ops=["RemoteCall"], count=2)
def call_on_a_device(c, tf):
    from tensorflow.python.ops import functional_ops
    from tensorflow.python.framework import function

    @function.Defun(tf.float32)
    def f(a):
        return a * 3 + 1

    x = c.feed(c.array("float", (3,)))
    return functional_ops.remote_call(args=[x], Tout=[tf.float32], f=f, target="/cpu:0")


# Conditionals.
@program(ops=["StatelessIf"], count=6)
def conditional(c, tf):
    x, p = c.feed(c.array("float", (2, 3))), c.feed(const("bool", c.chance()))
    with functional_control_flow(tf):
        y, z = tf.cond(p, lambda: [tf.sin(x) * 2, tf.constant(1)], lambda: [x - 1, tf.constant(2)])
        c.gradient([y], [x])
    return [y, z]


@program(ops=["If"], count=6)
def conditional_on_other_types(c, tf):
    from tensorflow.python.framework import function
    from tensorflow.python.ops import functional_ops

    @function.Defun(tf.float32)
    def f(a):
        return a + 1

    @function.Defun(tf.float32)
    def g(a):
        return a - 1

    dtype = c.pick("float", "int32", "int64", "string", "uint8")
    value = const(dtype, c.pick(b"", b"x") if dtype == "string" else c.pick(0, 1))
    condition = c.feed(value if c.chance() else np.resize(value, (c.int(0, 2),)))
    x = c.feed(c.array("float", (2,)))
    return functional_ops.If(condition, [x], f, g)


@program(ops=["If"], count=4)
def conditional_effects(c, tf):
    v = tf.get_variable("v", (), tf.float32, tf.constant_initializer(3), use_resource=True)
    p = c.feed(const("bool", c.chance()))

    def add():
        v.assign_add(1)
        return tf.constant(1)

    @tf.function
    def change():
        return tf.cond(p, add, lambda: tf.constant(0))

    c.run([], [v.initializer])
    changed = change()
    c.run([], [changed.op])
    return [v.read_value()]


@program(ops=["StatelessIf"], count=6)
def conditionals_in_conditionals(c, tf):
    x, z = c.feed(c.array("float", (3,))), c.feed(c.array("float", (3,)))
    p, q = c.feed(const("bool", c.chance())), c.feed(const("bool", c.chance()))

    def inner():
        s = tf.exp(x)
        return tf.cond(q, lambda: [s * z, tf.constant(1.0)], lambda: [tf.sin(z), tf.reduce_sum(s)])

    with functional_control_flow(tf):
        a, b = tf.cond(p, inner, lambda: [x, tf.reduce_max(z)])
        c.gradient([a, b], [x, z])
    return [a, b]


@program(ops=["ZerosLike"], count=2)
def second_derivative_of_a_conditional(c, tf):
    """What the first one keeps of a branch goes into an optional, which holds nothing when the other one is taken."""
    x, p = c.feed(c.array("float", (3,))), c.feed(np.bool_(c.chance()))
    results = []
    with functional_control_flow(tf):
        for taken in [p, tf.logical_not(p)]:
            y = tf.cond(taken, lambda: tf.sin(x) * x, lambda: x * 2.0)
            first = tf.gradients(y, x)[0]
            results += [y, first, tf.gradients(first, x)[0]]
    return results


@program(ops=["StatelessCase"], count=8)
def choice(c, tf):
    x, index = c.feed(c.array("float", (2,))), c.feed(const("int32", c.int(-2, 5)))
    with functional_control_flow(tf):
        y = tf.switch_case(index, [lambda: x + 1, lambda: tf.exp(x), lambda: x * x][: c.int(1, 3)])
        c.gradient([y], [x])
    return [y]


@program(count=4)
def values_of_the_branch_not_taken(c, tf):
    x, p = c.feed(c.array("float", (c.int(1, 3), 2)), shape=[None, 2]), c.feed(const("bool", c.chance()))
    with functional_control_flow(tf):
        y = tf.cond(p, lambda: tf.reduce_sum(tf.exp(tf.sin(x))), lambda: tf.reduce_sum(x))
        c.gradient([y], [x])
    return [y]


@program(ops=["Case"], count=6)
def choice_of_effects(c, tf):
    v = tf.get_variable("v", (), tf.float32, tf.constant_initializer(3), use_resource=True)
    index = c.feed(const("int32", c.int(-1, 4)))

    @tf.function
    def change():
        return tf.switch_case(index, [lambda: v.assign_add(1.0).read_value(), lambda: v.assign(10.0).read_value(), lambda: v.assign_sub(5.0).read_value()])

    c.run([], [v.initializer])
    c.run([change()])
    return [v.read_value()]


@program(ops=["StatelessIf"], count=8)
def branches_for_some_shapes(c, tf):
    """What does not fit the shapes of this step is in the branch that it does not take."""
    x = c.feed(c.array("float", (c.int(1, 6),)), shape=[None])
    if c.chance():
        with functional_control_flow(tf):
            y = tf.cond(tf.size(x) >= 4, lambda: tf.reshape(x[:4], [2, 2]), lambda: tf.zeros([2, 2]))
    else:
        y = tf.cond(tf.size(x) >= 4, lambda: tf.reshape(x[:4], [2, 2]), lambda: tf.zeros([2, 2]))
    return [y]


# Loops.
@program(ops=["StatelessWhile"], count=8, checks=THEIRS)
def loop(c, tf):
    n = c.feed(const("int32", number(c)))
    x, w = c.feed(c.array("double", (2, 2))), c.feed(c.array("double", (2, 2)))
    with functional_control_flow(tf):
        _, y = tf.while_loop(lambda i, _: i < n, lambda i, a: [i + 1, tf.tanh(tf.matmul(a, w)) + 0.5 * a], [0, x],
                             parallel_iterations=c.pick(1, 2, 10))
        c.gradient([y], [x, w])
    return [y]


@program(ops=["StatelessWhile"], count=4)
def loops_in_loops(c, tf):
    n, x = c.feed(const("int32", number(c))), c.feed(c.array("double", (2,)))

    def body(i, a):
        def inner():
            return tf.while_loop(lambda j, _: j < i, lambda j, b: [j + 1, tf.sin(b) * x], [0, a])[1]

        return [i + 1, tf.cond(tf.equal(i % 2, 1), inner, lambda: a + 1)]

    with functional_control_flow(tf):
        _, y = tf.while_loop(lambda i, _: i < n, body, [0, x])
    return [y]


@program(ops=["While"], count=3)
def loop_that_changes_a_variable(c, tf):
    v = tf.get_variable("v", (), tf.float32, tf.constant_initializer(0), use_resource=True)

    @tf.function
    def run(n):
        def body(i):
            v.assign_add(tf.cast(i, tf.float32))
            v.assign(v * 2)
            return i + 1

        return tf.while_loop(lambda i: i < n, body, [0])

    c.run([], [v.initializer])
    c.run([run(c.feed(const("int32", number(c))))])
    return [v.read_value()]


@program(ops=["StatelessWhile"], count=3)
def loop_that_grows(c, tf):
    n, x = c.feed(const("int32", number(c))), c.feed(c.array("double", (1,)))
    with functional_control_flow(tf):
        _, y = tf.while_loop(lambda i, _: i < n, lambda i, a: [i + 1, tf.concat([tf.sin(a), x], 0)], [0, x],
                             shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
    return [y]


@program(ops=["StatefulPartitionedCall"], count=4)
def functions_in_conditionals_of_the_old_kind(c, tf):
    """A body whose constants have no input runs only where the branch is taken, in every iteration."""
    p, n = c.feed(const("bool", c.chance())), c.feed(const("int32", number(c)))
    v = tf.get_variable("v", (), tf.float32, tf.constant_initializer(1), use_resource=True)

    @tf.function
    def f(a):
        v.assign_add(1)
        return a * tf.constant(3.0)

    c.run([], [v.initializer])
    y = tf.cond(p, lambda: f(tf.constant(2.0)), lambda: tf.constant(1.0))
    _, z = tf.while_loop(lambda i, _: i < n, lambda i, a: [i + 1, f(a)], [0, 1.0])
    c.run([y])
    c.run([v.read_value()])
    c.run([z])
    return [v.read_value()]


@program(ops=["For"], count=8, may_fail=True)
def counted_loop(c, tf):
    from tensorflow.python.framework import function
    from tensorflow.python.ops import functional_ops

    @function.Defun(tf.int32, tf.float32, tf.int32)
    def body(i, a, last):
        return a * 2 + tf.cast(i, tf.float32), i + 0

    start, limit, delta = (c.feed(const("int32", v)) for v in c.pick((0, 5, 1), (3, -4, -2), (1, 1, 1), (0, 4, 3), (0, 5, -1), (5, 0, 1), (0, 5, 0)))
    return functional_ops.For(start, limit, delta, [c.feed(c.array("float", (2,))), tf.constant(-1)], body, rewrite_with_while=False)


# Errors.
@program(ops=["PartitionedCall"], count=1, may_fail=True)
def call_that_fails(c, tf):
    @tf.function
    def f(a):
        return tf.reshape(a, [a[0], 3])

    return [f(c.feed(const("int32", [5, 6]), shape=[None]))]


@program(ops=["StatefulPartitionedCall"], count=1, may_fail=True)
def assertion_in_a_function(c, tf):
    @tf.function
    def f(a):
        tf.debugging.Assert(a > 3, [a])
        return a + 1

    return [f(c.feed(const("float", 1)))]
