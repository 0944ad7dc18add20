"""Conditionals, loops, assertions and printing, as TensorFlow's Python builds them."""

import numpy as np

from harness.notation import *

leave_out("Abort", "would end TensorFlow's process; ours fails the step")

# Single ops. The output that a Switch does not choose has no value, so only the programs below fetch from one.
op("LoopCond", dict(input=t("bool", "")), empty=0, bad=[dict(input=const("bool", [True]))])
op(["NoOp", "ControlTrigger"], {}, empty=0)
op("Merge", dict(inputs=many(1, t("T"))), dict(T=ALL_TYPES))
op("Print", dict(input=t("T"), data=many((0, 3), t(ALL_TYPES))), dict(T=ALL_TYPES, first_n=0, summarize=[0, 2, -1]), gradient=["input"])
op("StringFormat", dict(inputs=many(2, t(INTS + ["float", "double", "half", "bfloat16", "bool", "string"]))),
   dict(template="<%s|%s>", summarize=[0, 1, 3, 50, -1]), count=60, bad=[dict(template="%s"), dict(template="%s%s%s"), dict(placeholder="|")])
op("StringFormat", dict(inputs=many(0, t("int32"))), dict(template="text"), empty=0, special=0)
op("PrintV2", dict(input=t("string", "")), dict(output_stream=["stderr", "log(info)", "log(warning)"], end=["", "\n"]), empty=0,
   bad=[dict(input=const("string", [b"x"])), dict(output_stream="nowhere")])
op("Assert", dict(condition=const("bool", True), data=many((1, 3), t(ALL_TYPES))), dict(summarize=[0, 3, -1]),
   bad=[dict(condition=const("bool", False)), dict(condition=const("bool", [True]))])


def number(c, low=0, high=6):
    return c.int(low, high)


# Conditionals.
@program(ops=["Switch", "Merge"], count=6)
def cond_both_ways(c, tf):
    x = c.feed(c.array("float", (2, 3)))
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: tf.sin(x) - 1)
    c.gradient([y], [x])
    return [y]


@program(ops=["Switch", "Merge"], count=8)
def cond_nested(c, tf):
    x, z = c.feed(c.array("float", (3,))), c.feed(c.array("float", (3,)))
    p, q = c.feed(const("bool", c.chance())), c.feed(const("bool", c.chance()))

    def inner():
        s = tf.exp(x)
        return tf.cond(q, lambda: [s * z, tf.constant(1.0)], lambda: [tf.sin(z), tf.reduce_sum(s)])

    a, b = tf.cond(p, inner, lambda: [x, tf.reduce_max(z)])
    c.gradient([a, b], [x, z])
    return [a, b]


@program(ops=["Switch", "Merge"], count=4)
def cond_of_unknown_shapes(c, tf):
    p = c.feed(const("bool", c.chance()))
    x = c.feed(c.array("float", (c.int(1, 4),)), shape=[None])
    y = tf.cond(p, lambda: tf.concat([x, x], 0), lambda: x)
    c.gradient([y], [x])
    return [y, tf.shape(y)]


@program(ops=["Switch", "Merge"], count=4)
def cond_of_rows(c, tf):
    """The gradient is made of slices in one branch and nothing in the other."""
    table, p = c.feed(c.array("float", (5, 2))), c.feed(const("bool", c.chance()))
    rows = c.feed(const("int32", [1, 3, 1]))
    y = tf.cond(p, lambda: tf.gather(table, rows), lambda: tf.zeros((3, 2)))
    c.gradient([y], [table])
    return [y]


@program(ops=["RefSwitch", "RefMerge", "Switch"], count=4)
def cond_of_a_variable(c, tf):
    v = tf.get_variable("v", (), tf.float32, tf.constant_initializer(3), use_resource=False)
    p = c.feed(const("bool", c.chance()))
    changed = tf.cond(p, lambda: tf.assign_add(v, 1), lambda: tf.assign(v, 10))
    which = tf.raw_ops.RefSwitch(data=v._ref(), pred=p)
    merged, index = tf.raw_ops.RefMerge(inputs=list(which))
    c.run([], [v.initializer])
    c.run([changed])
    c.run([v.read_value(), index])
    c.run([tf.assign_add(merged, 5)])
    return [v.read_value()]


@program(ops=["Switch", "Merge", "ControlTrigger"], count=4)
def dead_control_inputs(c, tf):
    p = c.feed(const("bool", c.chance()))
    off, on = tf.raw_ops.Switch(data=tf.constant(1.0), pred=p)
    with tf.control_dependencies([tf.identity(on)]):
        one = tf.constant(2.0) + 1
    with tf.control_dependencies([tf.identity(off)]):
        other = tf.constant(4.0) + 1
    with tf.control_dependencies([tf.identity(on)]):
        trigger = tf.raw_ops.ControlTrigger()
    with tf.control_dependencies([trigger]):
        always = tf.constant(7.0) + 1
    merged, index = tf.raw_ops.Merge(inputs=[one, other])
    # A Switch that is dead itself kills both of its outputs.
    both = tf.raw_ops.Switch(data=one, pred=p)
    again, place = tf.raw_ops.Merge(inputs=[tf.raw_ops.Merge(inputs=list(both))[0], other])
    return [merged, index, always, again, place]


@program(ops=["Switch"], count=2, may_fail=True)
def dead_fetch(c, tf):
    off, on = tf.raw_ops.Switch(data=tf.constant(1.0), pred=c.feed(const("bool", True)))
    return [off + 1]


# Loops.
@program(ops=["Enter", "Exit", "NextIteration", "LoopCond", "Switch", "Merge"], count=12)
def loop(c, tf):
    n = c.feed(const("int32", number(c)))
    x, w = c.feed(c.array("double", (2, 2))), c.feed(c.array("double", (2, 2)))
    _, y = tf.while_loop(lambda i, _: i < n, lambda i, a: [i + 1, tf.tanh(tf.matmul(a, w)) + 0.5 * a], [0, x],
                         parallel_iterations=c.pick(1, 2, 10))
    c.gradient([y], [x, w])
    return [y]


@program(ops=["Enter", "Exit", "NextIteration"], count=6)
def loop_of_several_variables(c, tf):
    n = c.feed(const("int32", number(c)))
    a, b = c.feed(c.array("double", ())), c.feed(c.array("double", ()))
    results = tf.while_loop(lambda i, *_: i < n, lambda i, p, q, r, s: [i + 1, p * q, q + tf.sin(r), p, s * 2], [0, a, b, a * 0, tf.constant(1.0, tf.float64)])
    c.gradient(results[1:4], [a, b])
    return results


@program(ops=["Enter", "Exit"], count=6)
def loop_inside_loop(c, tf):
    n = c.feed(const("int32", number(c, 0, 4)))
    x, w = c.feed(c.array("double", (2,))), c.feed(c.array("double", (2,)))

    def body(i, a):
        start = a * w
        _, inner = tf.while_loop(lambda j, _: j < i, lambda j, b: [j + 1, tf.sin(b) + a * w], [0, start])
        return [i + 1, inner]

    _, y = tf.while_loop(lambda i, _: i < n, body, [0, x])
    c.gradient([y], [x, w])
    return [y]


@program(ops=["Enter", "Exit", "Switch"], count=6)
def cond_inside_loop(c, tf):
    n = c.feed(const("int32", number(c)))
    x, w = c.feed(c.array("double", (2,))), c.feed(c.array("double", (2,)))

    def body(i, a):
        return [i + 1, tf.cond(tf.equal(i % 2, 1), lambda: tf.sin(a) * w, lambda: a * a + 0.1)]

    _, y = tf.while_loop(lambda i, _: i < n, body, [0, x])
    c.gradient([y], [x, w])
    return [y]


@program(ops=["Enter", "Exit", "Switch"], count=6)
def loop_inside_cond(c, tf):
    p, n = c.feed(const("bool", c.chance())), c.feed(const("int32", number(c)))
    x = c.feed(c.array("double", (2,)))
    y = tf.cond(p, lambda: tf.while_loop(lambda i, _: i < n, lambda i, a: [i + 1, tf.sin(a) * x], [0, x])[1], lambda: x * 7)
    c.gradient([y], [x])
    return [y]


@program(ops=["Enter", "Exit", "Switch"], count=6)
def loop_inside_cond_inside_loop(c, tf):
    n = c.feed(const("int32", number(c)))
    x, w = c.feed(c.array("double", ())), c.feed(c.array("double", ()))

    def body(i, a):
        def inner():
            return tf.while_loop(lambda j, _: j < i, lambda j, b: [j + 1, tf.sin(b) * w], [0, a])[1]

        return [i + 1, tf.cond(tf.equal(i % 2, 1), inner, lambda: a + w * w)]

    _, y = tf.while_loop(lambda i, _: i < n, body, [0, x])
    c.gradient([y], [x, w])
    return [y]


@program(ops=["Enter", "Exit"], count=4)
def loop_that_grows(c, tf):
    n = c.feed(const("int32", number(c)))
    x = c.feed(c.array("double", (1,)))
    _, y = tf.while_loop(lambda i, _: i < n, lambda i, a: [i + 1, tf.concat([tf.sin(a), x], 0)], [0, x],
                         shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
    return [y]  # TensorFlow has no gradient for it


@program(ops=["Enter", "Exit", "RefEnter"], count=4)
def loop_that_changes_a_variable(c, tf):
    v = tf.get_variable("v", (), tf.float32, tf.constant_initializer(0), use_resource=c.chance())

    def body(i):
        with tf.control_dependencies([tf.assign_add(v, tf.cast(i, tf.float32))]):
            return i + 1

    last = tf.while_loop(lambda i: i < 10, body, [0], parallel_iterations=c.pick(1, 10))
    c.run([], [v.initializer])
    c.run([last])
    return [v.read_value()]


@program(ops=["Enter", "RefEnter", "Switch", "RefSwitch"], count=8)
def variables_read_inside(c, tf):
    """The variable itself enters the loop and the branch; its gradient is that of every read."""
    is_resource = c.chance()
    v = tf.get_variable("v", (2,), tf.float64, tf.constant_initializer(0.7), use_resource=is_resource)
    x, n = c.feed(c.array("double", (2,))), c.feed(const("int32", number(c)))
    read = (lambda: v.read_value()) if is_resource else (lambda: tf.identity(v._ref()))

    def body(i, a):
        return [i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.sin(a) * read(), lambda: a + x)]

    _, y = tf.while_loop(lambda i, _: i < n, body, [0, x])
    c.run([], [v.initializer])
    c.gradient([y], [v.handle if is_resource else v._ref(), x])
    return [y]


@program(ops=["RefEnter", "RefExit", "RefNextIteration", "RefMerge", "RefSwitch"], count=2)
def loop_that_carries_a_reference(c, tf):
    v = tf.get_variable("v", (), tf.float32, tf.constant_initializer(0), use_resource=False)
    frame = dict(frame_name="counting")
    i = tf.raw_ops.Enter(data=tf.constant(0), **frame)
    r = tf.raw_ops.RefEnter(data=v._ref(), **frame)
    limit, one = (tf.raw_ops.Enter(data=tf.constant(k), is_constant=True, **frame) for k in (4, 1))
    amount = tf.raw_ops.Enter(data=tf.constant(2.5), is_constant=True, **frame)
    mi, mr = tf.raw_ops.Merge(inputs=[i, i])[0], tf.raw_ops.RefMerge(inputs=[r, r])[0]
    go_on = tf.raw_ops.LoopCond(input=mi < limit)
    si, sr = tf.raw_ops.Switch(data=mi, pred=go_on), tf.raw_ops.RefSwitch(data=mr, pred=go_on)
    mi.op._update_input(1, tf.raw_ops.NextIteration(data=si[1] + one))
    mr.op._update_input(1, tf.raw_ops.RefNextIteration(data=tf.assign_add(sr[1], amount)))
    last = tf.raw_ops.RefExit(data=sr[0])
    c.run([], [v.initializer])
    c.run([tf.identity(last), tf.raw_ops.Exit(data=si[0])])
    return [v.read_value()]


@program(ops=["Enter", "Exit"], count=2, may_fail=True)
def loop_that_fails(c, tf):
    def body(i):
        with tf.control_dependencies([tf.Assert(i < 3, [i])]):
            return i + 1

    return [tf.while_loop(lambda i: i < 10, body, [0])]


@program(ops=["Exit"], count=1, may_fail=True)
def exit_without_loop(c, tf):
    return [tf.raw_ops.Exit(data=c.feed(const("float", 1)))]


@program(ops=["Assert"], count=6, may_fail=True)
def assert_in_time(c, tf):
    x = c.feed(c.array("double", (3,)))
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x < 1), [x, "too large"], summarize=2)]):
        return [x * 2]
