"""Where ops run: the same programs on a cluster of ours and on one of TensorFlow's servers."""

import hashlib
import re

import tensorflow as tf

from harness.scenarios import scenario
from harness.tensorflow_cluster import TensorFlowCluster

tf1 = tf.compat.v1

# Not compared, since nobody can tell where they are: constants, which are copied to wherever they are used; what is fed; what only
# joins others (one that joins nodes of one other task is moved there, so that one signal comes back). Nor is what either side puts into
# a graph to move values about.
UNOBSERVABLE = {"Const", "NoOp", "Placeholder"}


def plain(**options):
    """A graph that runs as it was built has the same nodes on both sides."""
    config = tf1.ConfigProto(operation_timeout_in_ms=20000, isolate_session_state=True, **options)
    config.graph_options.optimizer_options.opt_level = tf1.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


class InTurn(list):
    """Fetches of several steps."""


def placement(target, graph, fetches, **options):
    """Which device each op runs on; under "" the class of the error when there is one."""
    devices = {}
    with tf1.Session(target, graph=graph, config=plain(**options)) as session:
        for step in fetches if isinstance(fetches, InTurn) else [fetches]:
            metadata = tf1.RunMetadata()
            try:
                session.run(step, options=tf1.RunOptions(output_partition_graphs=True), run_metadata=metadata)
            except tf.errors.OpError as error:
                return {"": type(error).__name__}
            devices.update((node.name, node.device) for part in metadata.partition_graphs for node in part.node)
    return devices


# Programs: each builds into the default graph and gives what is to be run. `spec` is the cluster's.
programs = []


def program(function=None, **options):
    def decorate(function):
        programs.append((function, options))
        return function

    return decorate(function) if function else decorate


def value(shape=()):
    """Something that is not known before the step."""
    return tf1.placeholder_with_default(tf.ones(shape), shape)


def variables(shapes=((2, 3), (3,), (), (4, 4), (1,)), resource=True):
    return [tf1.get_variable(f"v{i}", shape, initializer=tf1.ones_initializer(), use_resource=resource) for i, shape in enumerate(shapes)]


def total(values):
    return tf.add_n([tf.reduce_sum(one) for one in values])


def initialised(fetches):
    return InTurn([tf1.variables_initializer(tf1.global_variables() + tf1.local_variables()), fetches])


def setter(spec, **options):
    return tf1.device(tf1.train.replica_device_setter(cluster=spec, **options))


@program
def round_robin(spec):
    with setter(spec):
        return initialised(total(variables()))


@program
def round_robin_of_references(spec):
    with setter(spec, worker_device="/job:worker/task:1"):
        return initialised(total(variables(resource=False)))


@program
def a_variable_pinned_to_another_job_takes_no_turn(spec):
    with setter(spec):
        a = tf1.get_variable("a", [], use_resource=True)
        with tf1.device("/job:worker/task:1"):
            b = tf1.get_variable("b", [], use_resource=True)
        c = tf1.get_variable("c", [], use_resource=True)
        with tf1.device("/job:ps/task:1"):
            d = tf1.get_variable("d", [], use_resource=True)
        e = tf1.get_variable("e", [], use_resource=True)
        return initialised(total([a, b, c, d, e]))


@program
def local_variables_are_no_exception(spec):
    with setter(spec):
        v = tf1.get_variable("v", [], use_resource=True)
        w = tf1.get_variable("w", [], use_resource=True, collections=[tf1.GraphKeys.LOCAL_VARIABLES])
        return initialised(v + w)


@program
def without_merging(spec):
    with setter(spec, merge_devices=False):
        a = tf1.get_variable("a", [], use_resource=True)
        with tf1.device("/job:worker/task:1"):
            b = tf1.get_variable("b", [], use_resource=True)
        c = tf1.get_variable("c", [], use_resource=True)
        return initialised(total([a, b, c]))


@program
def another_job_for_variables(spec):
    with setter(spec, ps_device="/job:worker", worker_device="/job:ps/task:1"):
        return initialised(total(variables()))


@program
def greedy_by_bytes(spec):
    loads = [0] * len(spec["ps"])

    def least(op):
        task = loads.index(min(loads))
        shape = op.get_attr("shape")
        loads[task] += tf.TensorShape(shape).num_elements() * tf.as_dtype(op.get_attr("dtype")).size
        return task

    with setter(spec, ps_strategy=least):
        return initialised(total(variables()))


@program
def random_by_name(spec):
    def chosen(op):
        return int(hashlib.md5(f"{op.name}_7".encode()).hexdigest(), 16) % len(spec["ps"])

    with setter(spec, ps_strategy=chosen):
        return initialised(total(variables(resource=False)))


def training(spec, optimizer, **options):
    with setter(spec, worker_device="/job:worker/task:1"):
        v = variables(((4, 3), (3,), (3, 2), (2,)), **options)
        loss = tf.reduce_mean(tf.square(tf.nn.relu(value((5, 4)) @ v[0] + v[1]) @ v[2] + v[3]))
        return initialised([optimizer.minimize(loss, tf1.train.get_or_create_global_step()), loss])


@program
def training_with_adam(spec):
    return training(spec, tf1.train.AdamOptimizer(0.1))


@program
def training_of_references(spec):
    return training(spec, tf1.train.MomentumOptimizer(0.1, 0.9), resource=False)


@program
def training_with_gradients_beside_their_ops(spec):
    with setter(spec):
        w = tf1.get_variable("w", [4, 2], use_resource=True)
        towers = []
        for task in range(2):
            with tf1.device(f"/job:worker/task:{task}"):
                towers.append(tf.reduce_sum(value((3, 4)) @ w))
        train = tf1.train.GradientDescentOptimizer(0.1).minimize(tf.add_n(towers), colocate_gradients_with_ops=True)
        return initialised(train)


@program
def scopes_fill_what_is_open(spec):
    a = value()
    with tf1.device("/job:ps"):
        b = a + 1
        with tf1.device("/task:1"):
            c = b + 1
            with tf1.device("/cpu:0"):
                d = c + 1
        with tf1.device("/job:worker/task:1"):
            e = d + 1
            with tf1.device(None):
                f = e + 1
                with tf1.device("/job:ps/task:1"):
                    g = f + 1
    return g


@program
def scopes_of_functions(spec):
    with tf1.device(lambda op: "/job:ps/task:1" if op.type == "AddV2" else "/job:worker/task:1"):
        a = value()
        b = (a + 1) * 2
        with tf1.device("/job:ps/task:0"):
            c = (b + 1) * 2
        with tf1.device(lambda op: "/task:0" if op.type == "Mul" else op.device):
            d = (c + 1) * 2
        with tf1.device(None):
            return (d + 1) * 2


@program
def old_names_and_wildcards(spec):
    a = value()
    fetches = []
    for name in ("/cpu:0", "/CPU:0", "/device:CPU:*", "/job:ps/task:1/cpu:0", "/task:0/job:worker", "/job:ps/replica:0/task:0/device:CPU:0", "/job:ps/cpu:*", "/"):
        with tf1.device(name):
            fetches.append(tf.exp(a))
    return fetches


@program
def parts_of_names(spec):
    a = value()
    fetches = []
    for name in ("/job:worker", "/job:ps", "/task:0", "/task:1", "/replica:0", "/job:worker/task:0", "/replica:0/task:1"):
        with tf1.device(name):
            fetches.append(tf.exp(a))
    return fetches


@program
def beside_another_op(spec):
    with tf1.device("/job:ps/task:1"):
        v = tf1.get_variable("v", [3], use_resource=True)
        a = value() + 1
    with tf1.device("/job:worker/task:0"):
        with tf1.colocate_with(v.handle):
            b = a * 2
        with tf1.colocate_with(b, ignore_existing=True):
            c = b * 2
    with tf1.Graph.colocate_with(tf1.get_default_graph(), c.op):
        d = tf.exp(value())
    return initialised([c, d, v.read_value()])


@program
def beside_an_op_that_is_not_in_the_step(spec):
    with tf1.device("/job:ps/task:1"):
        elsewhere = tf.exp(value())
    a = tf.exp(value())
    a.op._set_attr("_class", tf1.AttrValue(list=tf1.AttrValue.ListValue(s=[b"loc:@" + elsewhere.op.name.encode()])))
    return a


@program
def values_from_nowhere(spec):
    with tf1.device("/job:ps/task:1"):
        a = tf.exp(value((2, 3)))
    with tf1.device("/job:worker"):
        b = tf1.placeholder_with_default(3.0, [])
    with tf1.device("/job:worker/task:0"):
        c = tf.exp(b)
    return [tf.raw_ops.Shape(input=a), tf.raw_ops.Size(input=a), tf.raw_ops.Rank(input=a), tf.raw_ops.ShapeN(input=[a, a]), a + 1, c]


@program
def sizes_with_a_device_of_their_own(spec):
    with tf1.device("/job:ps/task:1"):
        a = tf.exp(value((2, 3)))
    with tf1.device("/job:worker/task:0"):
        b = tf.raw_ops.Shape(input=a)
    with tf1.device("/job:ps"):
        c = tf.raw_ops.Shape(input=a)
    return [b + 1, c + 1]


@program
def users_go_to_the_variable(spec):
    with tf1.device("/job:ps/task:1"):
        v = tf1.get_variable("v", [], use_resource=True)
        w = tf1.get_variable("w", [], use_resource=False)
    with tf1.device("/job:worker/task:1"):
        new = value() + 1
    assigned = [v.assign_add(new, read_value=False), w.assign_add(new)]
    return initialised(assigned)


@program
def reads_and_what_hands_them_on(spec):
    with tf1.device("/job:ps/task:1"):
        v = tf1.get_variable("v", [], use_resource=True)
        w = tf1.get_variable("w", [], use_resource=False)
        here = v.read_value()
    with tf1.device("/job:worker/task:1"):
        there = v.read_value()
    with tf1.device("/job:ps"):
        somewhere = v.read_value()
    read = tf.raw_ops.ReadVariableOp(resource=v.handle, dtype=tf.float32)
    more = [tf.identity(tf.identity(read)), tf.exp(tf.identity(read)), tf.stop_gradient(read), tf.identity(here), tf.identity(w)]
    return initialised([here, there, somewhere, *more, tf.identity(w.assign_add(1))])


@program
def a_queue_and_who_uses_it(spec):
    with tf1.device("/job:ps/task:1"):
        queue = tf1.FIFOQueue(3, tf.float32, [])
        put = queue.enqueue(value())
    with tf1.control_dependencies([put]):
        return queue.dequeue() + 1


@program
def a_loop_of_one_task(spec):
    with tf1.device("/job:worker/task:1"):
        a = value()
        return tf1.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), [0, a])[1]


@program
def a_choice_of_one_task(spec):
    with tf1.device("/job:ps/task:1"):
        a = value()
        return tf1.cond(a > 0, lambda: a + 1, lambda: a - 1)


@program
def devices_that_are_not_there(spec):
    with tf1.device("/job:ps/task:1/gpu:0"):
        return tf.exp(value())


@program
def jobs_that_are_not_there(spec):
    with tf1.device("/job:moon"):
        return tf.exp(value())


@program(allow_soft_placement=True)
def soft_placement_keeps_job_and_task(spec):
    fetches = []
    a = value()
    for name in ("/job:ps/task:1/gpu:0", "/gpu:3", "/job:worker/device:GPU:1", "/job:ps/cpu:7", "/job:worker/task:1/device:TPU:0"):
        with tf1.device(name):
            fetches.append(tf.exp(a))
    return fetches


@program(allow_soft_placement=True)
def soft_placement_does_not_invent_tasks(spec):
    with tf1.device("/job:ps/task:7/gpu:0"):
        return tf.exp(value())


@program(allow_soft_placement=True)
def soft_placement_of_training(spec):
    with setter(spec, worker_device="/job:worker/task:1/gpu:0", ps_device="/job:ps/cpu:0"):
        v = variables(((4, 3), (3,)))
        loss = tf.reduce_mean(value((5, 4)) @ v[0] + v[1])
        return initialised(tf1.train.GradientDescentOptimizer(0.1).minimize(loss))


@program(device_filters=["/job:ps", "/job:worker/task:0"])
def filters_leave_the_tasks_that_match(spec):
    with tf1.device("/job:ps"):
        a = tf.exp(value())
    return a + 1


@program(device_filters=["/job:ps/task:1"])
def filters_leave_the_own_task(spec):
    with tf1.device("/job:ps"):
        a = tf.exp(value())
    return a + 1


@program(device_filters=["/job:ps"])
def filtered_devices_are_not_there(spec):
    with tf1.device("/job:worker/task:1"):
        return tf.exp(value())


def differences(ours, theirs, function, options):
    with tf1.Graph().as_default() as graph:
        try:
            fetches = function(ours.spec)
        except Exception as error:
            raise RuntimeError(f"{function.__name__} could not be built") from error
    mine, reference = (placement(cluster.target("worker", 0), graph, fetches, **options) for cluster in (ours, theirs))
    names = [""] + [op.name for op in graph.get_operations() if op.type not in UNOBSERVABLE]
    names = [name for name in names if mine.get(name) != reference.get(name)]
    return [f"{function.__name__}: {name or 'error'}: {mine.get(name)} instead of {reference.get(name)}" for name in names]


def containers_after_reset(cluster):
    """What is left of variables of two containers, one on each ps, when one container was reset by way of a worker."""
    with tf1.Graph().as_default() as graph:
        held = []
        for task in range(2):
            for container in ("kept", "cleared"):
                with tf1.device(f"/job:ps/task:{task}"), graph.container(container):
                    held.append(tf1.Variable(1.0, name=f"{container}{task}", use_resource=True))
        there = [tf1.is_variable_initialized(one) for one in held]
        init = tf1.global_variables_initializer()
    said = []
    first, other = (tf1.Session(cluster.target("worker", task), graph=graph) for task in range(2))
    first.run(init)
    said.append(other.run(there))
    tf1.Session.reset(cluster.target("worker", 0), ["cleared"])
    for session in (first, other):  # those of the master that was asked are closed, others go on
        try:
            said.append(session.run(there))
        except tf.errors.OpError as error:
            said.append(type(error).__name__)
    with tf1.Session(cluster.target("worker", 0), graph=graph) as session:
        said.append(session.run(there))
    return said


def device_list(cluster, **options):
    with tf1.Session(cluster.target("worker", 0), config=tf1.ConfigProto(**options)) as session:
        devices = session.list_devices()
    incarnations = [device.incarnation for device in devices]
    return sorted((device.name, device.device_type) for device in devices), 0 in incarnations, len(set(incarnations))


@scenario(deadline=120)
def ops_are_where_tensorflow_puts_them(scene):
    theirs = TensorFlowCluster(ps=2, worker=2)
    ours = scene.cluster(ps=2, worker=2)
    found = []
    for function, options in programs:
        found += differences(ours, theirs, function, options)
    for filters in ([], ["/job:ps"], ["/job:ps/task:1", "/job:worker/task:1"], ["/job:moon"], ["/device:GPU:0"]):
        mine, reference = (device_list(cluster, device_filters=filters) for cluster in (ours, theirs))
        if mine != reference:
            found.append(f"devices for {filters}: {mine} instead of {reference}")
    mine, reference = containers_after_reset(ours), containers_after_reset(theirs)
    if mine != reference:
        found.append(f"reset: {mine} instead of {reference}")
    theirs.stop()
    ours.stop()
    assert not found, "\n".join(found)


@scenario
def partial_runs_span_tasks(scene):
    cluster = scene.cluster(ps=2, worker=2)
    a, b, c = (tf1.placeholder(tf.float32, []) for _ in range(3))
    with tf1.device("/job:ps/task:1"):
        first = a + b
    with tf1.device("/job:worker/task:1"):
        second = first * c
    with tf1.device("/job:ps/task:0"):
        third = tf.reshape(second, tf.cast(tf.reshape(c, [1]), tf.int32))
    with tf1.Session(cluster.target("worker", 0)) as session:
        for _ in range(20):
            run = session.partial_run_setup([first, second], [a, b, c])
            assert session.partial_run(run, first, {a: 1, b: 2}) == 3
            assert session.partial_run(run, second, {c: 17}) == 51
        run = session.partial_run_setup([first, third], [a, b, c])
        assert session.partial_run(run, first, {a: 1, b: 2}) == 3
        error = error_of(lambda: session.partial_run(run, third, {c: 2}))
        assert isinstance(error, tf.errors.InvalidArgumentError), error
        session.partial_run_setup([first, second], [a, b, c])  # given up with the session
    cluster.stop()


def error_of(function):
    try:
        function()
    except tf.errors.OpError as error:
        return error
    raise AssertionError("nothing went wrong")


@scenario
def filters_that_are_no_names_are_refused(scene):
    cluster = scene.cluster(ps=1, worker=1)
    config = tf1.ConfigProto(device_filters=["/job:ps", "/jop:worker"])
    with tf1.Session(cluster.target("worker", 0), config=config) as session:
        error = error_of(lambda: session.run(tf.constant(1) + 1))
    assert isinstance(error, tf.errors.InvalidArgumentError) and "/jop:worker" in error.message, error
    cluster.stop()


@scenario
def errors_list_what_the_filters_leave(scene):
    cluster = scene.cluster(ps=2, worker=1)
    x = value()
    with tf1.device("/job:ps/task:0"):
        lost = tf.exp(x)
    with tf1.Session(cluster.target("worker", 0), config=tf1.ConfigProto(device_filters=["/job:ps/task:1"])) as session:
        error = error_of(lambda: session.run(lost))
    assert isinstance(error, tf.errors.InvalidArgumentError), error
    assert error.op is lost.op, error.op
    there = ("/job:ps/replica:0/task:1/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0", "'/job:ps/task:0'")
    assert all(name in error.message for name in there), error.message
    assert "/job:ps/replica:0/task:0" not in error.message, error.message
    cluster.stop()


@scenario
def placements_are_logged_as_tensorflow_logs_them(scene):
    def logged(make):
        with open(scene.path("log"), "w+") as log:
            cluster = make(log)
            with tf1.Session(cluster.target("worker", 0), graph=graph, config=plain(log_device_placement=True)) as session:
                for fetches in steps * 2:
                    session.run(fetches)
            cluster.stop()
            log.seek(0)
            found = re.findall(r"(\S+: \(\w+\): /job:\S+)$", log.read(), re.M)
        kinds = {op.name: op.type for op in graph.get_operations()}
        return sorted(line for line in set(found) if kinds.get(line.split(":")[0], "Const") not in UNOBSERVABLE), len(found)

    with tf1.Graph().as_default() as graph:
        with setter({"ps": ["a:1", "b:2"], "worker": ["c:3"]}):
            steps = initialised(total(variables()))
    theirs, _ = logged(lambda log: TensorFlowCluster(log=log, ps=2, worker=1))
    ours, count = logged(lambda log: scene.cluster(log=log, ps=2, worker=1))
    # TensorFlow places the whole graph; we place what runs.
    assert set(ours) <= set(theirs) and len(ours) > 20, set(ours) - set(theirs)
    assert count < 2 * len(ours), "placements are logged again and again"
    with open(scene.path("log")) as log:
        for line in log:
            assert re.match(r"\d\d:\d\d:\d\d\.\d+ [IWE] (ps|worker):\d ", line), line


@scenario
def filtered_tasks_are_not_asked(scene):
    cluster = scene.cluster(ps=2, worker=1)
    cluster.kill("ps", 1)
    with tf1.device("/job:ps"):
        there = tf.exp(value())
    with tf1.Session(cluster.target("worker", 0), config=tf1.ConfigProto(device_filters=["/job:ps/task:0"])) as session:
        assert session.run(there) > 2
        devices = {device.name: device.incarnation for device in session.list_devices()}
    # One that was asked and does not answer would be listed without an incarnation.
    assert len(devices) == 2 and all(devices.values()), devices
    cluster.stop()
