"""tf.layers, recurrent cells and tf.contrib: variables have the names of TensorFlow 1.x, values are those that its own layers compute.

TensorFlow has dropped the public names, but keeps most of the code for itself: the oracle here."""

import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl
from tensorflow.python.keras.legacy_tf_layers import convolutional, core, pooling

random = np.random.RandomState(1)
pictures = random.rand(4, 9, 7, 3).astype(np.float32)
rows = random.rand(4, 6, 5).astype(np.float32)


def outcome(build):
    """Names and shapes of the variables, and the outputs (and their gradients by the variables) when these hold given numbers."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        outputs = tf.nest.flatten(build())
        variables = tf.trainable_variables()
        numbers = np.random.RandomState(2)
        for variable in sorted(variables, key=lambda v: v.name):
            variable.load(numbers.normal(0, 0.3, variable.shape.as_list()), session)
        gradients = [g for g in tf.gradients(outputs, variables) if g is not None]
        return [(v.name, v.shape.as_list()) for v in variables], session.run(outputs + gradients)


def check_same(ours, theirs):
    (names, values), (other_names, other_values) = outcome(ours), outcome(theirs)
    assert names == other_names, f"{names}\n{other_names}"
    assert len(values) == len(other_values)
    for value, other in zip(values, other_values):
        np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-6)


def network(conv2d, max_pooling2d, average_pooling2d, flatten, dense, dropout):
    net = conv2d(pictures, 4, 3, activation=tf.nn.relu)
    net = conv2d(net, 5, [3, 2], strides=(2, 1), padding="same", use_bias=False, dilation_rate=1)
    net = max_pooling2d(net, 2, 1)
    net = average_pooling2d(net, [2, 2], [1, 1], padding="same")
    with tf.variable_scope("top"):
        net = dense(flatten(net), 6, tf.tanh, name="hidden")
        net = dense(net, 6)
        net = dense(dropout(net, 0.3), 6, name="again")
        return dense(net, 6, name="again", reuse=True), dense(rows, 2)


check_same(lambda: network(tf.layers.conv2d, tf.layers.max_pooling2d, tf.layers.average_pooling2d, tf.layers.flatten, tf.layers.dense, tf.layers.dropout),
           lambda: network(convolutional.conv2d, pooling.max_pooling2d, pooling.average_pooling2d, core.flatten, core.dense, core.dropout))


def recurrent(cells):
    deep = cells.MultiRNNCell([cells.BasicLSTMCell(4), cells.DropoutWrapper(cells.GRUCell(3))])
    outputs, state = tf.nn.dynamic_rnn(deep, rows, sequence_length=[6, 2, 0, 4], dtype=tf.float32)
    more, _ = tf.nn.static_rnn(cells.BasicRNNCell(3), tf.unstack(rows, axis=1), dtype=tf.float32, scope="plain")
    full = cells.LSTMCell(4, use_peepholes=True, num_proj=2, cell_clip=0.5, proj_clip=0.3, forget_bias=0.5)
    last, _ = tf.nn.dynamic_rnn(full, rows, initial_state=full.zero_state(4, tf.float32), scope="full")
    joint, _ = tf.nn.bidirectional_dynamic_rnn(cells.GRUCell(2), cells.GRUCell(2), rows, dtype=tf.float32)
    return [outputs, tf.nest.flatten(state), more, last, joint]


check_same(lambda: recurrent(tf.nn.rnn_cell), lambda: recurrent(rnn_cell_impl))


def normalised(x):
    return (x - x.mean((0, 1, 2))) / np.sqrt(x.var((0, 1, 2)) + 1e-3)


def check_batch_normalization(training, feeds):
    """In training by the batch, moving the averages; otherwise by the averages. `training` may be a tensor."""
    with tf.Graph().as_default(), tf.Session() as session:
        is_training = tf.placeholder(tf.bool, []) if training is None else training
        y = tf.layers.batch_normalization(tf.constant(pictures), momentum=0.9, training=is_training)
        flat = tf.layers.batch_normalization(tf.constant(pictures[0, 0]), training=True, name="flat")
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        names = [v.op.name for v in tf.global_variables()]
        expected = ["batch_normalization/" + name for name in ("gamma", "beta", "moving_mean", "moving_variance")]
        assert names[:4] == expected and names[4] == "flat/gamma", names
        session.run(tf.global_variables_initializer())
        for value, should_train in feeds:
            feed = {is_training: value} if training is None else {}
            before = session.run(tf.global_variables()[2])
            result = session.run(y, feed)
            session.run(updates, feed)
            after = session.run(tf.global_variables()[2])
            if should_train:
                np.testing.assert_allclose(result, normalised(pictures), rtol=1e-3, atol=1e-4)
                np.testing.assert_allclose(after, 0.9 * before + 0.1 * pictures.mean((0, 1, 2)), rtol=1e-4)
            else:
                np.testing.assert_array_equal(before, after)
        np.testing.assert_allclose(session.run(flat).mean(0), 0, atol=1e-5)


check_batch_normalization(True, [(None, True)])
check_batch_normalization(False, [(None, False)])
check_batch_normalization(None, [(True, True), (False, False), (True, True)])

# tf.contrib: names of variables, arg_scope, regularisation, updates.
with tf.Graph().as_default(), tf.Session() as session:
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(0.1)), slim.arg_scope(
            [slim.conv2d], normalizer_fn=slim.batch_norm, normalizer_params={"is_training": True, "updates_collections": None}) as scope:
        net = slim.repeat(tf.constant(pictures), 2, slim.conv2d, 4, [3, 3], scope="conv")
    with slim.arg_scope(scope):
        net = slim.conv2d(net, 4, 1)
        net = slim.max_pool2d(net, [2, 2])
        net = slim.avg_pool2d(net, 2, stride=1)
        net = slim.dropout(slim.flatten(net), 0.8, is_training=False)
        net = slim.fully_connected(net, 3)
        net = slim.fully_connected(net, 3, activation_fn=None)
    net = tf.contrib.layers.stack(net, tf.contrib.layers.fully_connected, [5, 4], scope="top")
    names = {v.op.name for v in tf.global_variables()}
    expected = {"conv/conv_1/weights", "conv/conv_2/BatchNorm/beta", "conv/conv_2/BatchNorm/moving_mean", "Conv/weights", "Conv/BatchNorm/moving_variance",
                "fully_connected/weights", "fully_connected/biases", "fully_connected_1/biases", "top/top_1/weights", "top/top_2/biases"}
    assert expected <= names, expected - names
    assert not any("gamma" in name or "Conv/biases" in name for name in names), names
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 5 and not tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    weights, = slim.get_variables("Conv/weights")
    session.run(tf.global_variables_initializer())
    mean, = slim.get_variables("Conv/BatchNorm/moving_mean")
    before = session.run(mean)
    session.run(net)
    assert (session.run(mean) != before).any(), "updates_collections=None updates at once"
    penalty = tf.contrib.layers.apply_regularization(tf.contrib.layers.l2_regularizer(0.5), [weights])
    values, sum_of_squares = session.run([weights, penalty])
    np.testing.assert_allclose(sum_of_squares, 0.25 * (values**2).sum(), rtol=1e-5)
    step = tf.contrib.framework.get_or_create_global_step()
    assert step is slim.get_or_create_global_step()
