"""tf.train.Server, as far as one script sees it."""

import multiprocessing

import tensorflow as tf


def error_of(function, kind):
    try:
        function()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")


def devices(server):
    with tf.Session(server.target) as session:
        return {device.name for device in session.list_devices()}


spec = tf.train.ClusterSpec({"trainer_2": {3: "127.0.0.1:0"}})
definition = tf.train.ServerDef(cluster=spec.as_cluster_def(), job_name="trainer_2", task_index=3, protocol="grpc")
for made_of in (spec, spec.as_dict(), spec.as_cluster_def(), definition):
    server = tf.train.Server(made_of)  # job and task are the only ones
    assert server.server_def.job_name == "trainer_2" and server.server_def.task_index == 3
    assert server.target.startswith("grpc://") and devices(server) == {"/job:trainer_2/replica:0/task:3/device:CPU:0"}, devices(server)
    target = server.target
    server.start()
    assert server.target == target, "start does nothing when the server runs"

late = tf.train.Server({"worker": ["localhost:0"]}, start=False)
late.start()
assert devices(late) == {"/job:worker/replica:0/task:0/device:CPU:0"}
local = tf.train.Server.create_local_server()
assert devices(local) == {"/job:local/replica:0/task:0/device:CPU:0"}

two = {"ps": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]}
error_of(lambda: tf.train.Server(two), ValueError)
error_of(lambda: tf.train.Server(two, job_name="chief", task_index=0), (ValueError, tf.errors.OpError))
error_of(lambda: tf.train.Server(7), TypeError)
assert "speak grpc" in error_of(lambda: tf.train.Server(spec, protocol="grpc+verbs"), tf.errors.NotFoundError)
taken = target.replace("grpc://", "")
assert "could not start" in error_of(lambda: tf.train.Server({"worker": [taken]}), tf.errors.UnknownError)
assert "could not start" in error_of(lambda: tf.train.Server({"worker": ["0.0.0.0:0", "127.0.0.1:1"]}, task_index=0), tf.errors.UnknownError)


def value_in_second_session(server):
    """What a second session sees of a variable that a first one has set."""
    with tf.Graph().as_default():
        v = tf.Variable(5.0, name="shared")
        with tf.Session(server.target) as session:
            session.run(v.initializer)
        with tf.Session(server.target) as session:
            return session.run(v)


assert value_in_second_session(local) == 5
# The server's config is merged over that of each session.
alone = tf.train.Server.create_local_server(config=tf.ConfigProto(isolate_session_state=True))
error_of(lambda: value_in_second_session(alone), tf.errors.FailedPreconditionError)

# Devices as scripts write them.
for device in ("/job:local", "/job:local/task:0", "/job:local/replica:0/task:0", "/replica:0", "/device:CPU:*", "/cpu:*", "/cpu:0", "/gpu:0", "/job:local/gpu:1",
               "/job:local/device:CPU:*", "/device:GPU:*", "/CPU:0"):
    with tf.Graph().as_default(), tf.device(device):
        x = tf.Variable(1.0)
        y = x.assign_add(1)
        with tf.Session(local.target) as session:
            session.run(x.initializer)
            assert session.run(y) == 2, device


def serve(connection):
    connection.send(tf.train.Server.create_local_server().target)
    connection.recv()


# A process that the script has forked has a server of its own, which ends with it.
mine, other = multiprocessing.Pipe()
child = multiprocessing.get_context("fork").Process(target=serve, args=[other])
child.start()
target = mine.recv()
assert target != local.target and value_in_second_session(local) == 5
mine.send("end")
child.join()
assert child.exitcode == 0
with tf.Graph().as_default(), tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=300)) as session:
    error_of(lambda: session.run(tf.constant(1)), (tf.errors.DeadlineExceededError, tf.errors.UnavailableError))
