"""TensorFlow's client at work on a server.

Usage: client_tensorflow.py FOLDER TARGET WHAT      (FOLDER holds local_tensorflow.py; TARGET: grpc://host:port, or local)

WHAT: overhead (a run of a tiny graph, us), feed (64 MiB fed, and fetched back, ms) or train (a step of the MNIST CNN, ms).
Prints {"WHAT": figure}: the median of many runs.
"""

import json
import sys

folder, target, what = sys.argv[1:]
sys.path.insert(0, folder)
sys.argv = ["local_tensorflow.py", "2"]

import local_tensorflow as peer  # noqa: E402
import numpy as np  # noqa: E402

tf = peer.tf
CONFIG = tf.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2)


def session():
    return tf.Session("" if target == "local" else target, config=CONFIG)


def overhead():
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    with session() as s:
        return 1e3 * peer.med(lambda: s.run(y, {x: 1.0}), 2000, 100)


def feed():
    x = tf.placeholder(tf.float32, [None])
    y = x + 1.0
    values = np.ones(16 << 20, np.float32)
    with session() as s:
        return peer.med(lambda: s.run(y, {x: values}), 10, 2)


def train():
    _, batch, shape, steps = next(case for case in peer.CASES if case[0] == "mnist_cnn")
    x, y = tf.placeholder(tf.float32, [None, *shape]), tf.placeholder(tf.float32, [None, 10])
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=peer.model("mnist_cnn", x), labels=y))
    step = tf.train.AdamOptimizer(1e-3).minimize(loss)
    images, labels = np.random.rand(batch, *shape).astype("f"), np.eye(10, dtype="f")[np.random.randint(0, 10, batch)]
    with session() as s:
        s.run(tf.global_variables_initializer())
        return peer.med(lambda: s.run([step, loss], {x: images, y: labels}), 2 * steps)


with tf.Graph().as_default():
    tf.disable_resource_variables()
    figure = {"overhead": overhead, "feed": feed, "train": train}[what]()
print(json.dumps({what: figure}))
