"""TensorFlow's parameter servers at work, for comparison: the same work as bench/ps.cc.

Usage: ps_tensorflow.py JOB TASK PS_HOSTS WORKER_HOSTS STEPS KIND

KIND: mlp, cnn (training steps, Adam, batch 100), tiny (a step that adds to one number), many (2,000 small variables read and updated in
a step), bytes (64 MiB read, then updated). A worker prints one line of JSON: {"KIND": milliseconds a step}, of bytes {"pull": …, "push": …}.
"""

import json
import sys
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.disable_resource_variables()


def weights(*shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1))


def biases(size):
    return tf.Variable(tf.constant(0.1, shape=[size]))


def convolution(x, size, channels, filters):
    y = tf.nn.relu(tf.nn.conv2d(x, weights(size, size, channels, filters), [1, 1, 1, 1], "SAME") + biases(filters))
    return tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


def logits_of(kind, x):
    if kind == "mlp":
        hidden = tf.nn.relu(tf.matmul(x, weights(784, 100)) + biases(100))
        return tf.matmul(hidden, weights(100, 10)) + biases(10)
    x = convolution(convolution(tf.reshape(x, [-1, 28, 28, 1]), 5, 1, 32), 5, 32, 64)
    hidden = tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 3136]), weights(3136, 1024)) + biases(1024))
    return tf.matmul(hidden, weights(1024, 10)) + biases(10)


def build(kind):
    """Names, ops and feeds of what is measured."""
    global_step = tf.train.get_or_create_global_step()
    if kind in ("mlp", "cnn"):
        x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits_of(kind, x)))
        train = tf.train.AdamOptimizer(1e-4).minimize(loss, global_step=global_step)
        return [(kind, train, {x: np.random.rand(100, 784).astype("f"), y: np.random.randint(0, 10, 100)})]
    if kind == "tiny":
        return [(kind, tf.assign_add(global_step, tf.cast(tf.size(tf.fill([3], 1.0)), tf.int64)).op, {})]
    if kind == "many":
        updates = []
        for i in range(2000):
            v = tf.get_variable(f"v{i}", [10], initializer=tf.zeros_initializer())
            updates.append(tf.assign_add(v, v * 0.5 + 1.0).op)
        return [(kind, tf.group(*updates), {})]
    v = tf.get_variable("v", [64 << 18], initializer=tf.zeros_initializer())
    pull = tf.reduce_sum(tf.identity(v)[:8]).op
    return [("pull", pull, {}), ("push", tf.assign_add(v, tf.fill([64 << 18], 1.0)).op, {})]


def main():
    job, task, ps_hosts, worker_hosts, steps, kind = sys.argv[1:]
    task, steps = int(task), int(steps)
    cluster = tf.train.ClusterSpec({"ps": ps_hosts.split(","), "worker": worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=job, task_index=task)
    if job == "ps":
        server.join()
        return
    with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{task}", cluster=cluster)):
        work = build(kind)
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{task}"])
    # Looks every second whether the chief has initialised the variables.
    manager = tf.train.SessionManager(recovery_wait_secs=1, ready_op=tf.report_uninitialized_variables())
    init = tf.global_variables_initializer()
    if task:
        session = manager.wait_for_session(server.target, config=config)
    else:
        session = manager.prepare_session(server.target, init_op=init, config=config)
    result = {}
    for name, op, feeds in work:
        for _ in range(3):
            session.run(op, feeds)
        start = time.monotonic()
        for _ in range(steps):
            session.run(op, feeds)
        result[name] = 1e3 * (time.monotonic() - start) / steps
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
