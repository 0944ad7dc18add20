"""Clusters of our servers, driven by TensorFlow's own client: parameter servers, workers, and what becomes of them."""

import signal
import subprocess
import threading
import time

import numpy as np
import tensorflow as tf

from harness.scenarios import scenario

tf1 = tf.compat.v1


def replica(cluster, task=0):
    return tf1.device(tf1.train.replica_device_setter(worker_device=f"/job:worker/task:{task}", cluster=cluster.spec))


def counter(cluster, task=0):
    """A graph of its own: a counter on the ps, and a step of the given worker that adds to it."""
    graph = tf1.Graph()
    with graph.as_default(), replica(cluster, task):
        v = tf1.get_variable("counter", [], initializer=tf1.zeros_initializer())
        more = v.assign_add(tf.cast(tf.size(tf.range(3)), tf.float32) - 2, use_locking=True)
        return graph, v, more, tf1.global_variables_initializer()


def error_of(function):
    """The error that `function` must raise, and the seconds until it did."""
    start = time.monotonic()
    try:
        function()
    except tf.errors.OpError as error:
        return error, time.monotonic() - start
    raise AssertionError("nothing went wrong")


@scenario
def workers_share_the_variables_of_the_ps(scene):
    cluster = scene.cluster(ps=1, worker=2)
    graph, v, more, init = counter(cluster, 0)
    other_graph, other, other_more, _ = counter(cluster, 1)
    with tf1.Session(cluster.target("worker", 0), graph=graph) as first, tf1.Session(cluster.target("worker", 1), graph=other_graph) as second:
        error, _ = error_of(lambda: second.run(other))
        assert isinstance(error, tf.errors.FailedPreconditionError), error
        first.run(init)
        threads = [threading.Thread(target=lambda s=s, m=m: [s.run(m) for _ in range(50)]) for s, m in ((first, more), (second, other_more))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert first.run(v) == second.run(other) == 100
    cluster.stop()


@scenario
def one_client_drives_all_workers(scene):
    """In-graph replication: towers on two workers, variables on two parameter servers."""
    cluster = scene.cluster(ps=2, worker=2)
    with tf1.Graph().as_default() as graph:
        with replica(cluster):
            w = tf1.get_variable("w", [4, 2], initializer=tf1.ones_initializer())
            b = tf1.get_variable("b", [2], initializer=tf1.zeros_initializer())
        x = tf1.placeholder(tf.float32, [None, 4])
        towers = []
        for task in range(2):
            with tf1.device(f"/job:worker/task:{task}"):
                towers.append(tf.reduce_sum(tf.matmul(x[task::2], w) + b))
        with tf1.device("/job:worker/task:0"):
            total = tf.add_n(towers)
        train = tf1.train.GradientDescentOptimizer(0.01).minimize(total, colocate_gradients_with_ops=True)
        init = tf1.global_variables_initializer()
    value = np.arange(24, dtype=np.float32).reshape(6, 4)
    with tf1.Session(cluster.target("worker", 1), graph=graph) as session:
        session.run(init)
        assert session.run(total, {x: value}) == 2 * value.sum()
        session.run(train, {x: value})
        np.testing.assert_allclose(session.run(b), [-0.06, -0.06], rtol=1e-5)
        np.testing.assert_allclose(session.run(w)[:, 0], 1 - 0.01 * value.sum(0), rtol=1e-5)
        names = {device.name for device in session.list_devices()}
        assert len(names) == 4 and "/job:ps/replica:0/task:1/device:CPU:0" in names, names
    cluster.stop()


@scenario
def a_queue_of_the_ps_joins_the_workers(scene):
    cluster = scene.cluster(ps=1, worker=2)

    def build(task):
        graph = tf1.Graph()
        with graph.as_default():
            with tf1.device("/job:ps/task:0"):
                queue = tf1.FIFOQueue(10, tf.float32, [], shared_name="joint")
            with tf1.device(f"/job:worker/task:{task}"):
                value = tf1.placeholder(tf.float32, [])
                put, take = queue.enqueue(value * 2), queue.dequeue() + 1
        return graph, value, put, take

    graph, value, put, _ = build(0)
    other, _, _, take = build(1)
    taken = []
    with tf1.Session(cluster.target("worker", 0), graph=graph) as first, tf1.Session(cluster.target("worker", 1), graph=other) as second:
        waiting = threading.Thread(target=lambda: taken.append(second.run(take)))
        waiting.start()
        first.run(put, {value: 21})
        waiting.join()
    assert taken == [43]
    cluster.stop()


@scenario
def a_restarted_worker_finds_the_model(scene):
    cluster = scene.cluster(ps=1, worker=1)
    graph, v, more, init = counter(cluster)
    session = tf1.Session(cluster.target("worker", 0), graph=graph)
    session.run(init)
    session.run(more)
    cluster.kill("worker", 0)
    cluster.start("worker", 0)
    error, _ = error_of(lambda: session.run(v))
    assert isinstance(error, (tf.errors.AbortedError, tf.errors.UnavailableError)), error
    with tf1.Session(cluster.target("worker", 0), graph=graph) as session:
        assert session.run(v) == 1
    cluster.stop()


@scenario
def a_restarted_ps_has_forgotten_it(scene):
    cluster = scene.cluster(ps=1, worker=1)
    graph, v, more, init = counter(cluster)
    with tf1.Session(cluster.target("worker", 0), graph=graph) as session:
        session.run(init)
        cluster.kill("ps", 0)
        cluster.start("ps", 0)
        error, _ = error_of(lambda: session.run(more))
        assert isinstance(error, (tf.errors.AbortedError, tf.errors.UnavailableError)), error
    with tf1.Session(cluster.target("worker", 0), graph=graph) as session:
        error, _ = error_of(lambda: session.run(v))
        assert isinstance(error, tf.errors.FailedPreconditionError), error
        session.run(init)
        assert session.run(more) == 1
    cluster.stop()


def lose_the_ps(scene, number):
    """Ends or freezes the ps in the middle of a step that waits for it."""
    cluster = scene.cluster(ps=1, worker=1)
    with tf1.Graph().as_default() as graph:
        with tf1.device("/job:ps/task:0"):
            queue = tf1.FIFOQueue(1, tf.float32, [])
        with tf1.device("/job:worker/task:0"):
            take, here = queue.dequeue() + 1, tf.constant(1.0) + 1
    with tf1.Session(cluster.target("worker", 0), graph=graph) as session:
        threading.Timer(1, lambda: cluster.signal("ps", 0, number)).start()
        error, _ = error_of(lambda: session.run(take))
        assert isinstance(error, tf.errors.UnavailableError), error
        assert "/job:ps/replica:0/task:0" in error.message, error.message
        assert session.run(here) == 2  # the worker goes on
    cluster.kill("ps", 0)
    cluster.stop()


@scenario
def a_killed_ps_is_named(scene):
    lose_the_ps(scene, signal.SIGKILL)


@scenario
def a_frozen_ps_is_named(scene):
    lose_the_ps(scene, signal.SIGSTOP)


@scenario
def what_is_asked_for_and_not_there_is_named(scene):
    cluster = scene.cluster(ps=1, worker=1)
    with tf1.Graph().as_default() as graph, tf1.device("/job:ps/task:7"):
        lost = tf.add(tf1.placeholder_with_default(1.0, []), 1)
    with tf1.Session(cluster.target("worker", 0), graph=graph) as session:
        error, _ = error_of(lambda: session.run(lost))
    assert isinstance(error, tf.errors.InvalidArgumentError), error
    assert "/job:ps/task:7" in error.message and "/job:ps/replica:0/task:0/device:CPU:0" in error.message, error.message
    cluster.stop()


@scenario
def a_monitored_session_of_two_workers(scene):
    """Between-graph replication as programs write it: the chief initialises and saves, the other worker waits for it."""
    cluster = scene.cluster(ps=1, worker=2)
    steps = []

    def work(task):
        with tf1.Graph().as_default(), replica(cluster, task):
            step = tf1.train.get_or_create_global_step()
            w = tf1.get_variable("w", [3], initializer=tf1.zeros_initializer())
            loss = tf.reduce_sum(tf.square(w - [1.0, 2.0, 3.0]))
            train = tf1.train.GradientDescentOptimizer(0.05).minimize(loss, step)
            with tf1.train.MonitoredTrainingSession(
                    cluster.target("worker", task), is_chief=task == 0, checkpoint_dir=scene.path("model") if task == 0 else None,
                    hooks=[tf1.train.StopAtStepHook(100)]) as session:
                while not session.should_stop():
                    _, value, now = session.run([train, loss, step])
            steps.append((now, value))

    threads = [threading.Thread(target=work, args=[task]) for task in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(steps) == 2 and max(step for step, _ in steps) >= 100, steps
    assert all(loss < 1e-2 for _, loss in steps), steps
    assert tf1.train.latest_checkpoint(scene.path("model")), "the chief has saved nothing"
    cluster.stop()


@scenario
def a_client_without_a_token_is_let_in_where_that_is_allowed(scene):
    token = scene.path("token")
    subprocess.run([scene.tool, "certs", "--token", token, "--force"], check=True, stdout=subprocess.DEVNULL)
    flags = ["--token_file", token]
    cluster = scene.cluster(ps=1, worker=1, flags={"ps": flags, "worker": [*flags, "--allow_plain_clients"]})
    graph, v, more, init = counter(cluster)
    with tf1.Session(cluster.target("worker", 0), graph=graph) as session:
        session.run(init)
        session.run(more)
        assert session.run(v) == 1
    with tf1.Session(cluster.target("ps", 0), graph=graph) as session:
        error, _ = error_of(lambda: session.run(v))
        assert isinstance(error, tf.errors.UnauthenticatedError) and "no token" in error.message, error
    cluster.stop()
