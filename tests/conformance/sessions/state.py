"""What outlives a step: variables, queues and tables, shared by the clients of a server."""

import subprocess
import sys
import threading

import numpy as np
import tensorflow as tf

from harness.scenarios import scenario

tf1 = tf.compat.v1


def counter():
    """A graph of its own with the variable that every client of it shares."""
    graph = tf1.Graph()
    with graph.as_default():
        v = tf1.get_variable("counter", [], initializer=tf1.zeros_initializer())
        more = v.assign_add(1, use_locking=True)
    return graph, v, more


@scenario
def two_clients_share_variables(scene):
    graph, v, more = counter()
    with scene.session(graph) as session:
        session.run(v.initializer)
        session.run(more)
    other_graph, other, other_more = counter()
    with scene.session(other_graph) as session, scene.session(graph) as first:
        assert session.run(other) == 1, "variables outlive the session"
        session.run(other_more)
        assert first.run(v) == 2
    with scene.session(graph, isolate_session_state=True) as session:
        try:
            session.run(v)
            raise AssertionError("an isolated session sees the variables of others")
        except tf.errors.FailedPreconditionError:
            pass


CLIENT = """
import sys, tensorflow as tf
tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.disable_resource_variables()
v = tf1.get_variable("counter", [], initializer=tf1.zeros_initializer())
more = v.assign_add(1, use_locking=True)
with tf1.Session(sys.argv[1]) as session:
    for _ in range(50): session.run(more)
"""


@scenario(deadline=120)
def clients_in_other_processes(scene):
    graph, v, more = counter()
    with scene.session(graph) as session:
        session.run(v.initializer)
        others = [subprocess.Popen([sys.executable, "-c", CLIENT, scene.target]) for _ in range(2)]
        for _ in range(50):
            session.run(more)
        assert [other.wait() for other in others] == [0, 0]
        assert session.run(v) == 150


@scenario
def many_clients_at_once(scene):
    graph, v, more = counter()
    with scene.session(graph) as session:
        session.run(v.initializer)

        def work():
            with scene.session(graph) as mine:
                for _ in range(20):
                    mine.run(more)

        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.run(v) == 320


@scenario
def reset(scene):
    graph = tf1.Graph()
    with graph.as_default():
        plain = tf1.get_variable("plain", [], initializer=tf1.ones_initializer())
        with tf1.container("kept"):
            kept = tf1.get_variable("kept", [], initializer=tf1.ones_initializer())
        init = tf1.global_variables_initializer()
        alive = tf1.is_variable_initialized(plain), tf1.is_variable_initialized(kept)

    session = scene.session(graph)
    session.run(init)
    assert session.run(alive) == (True, True)
    tf1.Session.reset(scene.target)
    try:
        session.run(alive)
        raise AssertionError("a session goes on after a reset")
    except tf.errors.AbortedError:
        pass
    with scene.session(graph) as other:
        assert other.run(alive) == (False, True)
        other.run(init)
    tf1.Session.reset(scene.target, ["kept"])
    with scene.session(graph) as other:
        assert other.run(alive) == (True, False)


@scenario
def queue_runners(scene):
    """A pipeline as TensorFlow 1.x programs build it, with a coordinator."""
    numbers = tf1.train.range_input_producer(10, num_epochs=3, shuffle=False).dequeue()
    batch = tf1.train.batch([numbers, numbers * 10], batch_size=5, num_threads=1, capacity=20)
    with scene.session() as session:
        session.run([tf1.local_variables_initializer(), tf1.global_variables_initializer()])
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        seen = []
        try:
            while not coordinator.should_stop():
                n, tens = session.run(batch)
                assert (n * 10 == tens).all()
                seen += n.tolist()
        except tf.errors.OutOfRangeError:
            coordinator.request_stop()
        coordinator.join(threads)
        assert seen == list(range(10)) * 3, seen


@scenario
def reads_records_to_the_end(scene):
    """The input pipeline of many programs of that time: file names, records, examples, batches."""
    files = [scene.path(f"{i}.tfrecord") for i in range(3)]
    number = lambda value: tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
    for i, name in enumerate(files):
        with tf.io.TFRecordWriter(name) as writer:
            for j in range(10):
                example = tf.train.Example(features=tf.train.Features(feature=dict(file=number(i), record=number(j))))
                writer.write(example.SerializeToString())

    names = tf1.train.string_input_producer(files, num_epochs=2, shuffle=True, seed=4)
    reader = tf1.TFRecordReader()
    key, value = reader.read(names)
    parsed = tf1.parse_single_example(value, {name: tf1.FixedLenFeature([], tf.int64) for name in ("file", "record")})
    batch = tf1.train.batch([key, parsed["file"], parsed["record"]], batch_size=8, num_threads=2, capacity=32, allow_smaller_final_batch=True)
    produced, finished = reader.num_records_produced(), reader.num_work_units_completed()
    with scene.session() as session:
        session.run([tf1.local_variables_initializer(), tf1.global_variables_initializer()])
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        seen, sizes = [], []
        try:
            while not coordinator.should_stop():
                keys, in_files, records = session.run(batch)
                sizes.append(len(keys))
                seen += zip(in_files.tolist(), records.tolist())
                assert all(k.decode().startswith(files[i] + ":") for k, i in zip(keys, in_files))
        except tf.errors.OutOfRangeError:
            coordinator.request_stop()
        coordinator.join(threads)
        assert sorted(seen) == sorted(2 * [(i, j) for i in range(3) for j in range(10)]), seen
        assert sizes == 7 * [8] + [4], sizes
        assert session.run([produced, finished]) == [60, 6]


@scenario
def reading_waits_for_a_file_and_can_be_stopped(scene):
    queue = tf1.FIFOQueue(5, [tf.string], [[]])
    reader = tf1.TextLineReader(skip_header_lines=1)
    line = reader.read(queue)
    name = tf1.placeholder(tf.string, [])
    enqueue, close = queue.enqueue(name), queue.close()
    path = scene.path("lines")
    with open(path, "w") as lines:
        lines.write("header\nfirst\nlast\n")
    with scene.session() as session:
        try:
            session.run(line, options=tf1.RunOptions(timeout_in_ms=300))
            raise AssertionError("it reads from nowhere")
        except tf.errors.DeadlineExceededError:
            pass
        results = []
        threads = [threading.Thread(target=lambda: results.append(session.run(line.value))) for _ in range(2)]
        for thread in threads:
            thread.start()
        session.run(enqueue, {name: path})
        for thread in threads:
            thread.join()
        assert sorted(results) == [b"first", b"last"], results
        session.run(close)
        try:
            session.run(line)
            raise AssertionError("there are no more lines")
        except tf.errors.OutOfRangeError as error:
            assert error.op.type == "ReaderReadV2", error.op


@scenario
def shuffled_queue_runners_that_are_stopped(scene):
    rows = tf1.train.slice_input_producer([np.arange(20), np.arange(20) * 2], shuffle=True, seed=5)
    batch = tf1.train.shuffle_batch(rows, batch_size=4, capacity=30, min_after_dequeue=10, seed=3, num_threads=2)
    with scene.session() as session:
        session.run([tf1.local_variables_initializer(), tf1.global_variables_initializer()])
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        for _ in range(20):
            a, b = session.run(batch)
            assert (a * 2 == b).all()
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=20)


@scenario
def error_in_a_queue_runner(scene):
    """What fails in a runner's thread reaches the program through the coordinator."""
    queue = tf1.FIFOQueue(5, [tf.float32], [[]])
    x = tf1.Variable(3.0)
    failing = queue.enqueue(tf1.check_numerics(tf.math.log(x.assign_sub(1.0)), "log"))
    tf1.train.add_queue_runner(tf1.train.QueueRunner(queue, [failing]))
    taken = queue.dequeue()
    with scene.session() as session:
        session.run(x.initializer)
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        try:
            while True:
                session.run(taken)
        except tf.errors.OutOfRangeError:
            pass
        try:
            coordinator.join(threads)
            raise AssertionError("the runner's error is lost")
        except tf.errors.InvalidArgumentError as error:
            assert "CheckNumerics" in error.message


@scenario
def tables(scene):
    keys, values = tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
    found = table.lookup(tf.constant(["b", "x", "a"]))
    with scene.session() as session:
        session.run(tf1.tables_initializer())
        assert session.run(found).tolist() == [2, -1, 1]
        assert session.run(table.size()) == 2


@scenario
def iterators_are_shared_by_name_only(scene):
    data = tf.data.Dataset.range(100)
    once = tf1.data.make_one_shot_iterator(data).get_next()
    own, shared = tf1.data.make_initializable_iterator(data), tf1.data.make_initializable_iterator(data, shared_name="for_all")
    of_own, of_shared = own.get_next(), shared.get_next()
    with scene.session() as first, scene.session() as second:
        assert [first.run(once) for _ in range(3)] == [0, 1, 2]
        assert second.run(once) == 0
        assert first.run(once) == 3
        first.run([own.initializer, shared.initializer])
        assert [first.run(of_shared), second.run(of_shared)] == [0, 1]
        assert first.run(of_own) == 0
        try:
            second.run(of_own)
            raise AssertionError("it sees the iterator of another session")
        except tf.errors.FailedPreconditionError:
            pass
    with scene.session() as third:
        assert third.run(once) == 0
        assert third.run(of_shared) == 2
