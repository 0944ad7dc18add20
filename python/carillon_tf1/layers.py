"""tf.layers, as functions: variables have the names that they have in TensorFlow 1.x (dense/kernel, dense/bias, conv2d/kernel, …)."""

import numpy
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import smart_cond

CHANNELS_LAST = "channels_last"


def dense(inputs, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=tf.zeros_initializer(), kernel_regularizer=None,
          bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    """activation(inputs * kernel + bias), over the last dimension."""
    inputs = tf.convert_to_tensor(inputs)
    size = _known(inputs.shape[-1], "the last dimension of the inputs", "dense")
    with tf.variable_scope(name, "dense", [inputs], reuse=reuse):
        kernel = tf.get_variable("kernel", [size, units], inputs.dtype, kernel_initializer, kernel_regularizer, trainable, constraint=kernel_constraint)
        outputs = tf.matmul(inputs, kernel) if inputs.shape.rank == 2 else tf.tensordot(inputs, kernel, [[-1], [0]])
        if use_bias:
            bias = tf.get_variable("bias", [units], inputs.dtype, bias_initializer, bias_regularizer, trainable, constraint=bias_constraint)
            outputs = tf.nn.bias_add(outputs, bias)
        return _finished(outputs, activation, activity_regularizer)


def conv2d(inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format=CHANNELS_LAST, dilation_rate=(1, 1), activation=None,
           use_bias=True, kernel_initializer=None, bias_initializer=tf.zeros_initializer(), kernel_regularizer=None, bias_regularizer=None,
           activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None):
    """activation(inputs convolved with kernel, + bias)."""
    inputs = tf.convert_to_tensor(inputs)
    form = _form(data_format)
    channels = _known(inputs.shape[form.index("C")], "the number of channels", "conv2d")
    with tf.variable_scope(name, "conv2d", [inputs], reuse=reuse):
        kernel = tf.get_variable("kernel", [*pair(kernel_size), channels, filters], inputs.dtype, kernel_initializer, kernel_regularizer, trainable,
                                 constraint=kernel_constraint)
        outputs = tf.nn.conv2d(inputs, kernel, _spread(strides, form), padding.upper(), data_format=form, dilations=_spread(dilation_rate, form))
        if use_bias:
            bias = tf.get_variable("bias", [filters], inputs.dtype, bias_initializer, bias_regularizer, trainable, constraint=bias_constraint)
            outputs = tf.nn.bias_add(outputs, bias, data_format=form)
        return _finished(outputs, activation, activity_regularizer)


def max_pooling2d(inputs, pool_size, strides, padding="valid", data_format=CHANNELS_LAST, name=None):
    """The largest value of each window."""
    form = _form(data_format)
    return tf.nn.max_pool(inputs, _spread(pool_size, form), _spread(strides, form), padding.upper(), form, name or "max_pooling2d")


def average_pooling2d(inputs, pool_size, strides, padding="valid", data_format=CHANNELS_LAST, name=None):
    """The mean of each window."""
    form = _form(data_format)
    return tf.nn.avg_pool(inputs, _spread(pool_size, form), _spread(strides, form), padding.upper(), form, name or "average_pooling2d")


def batch_normalization(inputs, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer=tf.zeros_initializer(),
                        gamma_initializer=tf.ones_initializer(), moving_mean_initializer=tf.zeros_initializer(),
                        moving_variance_initializer=tf.ones_initializer(), beta_regularizer=None, gamma_regularizer=None, beta_constraint=None,
                        gamma_constraint=None, training=False, trainable=True, name=None, reuse=None, fused=None):
    """Mean 0 and variance 1 for each channel, by the batch's statistics in training and by their moving averages otherwise, then times gamma plus
    beta. `training` may be a tensor. The updates of the averages are in tf.GraphKeys.UPDATE_OPS: training has to depend on them. `fused` is ignored:
    pictures with the channels last take the fused op."""
    inputs = tf.convert_to_tensor(inputs)
    rank = inputs.shape.rank
    axis = axis % rank
    channels = _known(inputs.shape[axis], "the number of channels", "batch_normalization")
    with tf.variable_scope(name, "batch_normalization", [inputs], reuse=reuse):
        gamma = beta = None
        if scale:
            gamma = tf.get_variable("gamma", [channels], tf.float32, gamma_initializer, gamma_regularizer, trainable, constraint=gamma_constraint)
        if center:
            beta = tf.get_variable("beta", [channels], tf.float32, beta_initializer, beta_regularizer, trainable, constraint=beta_constraint)
        mean = tf.get_variable("moving_mean", [channels], tf.float32, moving_mean_initializer, trainable=False)
        variance = tf.get_variable("moving_variance", [channels], tf.float32, moving_variance_initializer, trainable=False)

        def by_batch():
            if rank == 4 and axis == 3:
                return tf.nn.fused_batch_norm(inputs, _or_full(gamma, 1.0, channels), _or_full(beta, 0.0, channels), epsilon=epsilon)
            axes = [i for i in range(rank) if i != axis]
            batch_mean, batch_variance = tf.nn.moments(inputs, axes)
            return _normalised(inputs, batch_mean, batch_variance, beta, gamma, epsilon, axis), batch_mean, batch_variance

        def by_averages():
            return _normalised(inputs, mean, variance, beta, gamma, epsilon, axis), tf.identity(mean), tf.identity(variance)

        outputs, batch_mean, batch_variance = smart_cond.smart_cond(training, by_batch, by_averages)
        if smart_cond.smart_constant_value(training) is not False:
            # Out of training the averages are what they are moved towards, so that they stay.
            for average, value in ((mean, batch_mean), (variance, batch_variance)):
                tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_sub(average, (average - value) * (1 - momentum)))
        outputs.set_shape(inputs.shape)
        return outputs


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """In training, drops each value with this probability and scales up the others. `training` may be a tensor."""
    with tf.name_scope(name, "dropout", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        return smart_cond.smart_cond(training, lambda: tf.nn.dropout(inputs, noise_shape=noise_shape, seed=seed, rate=rate), lambda: tf.identity(inputs))


def flatten(inputs, name=None):
    """[batch, everything else]."""
    inputs = tf.convert_to_tensor(inputs)
    sizes = inputs.shape.as_list()
    width = -1 if None in sizes[1:] else int(numpy.prod(sizes[1:], dtype=int))
    batch = tf.shape(inputs)[0] if sizes[0] is None and width == -1 else -1 if sizes[0] is None else sizes[0]
    return tf.reshape(inputs, [batch, width], name or "flatten")


def pair(size):
    """Height and width, from a number or two."""
    return [size, size] if isinstance(size, (int, numpy.integer)) else list(size)


def _known(size, what, layer):
    if size is None:
        raise ValueError(f"{layer} needs to know {what} when the graph is built; it is None")
    return int(size)


def _form(data_format):
    forms = {CHANNELS_LAST: "NHWC", "channels_first": "NCHW"}
    if data_format not in forms:
        raise ValueError(f"data_format is channels_last or channels_first, not {data_format!r}")
    return forms[data_format]


def _spread(size, form):
    height, width = pair(size)
    return [1, height, width, 1] if form == "NHWC" else [1, 1, height, width]


def _finished(outputs, activation, activity_regularizer):
    if activation is not None:
        outputs = activation(outputs)
    if activity_regularizer is not None:
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, activity_regularizer(outputs))
    return outputs


def _or_full(values, otherwise, channels):
    return tf.fill([channels], otherwise) if values is None else values


def _normalised(inputs, mean, variance, beta, gamma, epsilon, axis):
    rank = inputs.shape.rank
    if axis != rank - 1:
        shape = [-1 if i == axis else 1 for i in range(rank)]
        mean, variance, beta, gamma = (v if v is None else tf.reshape(v, shape) for v in (mean, variance, beta, gamma))
    return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
