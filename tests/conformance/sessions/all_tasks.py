"""What concerns all tasks of a cluster: traces, lists of devices, resets, restarts."""

import signal
import time

import tensorflow as tf
from tensorflow.python.client import timeline

from harness.scenarios import scenario

tf1 = tf.compat.v1


@scenario
def traces_cover_all_tasks(scene):
    cluster = scene.cluster(ps=2, worker=2)
    with tf1.device(tf1.train.replica_device_setter(cluster=cluster.spec, worker_device="/job:worker/task:1")):
        v = [tf1.get_variable(f"v{i}", shape, use_resource=True) for i, shape in enumerate([(4, 3), (3,)])]
        loss = tf.reduce_mean(tf.random.uniform((5, 4)) @ v[0] + v[1])
        train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    with tf1.Session(cluster.target("worker", 0)) as session:
        session.run(tf1.global_variables_initializer())
        for fetches in (train, loss):
            metadata = tf1.RunMetadata()
            session.run(fetches, options=options, run_metadata=metadata)
            ran = {device.device: {node.node_name for node in device.node_stats} for device in metadata.step_stats.dev_stats}
            assert {f"/job:ps/replica:0/task:{i}/device:CPU:0" for i in range(2)} < set(ran), ran
            worker = "/job:worker/replica:0/task:1/device:CPU:0"
            assert any("MatMul" in name or "matmul" in name for name in ran[worker]), ran
            assert all(node.all_start_micros > 0 for device in metadata.step_stats.dev_stats for node in device.node_stats)
            chart = timeline.Timeline(metadata.step_stats)
            assert worker in chart.generate_chrome_trace_format(show_memory=True)
        metadata = tf1.RunMetadata()
        session.run(loss, run_metadata=metadata)  # nobody asked
        assert not metadata.step_stats.dev_stats and not metadata.partition_graphs
    cluster.stop()


@scenario
def reset_names_a_task_that_is_not_there(scene):
    cluster = scene.cluster(ps=2, worker=1)
    cluster.kill("ps", 1)
    start = time.monotonic()
    try:
        tf1.Session.reset(cluster.target("worker", 0), ["localhost"])
        raise AssertionError("nothing went wrong")
    except tf.errors.OpError as caught:
        error = caught
    assert "/job:ps/replica:0/task:1" in error.message and "/job:ps/replica:0/task:0" not in error.message, error.message
    assert time.monotonic() - start < 30
    cluster.stop()


@scenario
def lists_of_devices_wait_for_nobody_long(scene):
    cluster = scene.cluster(ps=2, worker=1)
    cluster.kill("ps", 0)
    cluster.signal("ps", 1, signal.SIGSTOP)
    start = time.monotonic()
    with tf1.Session(cluster.target("worker", 0)) as session:
        devices = {device.name: device.incarnation for device in session.list_devices()}
    assert time.monotonic() - start < 20
    assert len(devices) == 3 and sum(incarnation != 0 for incarnation in devices.values()) == 1, devices
    cluster.kill("ps", 1)
    cluster.stop()


@scenario
def a_restarted_task_is_another_incarnation(scene):
    cluster = scene.cluster(ps=1, worker=1)

    def incarnations():
        with tf1.Session(cluster.target("worker", 0)) as session:
            return {device.name: device.incarnation for device in session.list_devices()}

    before = incarnations()
    cluster.kill("ps", 0)
    cluster.start("ps", 0)
    after = incarnations()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"/job:ps/replica:0/task:0/device:CPU:0"}, (before, after)
    cluster.stop()


@scenario
def a_monitored_session_survives_a_restarted_ps(scene):
    """The step that meets the new ps is repeated in a new session, for which the chief restores the model."""
    cluster = scene.cluster(ps=1, worker=1)
    with tf1.device(tf1.train.replica_device_setter(cluster=cluster.spec)):
        step = tf1.train.get_or_create_global_step()
        v = tf1.get_variable("v", [], initializer=tf1.zeros_initializer(), use_resource=True)
        more = tf1.group(v.assign_add(1.0), step.assign_add(1))
    seen = []
    saver = tf1.train.CheckpointSaverHook(scene.path("model"), save_steps=1)
    with tf1.train.MonitoredTrainingSession(cluster.target("worker", 0), checkpoint_dir=scene.path("model"), save_checkpoint_secs=None,
                                            chief_only_hooks=[saver], hooks=[tf1.train.StopAtStepHook(last_step=10)]) as session:
        while not session.should_stop():
            session.run(more)
            seen.append(session.run_step_fn(lambda step_context: step_context.session.run([v, step])) if not session.should_stop() else None)
            if len(seen) == 5:
                cluster.kill("ps", 0)
                cluster.start("ps", 0)
    assert all(one is None or one[0] == one[1] for one in seen), seen
    assert 10 <= len(seen) <= 12, seen
    cluster.stop()
