"""Steps: what a session answers, fed and fetched in every way that the client knows."""

import re
import threading
import time

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import timeline

from harness.scenarios import scenario

tf1 = tf.compat.v1


def raises(error, function, *arguments, **named):
    """The error of the call, which must be of this type."""
    try:
        function(*arguments, **named)
    except error as caught:
        return caught
    raise AssertionError(f"no {error.__name__}")


def waits_forever():
    """A tensor that nobody will ever provide."""
    return tf1.FIFOQueue(1, [tf.int32], [[]]).dequeue()


@scenario
def extend_after_run(scene):
    graph = tf1.get_default_graph()
    x = tf.constant([1.0, 2.0])
    v = tf1.Variable(3.0)
    with scene.session() as session:
        session.run(v.initializer)
        assert session.run(x * 2).tolist() == [2, 4]
        for i in range(5):
            assert session.run(x + v + float(i)).tolist() == [4 + i, 5 + i]
        loss = tf.reduce_sum(v * x)
        train = tf1.train.GradientDescentOptimizer(1.0).minimize(loss)
        session.run(train)
        assert session.run(v) == 0
        assert len(graph.get_operations()) > 20


@scenario
def partial_run(scene):
    a, b, c = (tf1.placeholder(tf.float32, []) for _ in range(3))
    first, second = a + b, (a + b) * c
    with scene.session() as session:
        for _ in range(3):
            handle = session.partial_run_setup([first, second], [a, b, c])
            assert session.partial_run(handle, first, {a: 1, b: 2}) == 3
            assert session.partial_run(handle, second, {c: 10}) == 30
        handle = session.partial_run_setup([first, second], [a, b, c])
        assert session.partial_run(handle, first, {a: 1, b: 2}) == 3
        error = raises(tf.errors.InvalidArgumentError, session.partial_run, handle, second, {})
        assert error.message
        error = raises(tf.errors.InvalidArgumentError, session.partial_run, handle, second, {a: 5})
        assert error.message
        assert session.run(second, {a: 1, b: 1, c: 4}) == 8


@scenario
def make_callable(scene):
    x = tf1.placeholder(tf.float32, [None])
    v = tf1.Variable([1.0, 2.0])
    y = x * v
    with scene.session() as session:
        session.run(v.initializer)
        twice = session.make_callable([y, tf.reduce_sum(y)], feed_list=[x])
        for i in range(10):
            product, total = twice(np.float32([i, 1]))
            assert product.tolist() == [i, 2] and total == i + 2
        add = session.make_callable(v.assign_add([1.0, 1.0]))
        add()
        assert session.make_callable(v)().tolist() == [2, 3]
        with_metadata = session.make_callable(y, feed_list=[x], accept_options=True)
        metadata = tf1.RunMetadata()
        with_metadata(np.float32([1, 1]), options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=metadata)
        assert metadata.step_stats.dev_stats
        raises(tf.errors.InvalidArgumentError, session.make_callable(tf.reshape(x, [7]), feed_list=[x]), np.float32([1, 1]))


@scenario
def metadata_of_callables(scene):
    """Which ways to a callable bring its metadata: those of TensorFlow's own server. Its client drops that of `_make_callable_from_options`."""
    x = tf1.placeholder(tf.float32, [])
    y, z = x + 1, tf1.placeholder_with_default(1.0, []) + 1
    full = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True)

    def brought(target):
        with tf1.Session(target) as session:
            with_options = dict(options=full), dict(options=None)
            calls = [(session.make_callable(z, accept_options=True), (), given) for given in with_options]
            calls += [(session.make_callable(z.op, accept_options=True), (), given) for given in with_options]
            calls += [(session.make_callable(y, feed_list=[x], accept_options=True), (1,), given) for given in with_options]
            for given in (full, tf1.RunOptions()):
                prepared = config_pb2.CallableOptions(feed=[x.name], fetch=[y.name], run_options=given)
                calls.append((session._make_callable_from_options(prepared), (np.float32(1),), {}))
            for function, feeds, given in calls:
                result = tf1.RunMetadata()
                function(*feeds, run_metadata=result, **given)
                yield bool(result.step_stats.dev_stats), len(result.partition_graphs)

    theirs = tf1.train.Server.create_local_server()
    ours, reference = list(brought(scene.target)), list(brought(theirs.target))
    assert ours == reference == [(True, 1), (False, 0)] * 3 + [(False, 0)] * 2, (ours, reference)


@scenario
def fetches_and_feeds(scene):
    x = tf1.placeholder(tf.float32, [None], name="x")
    unfed = tf1.placeholder(tf.float32, [None], name="unfed")
    y = x * 2
    z = y + 1
    s = tf1.SparseTensor([[0, 1], [2, 3]], [1.0, 2.0], [3, 4])
    with scene.session() as session:
        assert session.run(x, {x: [1, 2]}).tolist() == [1, 2], "fetch of a feed"
        assert session.run([x, z], {x: [1]})[1].tolist() == [3]
        assert session.run(z, {y: [10, 20]}).tolist() == [11, 21], "feeding an intermediate tensor"
        assert session.run([y, z], {y: [5]})[0].tolist() == [5]
        a, b, (c, d) = session.run([z, z, (z, y)], {x: [3]})
        assert a.tolist() == b.tolist() == c.tolist() == [7] and d.tolist() == [6], "duplicate fetches"
        assert session.run([]) == [] and session.run(z.op, {x: [1]}) is None
        assert session.run({"z": z, "s": s}, {x: [1]})["s"].indices.tolist() == [[0, 1], [2, 3]]
        error = raises(tf.errors.InvalidArgumentError, session.run, unfed)
        assert "unfed" in error.message, error.message
        raises(tf.errors.InvalidArgumentError, session.run, unfed + z, {x: [1]})
        strings = tf1.placeholder(tf.string, [None])
        got = session.run(tf.strings.join([strings, "!"]), {strings: [b"a\0b", b"\xff"]})
        assert got.tolist() == [b"a\0b!", b"\xff!"]
        big = tf1.placeholder(tf.float32, [None])
        data = np.arange(1 << 22, dtype=np.float32)
        assert np.array_equal(session.run(big + 0, {big: data}), data)


@scenario
def many_dtypes_pass_both_ways(scene):
    with scene.session() as session:
        for dtype in [tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64,
                      tf.bool]:
            x = tf1.placeholder(dtype)
            value = np.array([[0, 1], [1, 0]]).astype(dtype.as_numpy_dtype)
            got = session.run(tf.identity(x), {x: value})
            assert got.dtype == value.dtype and np.array_equal(got, value), dtype


@scenario
def errors_name_their_op(scene):
    x = tf1.placeholder(tf.float32, [None], name="x")
    v = tf1.get_variable("v", [2])
    with tf1.name_scope("outer"):
        bad = tf.reshape(x, [5], name="bad_shape")
        checked = tf1.check_numerics(x, "not a number", name="checked")
    gathered = tf.gather(tf.constant([1, 2, 3]), tf1.placeholder_with_default(7, []), name="gathered")
    with scene.session() as session:
        error = raises(tf.errors.InvalidArgumentError, session.run, bad + 1, {x: [1, 2]})
        assert error.op is bad.op, error.op
        error = raises(tf.errors.InvalidArgumentError, session.run, checked * 2, {x: [np.nan]})
        assert error.op is checked.op and "not a number" in error.message
        error = raises(tf.errors.InvalidArgumentError, session.run, gathered)
        assert error.op is gathered.op
        error = raises(tf.errors.FailedPreconditionError, session.run, v.read_value())
        assert "uninitialized" in error.message
        assert error.op is not None
        names = session.run(tf1.report_uninitialized_variables())
        assert names.tolist() == [b"v"]
        raises(tf.errors.FailedPreconditionError, session.run, tf1.assert_variables_initialized([v]))


@scenario
def effects_are_kept_where_shapes_alone_are_used(scene):
    x = tf1.placeholder(tf.float32, [None, 3], name="x")
    v = tf1.get_variable("v", [], initializer=tf1.zeros_initializer())
    with tf.control_dependencies([v.assign_add(1.0)]):
        counted = tf.identity(x * 2)
    with tf.control_dependencies([tf1.Assert(tf.reduce_all(x > 0), ["not positive"])]):
        checked = tf.identity(x)
    gradient = tf1.gradients(counted, x)[0]
    with scene.session() as session:
        session.run(v.initializer)
        ones = np.ones([2, 3], np.float32)
        assert session.run(tf.shape(counted)[0], {x: ones}) == 2 and session.run(v) == 1
        assert session.run(tf.ones_like(counted), {x: ones}).sum() == 6 and session.run(v) == 2
        assert session.run(gradient, {x: ones}).sum() == 12 and session.run(v) == 3
        assert session.run(tf.shape(checked), {x: ones}).tolist() == [2, 3]
        raises(tf.errors.InvalidArgumentError, session.run, tf.shape(checked), {x: -ones})


@scenario
def ops_that_are_not_known_are_in_nobodys_way(scene):
    unknown = tf1.py_func(lambda x: x + 1, [tf.constant(1.0)], tf.float32, name="unknown")
    after = tf.identity(unknown, name="after")
    with scene.session() as session:
        assert session.run(tf.constant(1.0) + 1) == 2
        for wanted in (unknown, after, after.op):
            error = raises(tf.errors.NotFoundError, session.run, wanted)
            assert error.op.name == "unknown" and "function of Python" in error.message and "nearest" not in error.message, error
        with tf.control_dependencies([after]):
            later = tf.no_op()
        assert raises(tf.errors.NotFoundError, session.run, later).op.name == "unknown"
        assert session.run(tf.constant(2.0) + 1) == 3


@scenario
def deadlines(scene):
    forever = waits_forever()
    with scene.session() as session:
        options = tf1.RunOptions(timeout_in_ms=200)
        raises(tf.errors.DeadlineExceededError, session.run, forever, options=options)
        assert session.run(tf.constant(1), options=tf1.RunOptions(timeout_in_ms=20000)) == 1
    with scene.session(operation_timeout_in_ms=200) as session:
        raises(tf.errors.DeadlineExceededError, session.run, forever)
        assert session.run(tf.constant(1)) == 1


@scenario
def close_cancels_a_step(scene):
    forever = waits_forever()
    session = scene.session()
    session.run(tf.constant(1))
    caught = []

    def wait():
        try:
            session.run(forever)
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    session.close()
    thread.join()
    assert isinstance(caught[0], tf.errors.CancelledError), caught
    raises(RuntimeError, session.run, tf.constant(2))


@scenario
def steps_run_at_once(scene):
    """A step waits for what another one of the same session provides."""
    queue = tf1.FIFOQueue(1, [tf.int32], [[]])
    x = tf1.placeholder(tf.int32, [])
    put, take = queue.enqueue(x), queue.dequeue()
    with scene.session() as session:
        taken = []
        threads = [threading.Thread(target=lambda: taken.append(session.run(take))) for _ in range(20)]
        for thread in threads:
            thread.start()
        for i in range(20):
            session.run(put, {x: i})
        for thread in threads:
            thread.join()
        assert sorted(taken) == list(range(20))


@scenario
def metadata(scene):
    """TensorFlow's timeline understands our step statistics."""
    x = tf1.placeholder(tf.float32, [50, 50], name="x")
    w = tf1.Variable(tf.ones([50, 50]), name="w")
    y = tf.matmul(x, w, name="product")
    z = tf.reduce_sum(y, name="total")
    with scene.session() as session:
        session.run(w.initializer)
        result = tf1.RunMetadata()
        options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True)
        assert session.run(z, {x: np.ones((50, 50))}, options=options, run_metadata=result) == 50 ** 3
        stats = {node.node_name: node for device in result.step_stats.dev_stats for node in device.node_stats}
        assert "product" in stats and "total" in stats, list(stats)
        device = result.step_stats.dev_stats[0].device
        assert device in [d.name for d in session.list_devices()], device
        node = stats["product"]
        assert node.all_start_micros > 1e15 and node.op_end_rel_micros >= node.op_start_rel_micros >= 0
        assert re.match(r"product = MatMul\(_arg_x_0, w/read\S*\) \w+$", node.timeline_label), node.timeline_label
        assert [(one.slot, one.tensor_description.dtype) for one in node.output] == [(0, tf.float32.as_datatype_enum)], node.output
        assert [dim.size for dim in node.output[0].tensor_description.shape.dim] == [50, 50], node.output
        allocation = node.output[0].tensor_description.allocation_description
        assert (allocation.requested_bytes, allocation.allocated_bytes, allocation.allocator_name) == (10000, 10000, "cpu"), allocation
        assert [(one.allocator_name, one.total_bytes, one.peak_bytes) for one in node.memory] == [("cpu", 10000, 10000)], node.memory
        trace = timeline.Timeline(result.step_stats)
        assert "product" in trace.generate_chrome_trace_format(show_memory=True)
        analysis = timeline.Timeline(result.step_stats).analyze_step_stats(show_dataflow=True, show_memory=True)
        assert analysis.chrome_trace and analysis.allocator_maximums["cpu"].num_bytes >= 10000, analysis.allocator_maximums
        wanted = tf1.profiler.ProfileOptionBuilder(tf1.profiler.ProfileOptionBuilder.time_and_memory()).with_empty_output().build()
        profile = tf1.profiler.profile(session.graph, run_meta=result, cmd="scope", options=wanted)
        assert profile.total_requested_bytes >= 10000 and profile.total_exec_micros > 0, profile
        graph_nodes = {node.op for graph in result.partition_graphs for node in graph.node}
        assert "MatMul" in graph_nodes, graph_nodes
        nothing = tf1.RunMetadata()
        session.run(z, {x: np.ones((50, 50))}, run_metadata=nothing)
        assert not nothing.step_stats.dev_stats and not nothing.partition_graphs


@scenario
def debugger_is_refused(scene):
    """A run that TensorFlow's debugger watches is not run as if nobody watched."""
    y = tf.constant(1, name="watched") + 1
    options = tf1.RunOptions()
    options.debug_options.debug_tensor_watch_opts.add(node_name="watched", debug_ops=["DebugIdentity"], debug_urls=["file:///tmp"])
    with scene.session() as session:
        assert "'watched'" in raises(tf.errors.UnimplementedError, session.run, y, options=options).message
        assert session.run(y) == 2


@scenario
def list_devices(scene):
    with scene.session() as session:
        devices = session.list_devices()
        assert [d.device_type for d in devices] == ["CPU"] and devices[0].name == "/job:local/replica:0/task:0/device:CPU:0", devices
        assert devices[0].incarnation
        for name in ["/cpu:0", "/device:CPU:0", "/job:local/task:0", "/job:local/replica:0/task:0/device:CPU:0"]:
            with tf1.device(name):
                assert session.run(tf.constant(1) + 1) == 2
    with tf1.Graph().as_default(), tf1.device("/job:nobody/task:3"):
        missing = tf.constant(1) + 1
        with scene.session() as session:
            raises(tf.errors.InvalidArgumentError, session.run, missing)


@scenario
def log_device_placement_and_other_options(scene):
    config = dict(log_device_placement=True, allow_soft_placement=True, intra_op_parallelism_threads=1, inter_op_parallelism_threads=2,
                  device_filters=["/job:ps", "/job:worker/task:0"], gpu_options=tf1.GPUOptions(allow_growth=True))
    with scene.session(**config) as session:
        with tf1.device("/gpu:0"):
            assert session.run(tf.constant(20) + 1) == 21


@scenario
def large_graph(scene):
    total = tf.constant(0)
    for i in range(3000):
        total = total + i
    with scene.session() as session:
        assert session.run(total) == 3000 * 2999 // 2


@scenario
def functions(scene):
    @tf.function
    def double(x):
        return x * 2 if tf.reduce_sum(x) > 0 else x - 1

    x = tf1.placeholder(tf.float32, [None])
    y = double(x)
    gradient = tf1.gradients(y, x)[0]
    with scene.session() as session:
        assert session.run(y, {x: [1, 2]}).tolist() == [2, 4]
        assert session.run([y, gradient], {x: [-1, 0]})[1].tolist() == [1, 1]


@scenario
def iterator(scene):
    start = tf1.placeholder(tf.int64, [])
    data = tf1.data.Dataset.range(start, start + 6).map(lambda i: (i, i * i)).shuffle(6, seed=3).batch(2)
    iterator = tf1.data.make_initializable_iterator(data)
    numbers, squares = iterator.get_next()
    with scene.session() as session:
        raises(tf.errors.FailedPreconditionError, session.run, numbers)
        for first in (0, 10):
            session.run(iterator.initializer, {start: first})
            seen = []
            while True:
                try:
                    n, s = session.run([numbers, squares])
                except tf.errors.OutOfRangeError:
                    break
                assert (n * n == s).all() and len(n) == 2
                seen += n.tolist()
            assert sorted(seen) == list(range(first, first + 6)), seen
