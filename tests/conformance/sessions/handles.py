"""Tensors that a session keeps between steps, under handles that the client holds."""

import gc

import numpy as np
import tensorflow as tf

from harness.scenarios import scenario

tf1 = tf.compat.v1


def refused(what, error, run):
    try:
        run()
    except error as raised:
        return raised
    raise AssertionError(what)


@scenario
def kept_read_fed_and_deleted(scene):
    x = tf1.placeholder(tf.float32, [2])
    keep, more = tf1.get_session_handle(x * 2), x + 1
    holder, value = tf1.get_session_tensor("any;0;/device:CPU:0", tf.float32)
    number_holder, number = tf1.get_session_tensor("any;0;/device:CPU:0", tf.int32)
    doomed, delete = tf1.delete_session_tensor("any;0;/device:CPU:0")
    with scene.session() as session:
        first, second = session.run(keep, {x: [1, 2]}), session.run(keep, {x: [3, 4]})
        assert first.handle != second.handle
        assert first.eval().tolist() == [2, 4] and second.eval().tolist() == [6, 8]
        assert session.run(value + 1, {holder: second.handle}).tolist() == [7, 9]
        # Where a tensor is fed the handle of one is too, and nothing travels.
        assert session.run(more, {x: first}).tolist() == [3, 5]
        third = session.run(keep, {x: second})
        assert third.eval().tolist() == [12, 16]
        part = session.partial_run_setup([more], [x])
        assert session.partial_run(part, more, {x: first}).tolist() == [3, 5]

        session.run(delete, {doomed: third.get_raw_handle()})
        gone = third.get_raw_handle()
        refused("a deleted tensor can be read", tf.errors.InvalidArgumentError, lambda: session.run(value, {holder: gone}))
        refused("a deleted tensor can be deleted", tf.errors.InvalidArgumentError, lambda: session.run(delete, {doomed: gone}))
        refused("another type", tf.errors.InvalidArgumentError, lambda: session.run(number, {number_holder: first.handle}))
        first.delete()
    with scene.session() as other:
        refused("another session reads it", tf.errors.InvalidArgumentError, lambda: other.run(value, {holder: second.handle}))


@scenario
def handles_that_are_dropped(scene):
    """The client deletes what nobody refers to any more, several at once."""
    x = tf1.placeholder(tf.float32, [])
    keep = tf1.get_session_handle(x)
    holder, value = tf1.get_session_tensor("any;0;/device:CPU:0", tf.float32)
    with scene.session() as session:
        names = []
        for i in range(12):
            handle = session.run(keep, {x: i})
            names.append(handle.handle)
            del handle
            gc.collect()
        session.run(keep, {x: 0}).delete()
        refused("it is still there", tf.errors.InvalidArgumentError, lambda: session.run(value, {holder: names[0]}))


@scenario
def a_loop_over_a_kept_tensor(scene):
    """A large tensor stays on the server from step to step."""
    x = tf1.placeholder(tf.float32, [1 << 20])
    grown = tf1.get_session_handle(x + 1)
    with scene.session() as session:
        state = session.run(grown, {x: np.zeros(1 << 20, np.float32)})
        for _ in range(5):
            state = session.run(grown, {x: state})
        assert (state.eval() == 6).all()
