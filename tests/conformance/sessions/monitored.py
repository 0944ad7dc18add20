"""Supervisor, MonitoredTrainingSession and their hooks, and what they do when the server is killed."""

import glob
import logging
import threading
import time

import numpy as np
import tensorflow as tf

from harness.scenarios import scenario

tf1 = tf.compat.v1


def regression():
    """(loss, train op, global step) of a model that needs no feeds."""
    step = tf1.train.get_or_create_global_step()
    x = tf1.random_normal([16, 4], seed=1)
    w = tf1.get_variable("w", [4, 1], initializer=tf1.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - tf.matmul(x, tf.ones([4, 1]))))
    tf1.summary.scalar("loss", loss)
    return loss, tf1.train.GradientDescentOptimizer(0.1).minimize(loss, step), step


def events(folder):
    return [event for path in sorted(glob.glob(str(folder / "events*"))) for event in tf1.train.summary_iterator(path)]


def tags(folder):
    return {value.tag for event in events(folder) for value in event.summary.value}


class Lines(logging.Handler):
    """What TensorFlow's client logs."""

    def __init__(self):
        super().__init__()
        self.texts = []
        tf1.logging.set_verbosity(tf1.logging.INFO)
        logging.getLogger("tensorflow").addHandler(self)

    def emit(self, record):
        self.texts.append(record.getMessage())


@scenario
def supervisor(scene):
    loss, train, step = regression()
    managed = tf1.train.Supervisor(logdir=str(scene.folder), save_model_secs=1, save_summaries_secs=1, global_step=step)
    with managed.managed_session(scene.target) as session:
        first = session.run(loss)
        while not managed.should_stop() and session.run(step) < 60:
            session.run(train)
            time.sleep(0.03)
        assert session.run(loss) < first
        managed.saver.save(session, scene.path("model.ckpt"), global_step=step)
    assert "loss" in tags(scene.folder) and "global_step/sec" in tags(scene.folder), tags(scene.folder)
    # Another one goes on where the first one stopped.
    tf1.Session.reset(scene.target)
    with tf1.Graph().as_default():
        loss, train, step = regression()
        with tf1.train.Supervisor(logdir=str(scene.folder), global_step=step).managed_session(scene.target) as session:
            assert session.run(step) >= 60


@scenario
def supervisor_waits_for_its_chief(scene):
    loss, train, step = regression()
    other = tf1.Graph()
    stepped = []

    def work():
        with other.as_default():
            _, other_train, other_step = regression()
            manager = tf1.train.SessionManager(ready_op=tf1.report_uninitialized_variables(), recovery_wait_secs=0.1, graph=other)
            with manager.wait_for_session(scene.target) as session:
                session.run(other_train)
                stepped.append(session.run(other_step))

    target = scene.target
    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.5)
    assert not stepped
    with tf1.Session(target) as session:
        session.run(tf1.global_variables_initializer())
        thread.join()
        assert stepped == [1] and session.run(step) == 1


@scenario
def training_session_with_hooks(scene):
    lines = Lines()
    loss, train, step = regression()
    hooks = [
        tf1.train.StopAtStepHook(last_step=23),
        tf1.train.LoggingTensorHook({"the loss": loss}, every_n_iter=10),
        tf1.train.NanTensorHook(loss),
        tf1.train.StepCounterHook(every_n_steps=5, output_dir=str(scene.folder)),
        tf1.train.SummarySaverHook(save_steps=4, output_dir=str(scene.folder), summary_op=tf1.summary.merge_all()),
        tf1.train.CheckpointSaverHook(str(scene.folder), save_steps=10),
        tf1.train.ProfilerHook(save_steps=10, output_dir=str(scene.folder)),
    ]
    losses = []
    with tf1.train.MonitoredTrainingSession(scene.target, hooks=hooks, save_checkpoint_steps=None, save_checkpoint_secs=None) as session:
        while not session.should_stop():
            losses.append(session.run([loss, train])[0])
    assert len(losses) == 23 and losses[-1] < losses[0]
    assert any("the loss = " in line for line in lines.texts)
    assert {"loss", "global_step/sec"} <= tags(scene.folder)
    assert tf1.train.latest_checkpoint(scene.folder).endswith("-23")
    assert glob.glob(scene.path("timeline-*.json"))


@scenario
def training_session_goes_on_from_its_checkpoint(scene):
    for last in (10, 25):
        tf1.Session.reset(scene.target)
        with tf1.Graph().as_default():
            _, train, step = regression()
            hooks = [tf1.train.StopAtStepHook(last_step=last)]
            with tf1.train.MonitoredTrainingSession(scene.target, checkpoint_dir=str(scene.folder), hooks=hooks, save_checkpoint_steps=5, save_summaries_steps=5,
                                                    log_step_count_steps=5) as session:
                before = session.run(step)
                while not session.should_stop():
                    session.run(train)
            assert before == last - (10 if last == 10 else 15), before
    assert tf1.train.latest_checkpoint(scene.folder).endswith("-25")
    assert {"loss", "global_step/sec"} <= tags(scene.folder)


@scenario
def nan_stops_training(scene):
    step = tf1.train.get_or_create_global_step()
    v = tf1.get_variable("v", [], initializer=tf1.ones_initializer())
    loss = tf.math.log(v)
    train = tf.group(v.assign_sub(0.5), step.assign_add(1))
    try:
        with tf1.train.MonitoredTrainingSession(scene.target, hooks=[tf1.train.NanTensorHook(loss)]) as session:
            for _ in range(5):
                session.run([train, loss])
        raise AssertionError("NaN was not noticed")
    except tf1.train.NanLossDuringTrainingError:
        pass


@scenario
def scaffold_and_step_function(scene):
    x = tf1.placeholder(tf.float32, [])
    v = tf1.get_variable("v", [], initializer=tf1.zeros_initializer())
    more = v.assign_add(x)
    local = tf1.Variable(5.0, collections=[tf1.GraphKeys.LOCAL_VARIABLES])
    tf1.train.get_or_create_global_step()
    scaffold = tf1.train.Scaffold(init_feed_dict={x: 1.0}, init_op=tf.group(tf1.global_variables_initializer()), ready_op=tf1.report_uninitialized_variables())
    with tf1.train.MonitoredSession(tf1.train.ChiefSessionCreator(scaffold, scene.target)) as session:
        def step_fn(step_context):
            step_context.session.run(more, {x: 2.0})
            return step_context.run_with_hooks(more, {x: 3.0})

        assert session.run_step_fn(step_fn) == 5 and session.run(local) == 5


@scenario
def sync_replicas(scene):
    """One worker: gradients go through accumulators, and the chief's queue runner applies them."""
    step = tf1.train.get_or_create_global_step()
    x = tf.constant(np.random.default_rng(1).standard_normal((16, 4)), tf.float32)
    table = tf1.get_variable("table", [4, 4], initializer=tf1.ones_initializer())
    w = tf1.get_variable("w", [4, 1], initializer=tf1.zeros_initializer())
    h = tf.matmul(x, tf.gather(table, [0, 1, 2, 3]))
    loss = tf.reduce_mean(tf.square(tf.matmul(h, w) - tf.matmul(x, tf.ones([4, 1]))))
    optimizer = tf1.train.SyncReplicasOptimizer(tf1.train.AdamOptimizer(0.01), replicas_to_aggregate=1, total_num_replicas=1)
    train = optimizer.minimize(loss, step)
    hooks = [optimizer.make_session_run_hook(is_chief=True), tf1.train.StopAtStepHook(last_step=30)]
    losses = []
    # The chief's queue runner waits for gradients that do not come any more until the session closes.
    with tf1.train.MonitoredTrainingSession(scene.target, is_chief=True, hooks=hooks, stop_grace_period_secs=1) as session:
        while not session.should_stop():
            losses.append(session.run([loss, train])[0])
    assert losses[-1] < 0.7 * losses[0], losses


@scenario(deadline=120)
def recovers_when_the_server_is_killed(scene):
    """The session is made anew, and training goes on from the last checkpoint."""
    _, train, step = regression()
    seen, killed = [], threading.Event()

    def kill():
        scene.server.kill()
        time.sleep(0.5)
        scene.server.restart()

    hooks = [tf1.train.StopAtStepHook(last_step=60)]
    config = tf1.ConfigProto(operation_timeout_in_ms=20000)
    with tf1.train.MonitoredTrainingSession(scene.target, checkpoint_dir=str(scene.folder), hooks=hooks, save_checkpoint_steps=10, config=config) as session:
        while not session.should_stop():
            seen.append(int(session.run([train, step])[1]))
            if len(seen) == 35 and not killed.is_set():
                killed.set()
                kill()
    # The client may read the step before or after the update.
    assert max(seen) >= 59, seen
    drops = [(a, b) for a, b in zip(seen, seen[1:]) if b < a]
    assert len(drops) == 1 and drops[0][0] >= 34 and 29 <= drops[0][1] <= 32, drops


@scenario(deadline=120)
def recovers_in_the_middle_of_a_step(scene):
    """The server dies while a step waits."""
    _, train, step = regression()
    wait = tf1.FIFOQueue(1, [tf.int32], [[]]).dequeue()
    errors = []
    with tf1.train.MonitoredTrainingSession(scene.target, checkpoint_dir=str(scene.folder), save_checkpoint_steps=1) as session:
        for _ in range(3):
            session.run(train)

        def kill():
            time.sleep(0.5)
            scene.server.kill()
            scene.server.restart()

        thread = threading.Thread(target=kill)
        thread.start()

        def step_fn(step_context):
            try:
                return step_context.session.run(wait)
            except (tf.errors.AbortedError, tf.errors.UnavailableError) as error:
                errors.append(error)
                return None

        session.run_step_fn(step_fn)
        thread.join()
        assert errors
        session.run(train)
        assert session.run(step) == 4


@scenario(deadline=120)
def recovers_when_the_server_is_stopped_in_a_step(scene):
    """The step that SIGTERM ends is repeated in a new session, as if the server had been killed."""
    _, train, step = regression()
    queue = tf1.FIFOQueue(1, [tf.int32], [[]], shared_name="waited_for")
    wait, come = queue.dequeue(), queue.enqueue(7)
    ends = []
    with tf1.train.MonitoredTrainingSession(scene.target, checkpoint_dir=str(scene.folder), save_checkpoint_steps=1) as session:
        for _ in range(3):
            session.run(train)

        def stop():
            time.sleep(0.5)
            ends.append(scene.server.stop())
            scene.server.restart()
            with tf1.Session(scene.target, graph=wait.graph) as other:
                other.run(come)

        thread = threading.Thread(target=stop)
        thread.start()
        assert session.run(wait) == 7
        thread.join()
        assert ends == [None], ends
        session.run(train)
        assert session.run(step) == 4


@scenario
def a_restarted_server_knows_no_old_session(scene):
    v = tf1.Variable(1.0)
    session = scene.session()
    session.run(v.initializer)
    scene.server.kill()
    scene.server.restart()
    for _ in range(2):
        try:
            session.run(v)
            raise AssertionError("the session survived its server")
        except (tf.errors.AbortedError, tf.errors.UnavailableError) as error:
            last = error
    assert isinstance(last, tf.errors.AbortedError), last
