"""Training: the losses of 100 steps on our server against those of TensorFlow's local session, from the same seeds."""

import math

import numpy as np
import tensorflow as tf

from harness import oracle
from harness.scenarios import scenario

tf1 = tf.compat.v1
STEPS = 100
# Rounding differs from the first step on, and each step carries the difference further.
DRIFT_PER_STEP = 2e-5


def losses(graph, init, loss, train, feeds, target, config):
    with tf1.Session(target, graph=graph, config=config) as session:
        session.run(init)
        return [session.run([loss, train], feeds(step))[0] for step in range(STEPS)]


def train(build, target, config, device=None):
    """`build` makes the graph and gives (loss, train op, step -> feeds)."""
    with tf1.Graph().as_default() as graph, tf1.device(device):
        tf1.set_random_seed(11)
        loss, update, feeds = build()
        init = tf1.global_variables_initializer()
    return losses(graph, init, loss, update, feeds, target, config)


def compare_training(scene, build, clustered=False):
    theirs = train(build, "", oracle.CONFIG)
    if clustered:
        # The variables are spread over two parameter servers; the client drives one of the workers.
        cluster = scene.cluster(ps=2, worker=1)
        setter = tf1.train.replica_device_setter(worker_device="/job:worker/task:0", cluster=cluster.spec)
        ours = train(build, cluster.target("worker", 0), None, setter)
        cluster.stop()
    else:
        ours = train(build, scene.target, None)
    assert min(theirs[-10:]) < theirs[0], f"the model does not learn, so it says little: {theirs[0]} … {theirs[-1]}"
    for step, (a, b) in enumerate(zip(theirs, ours)):
        assert math.isfinite(a)
        if not abs(a - b) <= DRIFT_PER_STEP * (step + 1) * max(abs(a), 0.01 * abs(theirs[0])):
            raise AssertionError(f"the losses part at step {step}: TensorFlow has {theirs[max(0, step - 1):step + 3]}, we have {ours[max(0, step - 1):step + 3]}")


def variable(name, shape, resource=False, scale=0.3):
    return tf1.get_variable(name, shape, initializer=tf1.random_normal_initializer(stddev=scale), use_resource=resource)


def dense(name, x, units, resource=False):
    return tf.matmul(x, variable(name + "_w", [x.shape[-1], units], resource)) + variable(name + "_b", [units], resource)


def batches(features, classes, size=16):
    """Placeholders of a batch and a function that feeds a learnable one for each step."""
    x = tf1.placeholder(tf.float32, [None, *features])
    y = tf1.placeholder(tf.int32, [None])
    rng = np.random.default_rng(5)
    centers = rng.standard_normal((classes, *features))
    labels = rng.integers(0, classes, (STEPS, size))
    points = (centers[labels] + 0.5 * rng.standard_normal((STEPS, size, *features))).astype(np.float32)
    return x, y, lambda step: {x: points[step], y: labels[step]}


def cross_entropy(y, logits):
    return tf.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


def sgd(loss, rate=0.1):
    return tf1.train.GradientDescentOptimizer(rate).minimize(loss)


def model(build):
    """Each model is trained with reference and with resource variables, on one server and on a cluster."""
    for resource in (False, True):
        for clustered in (False, True):
            name = f"{build.__name__}_{'resource' if resource else 'reference'}{'_on_a_cluster' if clustered else ''}"
            play = lambda scene, resource=resource, clustered=clustered: compare_training(scene, lambda: build(resource), clustered)
            scenario(play, name=name, deadline=120)
    return build


@model
def mlp(resource):
    x, y, feeds = batches([12], 5)
    loss = cross_entropy(y, dense("out", tf.nn.relu(dense("second", tf.tanh(dense("first", x, 32, resource)), 16, resource)), 5, resource))
    return loss, sgd(loss), feeds


@model
def cnn(resource):
    x, y, feeds = batches([12, 12, 3], 4, size=8)
    h = tf.nn.relu(tf.nn.conv2d(x, variable("f1", [3, 3, 3, 8], resource), 1, "SAME") + variable("b1", [8], resource))
    h = tf.nn.max_pool2d(h, 2, 2, "SAME")
    h = tf.nn.elu(tf.nn.conv2d(h, variable("f2", [3, 3, 8, 8], resource), 2, "VALID"))
    h = tf.nn.avg_pool2d(h, 2, 1, "VALID")
    loss = cross_entropy(y, dense("out", tf.reshape(h, [-1, int(np.prod(h.shape[1:]))]), 4, resource))
    return loss, tf1.train.MomentumOptimizer(0.01, 0.9).minimize(loss), feeds


@model
def batch_norm(resource):
    x, y, feeds = batches([6, 6, 3], 4)
    h = tf.nn.conv2d(x, variable("f1", [3, 3, 3, 6], resource), 1, "SAME")
    scale, offset = variable("scale", [6], resource), variable("offset", [6], resource)
    h, mean, variance = tf1.nn.fused_batch_norm(h, scale, offset)
    averages = tf1.train.ExponentialMovingAverage(0.9)
    keep = averages.apply([mean, variance])
    average = averages.average(variance)
    h = tf.reduce_mean(tf.nn.relu(h), [1, 2])
    mean, variance = tf.nn.moments(h, [0])
    h = tf.nn.batch_normalization(h, mean, variance, variable("offset2", [6], resource), variable("scale2", [6], resource), 1e-3)
    loss = cross_entropy(y, dense("out", h, 4, resource))
    with tf.control_dependencies([keep]):
        train = sgd(loss)
    # Read where it is: on another task it would be what it was when the step began, in TensorFlow as well.
    with tf.control_dependencies([train]), tf1.colocate_with(average):
        average = average.read_value()
    return loss + 1e-3 * tf.reduce_sum(average), train, feeds


@model
def embedding(resource):
    rng = np.random.default_rng(3)
    words = tf1.placeholder(tf.int64, [None, 7])
    y = tf1.placeholder(tf.int32, [None])
    fed = rng.integers(0, 50, (STEPS, 16, 7))
    tables = [variable(f"table{i}", [25, 8], resource) for i in range(2)]
    h = tf.reduce_mean(tf1.nn.embedding_lookup(tables, words, partition_strategy="mod"), axis=1)
    loss = cross_entropy(y, dense("out", h, 3, resource))
    return loss, tf1.train.AdagradOptimizer(0.3).minimize(loss), lambda step: {words: fed[step], y: fed[step].min(1) % 3}


@model
def dropout_decay_and_clipping(resource):
    x, y, feeds = batches([12], 5)
    loss = cross_entropy(y, dense("out", tf1.nn.dropout(tf.nn.relu(dense("first", x, 32, resource)), rate=0.3, seed=4), 5, resource))
    step = tf1.train.get_or_create_global_step()
    optimizer = tf1.train.MomentumOptimizer(tf1.train.exponential_decay(0.1, step, 20, 0.8, staircase=True), 0.9)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
    return loss, optimizer.apply_gradients(zip(clipped, variables), step), feeds


def recurrent(resource):
    x, y, feeds = batches([6, 4], 3)
    w, u = variable("w", [4, 10], resource), variable("u", [10, 10], resource)
    steps = tf1.TensorArray(tf.float32, 6).unstack(tf.transpose(x, [1, 0, 2]))
    body = lambda t, h: (t + 1, tf.tanh(tf.matmul(steps.read(t), w) + tf.matmul(h, u)))
    _, h = tf1.while_loop(lambda t, h: t < 6, body, [0, tf.zeros([tf.shape(x)[0], 10])], parallel_iterations=4)
    loss = cross_entropy(y, dense("out", h, 3, resource))
    return loss, sgd(loss), feeds


def conditional(resource):
    x, y, feeds = batches([8], 3)
    w, v = variable("w", [8, 8], resource), variable("v", [8, 8], resource)
    h = tf1.cond(tf.reduce_mean(x) > 0, lambda: tf.nn.relu(tf.matmul(x, w)), lambda: tf.tanh(tf.matmul(x, v)) + tf.matmul(x, w))
    loss = cross_entropy(y, dense("out", h, 3, resource))
    return loss, sgd(loss), feeds


def with_control_flow(build, functional):
    def play(scene, resource, clustered):
        (tf1.enable_control_flow_v2 if functional else tf1.disable_control_flow_v2)()
        compare_training(scene, lambda: build(resource), clustered)

    for resource in (True,) if functional else (False, True):
        for clustered in (False, True):
            name = f"{build.__name__}_{'functional' if functional else 'resource' if resource else 'reference'}{'_on_a_cluster' if clustered else ''}"
            scenario(lambda scene, resource=resource, clustered=clustered: play(scene, resource, clustered), name=name, deadline=120)


for functional in (False, True):
    with_control_flow(recurrent, functional)
    with_control_flow(conditional, functional)


OPTIMIZERS = dict(
    gradient_descent=lambda: tf1.train.GradientDescentOptimizer(0.3),
    momentum=lambda: tf1.train.MomentumOptimizer(0.05, 0.9),
    nesterov=lambda: tf1.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
    adagrad=lambda: tf1.train.AdagradOptimizer(0.1),
    adadelta=lambda: tf1.train.AdadeltaOptimizer(5.0),
    rms_prop=lambda: tf1.train.RMSPropOptimizer(0.01, momentum=0.5),
    rms_prop_centered=lambda: tf1.train.RMSPropOptimizer(0.01, centered=True),
    adam=lambda: tf1.train.AdamOptimizer(0.02),
    ftrl=lambda: tf1.train.FtrlOptimizer(0.2, l1_regularization_strength=0.001, l2_regularization_strength=0.001),
    ftrl_shrinkage=lambda: tf1.train.FtrlOptimizer(0.2, l2_shrinkage_regularization_strength=0.01),
    proximal_adagrad=lambda: tf1.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.001),
    proximal_gradient_descent=lambda: tf1.train.ProximalGradientDescentOptimizer(0.3, l2_regularization_strength=0.001),
)


def optimized(make, sparse, resource):
    """A regression whose weights get dense gradients, or only those of the rows that a batch uses, some of them twice."""
    rng = np.random.default_rng(9)
    weights = variable("weights", [20, 4], resource)
    truth = rng.standard_normal((20, 4)).astype(np.float32)
    if sparse:
        rows = tf1.placeholder(tf.int32, [6])
        picked = rng.integers(0, 20, (STEPS, 6))
        predicted, wanted = tf1.nn.embedding_lookup(weights, rows), tf.gather(truth, rows)
        feeds = lambda step: {rows: picked[step]}
    else:
        x = tf1.placeholder(tf.float32, [8, 20])
        points = rng.standard_normal((STEPS, 8, 20)).astype(np.float32)
        predicted, wanted = tf.matmul(x, weights), tf.matmul(x, truth)
        feeds = lambda step: {x: points[step]}
    loss = tf.reduce_mean(tf.square(predicted - wanted))
    return loss, make().minimize(loss, tf1.train.get_or_create_global_step()), feeds


for optimizer, make in OPTIMIZERS.items():
    for sparse in (False, True):
        for resource in (False, True):
            name = f"{optimizer}_{'sparse' if sparse else 'dense'}_{'resource' if resource else 'reference'}"
            build = lambda make=make, sparse=sparse, resource=resource: optimized(make, sparse, resource)
            scenario(lambda scene, build=build: compare_training(scene, build), name=name)
