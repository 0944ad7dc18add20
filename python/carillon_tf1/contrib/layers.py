"""Basics of tf.contrib.layers. Variables have the names that they have in TensorFlow 1.x (fully_connected/weights, Conv/biases, BatchNorm/beta, …)."""

import tensorflow.compat.v1 as tf

from carillon_tf1 import layers
from carillon_tf1.contrib import missing
from carillon_tf1.contrib.framework import add_arg_scope

__all__ = ["apply_regularization", "avg_pool2d", "batch_norm", "conv2d", "convolution2d", "dropout", "flatten", "fully_connected", "l1_regularizer",
           "l2_regularizer", "linear", "max_pool2d", "one_hot_encoding", "relu", "repeat", "softmax", "stack", "variance_scaling_initializer",
           "xavier_initializer", "xavier_initializer_conv2d"]
__getattr__ = missing.getter("layers", __all__)


def xavier_initializer(uniform=True, seed=None, dtype=tf.float32):
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=tf.float32):
    return tf.variance_scaling_initializer(factor, mode.lower(), "uniform" if uniform else "truncated_normal", seed, dtype)


def l1_regularizer(scale, scope=None):
    return _regularizer(scale, scope or "l1_regularizer", lambda weights: tf.reduce_sum(tf.abs(weights)))


def l2_regularizer(scale, scope=None):
    return _regularizer(scale, scope or "l2_regularizer", tf.nn.l2_loss)


def _regularizer(scale, name, norm):
    if scale < 0:
        raise ValueError(f"{name}: the scale is {scale}; it cannot be negative")

    def penalty(weights):
        with tf.name_scope(name):
            return tf.multiply(tf.convert_to_tensor(scale, weights.dtype.base_dtype), norm(weights)) if scale else None

    return penalty


def apply_regularization(regularizer, weights_list=None):
    """The sum of the penalties of the weights, which is also added to tf.GraphKeys.REGULARIZATION_LOSSES."""
    weights_list = tf.get_collection(tf.GraphKeys.WEIGHTS) if weights_list is None else weights_list
    if not weights_list:
        raise ValueError("apply_regularization: there are no weights")
    penalties = [penalty for penalty in map(regularizer, weights_list) if penalty is not None]
    total = tf.add_n(penalties) if penalties else tf.constant(0.0)
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, total)
    return total


@add_arg_scope
def fully_connected(inputs, num_outputs, activation_fn=tf.nn.relu, normalizer_fn=None, normalizer_params=None, weights_initializer=xavier_initializer(),
                    weights_regularizer=None, biases_initializer=tf.zeros_initializer(), biases_regularizer=None, reuse=None, variables_collections=None,
                    outputs_collections=None, trainable=True, scope=None):
    """activation_fn(inputs * weights + biases); with a normalizer_fn that one instead of the biases."""
    inputs = tf.convert_to_tensor(inputs)
    size = inputs.shape.as_list()[-1]
    if size is None:
        raise ValueError("fully_connected: the last dimension of the inputs must be known when the graph is built")
    with tf.variable_scope(scope, "fully_connected", [inputs], reuse=reuse) as opened:
        weights = _variable("weights", [size, num_outputs], inputs, weights_initializer, weights_regularizer, trainable, variables_collections)
        outputs = tf.matmul(inputs, weights) if inputs.shape.rank == 2 else tf.tensordot(inputs, weights, [[-1], [0]])
        outputs = _with_biases(outputs, num_outputs, normalizer_fn, normalizer_params, biases_initializer, biases_regularizer, trainable,
                               variables_collections)
        return _collected(outputs, activation_fn, outputs_collections, opened)


def linear(inputs, num_outputs, **kwargs):
    return fully_connected(inputs, num_outputs, **{"activation_fn": None, **kwargs})


def relu(inputs, num_outputs, **kwargs):
    return fully_connected(inputs, num_outputs, **{"activation_fn": tf.nn.relu, **kwargs})


@add_arg_scope
def conv2d(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1, activation_fn=tf.nn.relu, normalizer_fn=None,
           normalizer_params=None, weights_initializer=xavier_initializer(), weights_regularizer=None, biases_initializer=tf.zeros_initializer(),
           biases_regularizer=None, reuse=None, variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """activation_fn(inputs convolved with weights, + biases); with a normalizer_fn that one instead of the biases."""
    _need_nhwc("conv2d", data_format)
    inputs = tf.convert_to_tensor(inputs)
    with tf.variable_scope(scope, "Conv", [inputs], reuse=reuse) as opened:
        weights = _variable("weights", [*layers.pair(kernel_size), int(inputs.shape[3]), num_outputs], inputs, weights_initializer, weights_regularizer,
                            trainable, variables_collections)
        outputs = tf.nn.conv2d(inputs, weights, [1, *layers.pair(stride), 1], padding.upper(), dilations=[1, *layers.pair(rate), 1])
        outputs = _with_biases(outputs, num_outputs, normalizer_fn, normalizer_params, biases_initializer, biases_regularizer, trainable,
                               variables_collections)
        return _collected(outputs, activation_fn, outputs_collections, opened)


convolution2d = conv2d


@add_arg_scope
def max_pool2d(inputs, kernel_size, stride=2, padding="VALID", data_format=None, outputs_collections=None, scope=None):
    return _pooled(tf.nn.max_pool, "MaxPool2D", inputs, kernel_size, stride, padding, data_format, outputs_collections, scope)


@add_arg_scope
def avg_pool2d(inputs, kernel_size, stride=2, padding="VALID", data_format=None, outputs_collections=None, scope=None):
    return _pooled(tf.nn.avg_pool, "AvgPool2D", inputs, kernel_size, stride, padding, data_format, outputs_collections, scope)


@add_arg_scope
def batch_norm(inputs, decay=0.999, center=True, scale=False, epsilon=0.001, activation_fn=None, param_initializers=None, param_regularizers=None,
               updates_collections=tf.GraphKeys.UPDATE_OPS, is_training=True, reuse=None, variables_collections=None, outputs_collections=None,
               trainable=True, fused=None, data_format=None, scope=None, **unused):
    """With updates_collections=None the moving averages are updated whenever the outputs are computed, else by the ops of that collection."""
    _need_nhwc("batch_norm", data_format)
    initializers, regularizers = param_initializers or {}, param_regularizers or {}
    chosen = {f"{name}_initializer": initializers[name] for name in ("beta", "gamma", "moving_mean", "moving_variance") if name in initializers}
    chosen.update({f"{name}_regularizer": regularizers[name] for name in ("beta", "gamma") if name in regularizers})
    updates = tf.get_collection_ref(tf.GraphKeys.UPDATE_OPS)
    before = len(updates)
    with tf.variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as opened:
        outputs = layers.batch_normalization(inputs, momentum=decay, epsilon=epsilon, center=center, scale=scale, training=is_training,
                                             trainable=trainable, name=opened, **chosen)
        if updates_collections != tf.GraphKeys.UPDATE_OPS:
            mine = updates[before:]
            del updates[before:]
            if updates_collections is None:
                with tf.control_dependencies(mine):
                    outputs = tf.identity(outputs)
            else:
                tf.add_to_collections(updates_collections, mine)
        return _collected(outputs, activation_fn, outputs_collections, opened)


@add_arg_scope
def dropout(inputs, keep_prob=0.5, noise_shape=None, is_training=True, outputs_collections=None, scope=None, seed=None):
    outputs = layers.dropout(inputs, 1 - keep_prob, noise_shape, seed, is_training, scope or "Dropout")
    return _collected(outputs, None, outputs_collections, None)


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    return _collected(layers.flatten(inputs, scope or "Flatten"), None, outputs_collections, None)


@add_arg_scope
def softmax(logits, scope=None):
    return tf.nn.softmax(logits, name=scope or "softmax")


@add_arg_scope
def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None):
    labels = tf.cast(labels, tf.int64) if tf.convert_to_tensor(labels).dtype == tf.int32 else labels
    return _collected(tf.one_hot(labels, num_classes, on_value, off_value, name=scope), None, outputs_collections, None)


def repeat(inputs, repetitions, layer, *args, **kwargs):
    """The layer so many times, each on what the last has made, in scopes NAME/NAME_1, NAME/NAME_2, …"""
    return stack(inputs, layer, [args] * repetitions, **kwargs) if args else _stacked(inputs, layer, [()] * repetitions, "Repeat", **kwargs)


def stack(inputs, layer, stack_args, **kwargs):
    """The layer once for each entry of stack_args, each on what the last has made."""
    return _stacked(inputs, layer, [entry if isinstance(entry, (list, tuple)) else [entry] for entry in stack_args], "Stack", **kwargs)


def _stacked(inputs, layer, entries, default, scope=None, **kwargs):
    with tf.variable_scope(scope, default, [inputs]):
        name = scope or getattr(layer, "__name__", "layer")
        for number, entry in enumerate(entries, 1):
            inputs = layer(inputs, *entry, scope=f"{name}_{number}", **kwargs)
        return inputs


def _variable(name, shape, like, initializer, regularizer, trainable, collections):
    if isinstance(collections, dict):
        collections = collections.get(name)
    names = [tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES, *([collections] if isinstance(collections, str) else collections or [])]
    return tf.get_variable(name, shape, like.dtype.base_dtype, initializer, regularizer, trainable, names)


def _with_biases(outputs, size, normalizer_fn, normalizer_params, initializer, regularizer, trainable, collections):
    if normalizer_fn is not None:
        return normalizer_fn(outputs, **(normalizer_params or {}))
    if initializer is None:
        return outputs
    return tf.nn.bias_add(outputs, _variable("biases", [size], outputs, initializer, regularizer, trainable, collections))


def _pooled(pool, name, inputs, kernel_size, stride, padding, data_format, outputs_collections, scope):
    _need_nhwc(name, data_format)
    outputs = pool(inputs, [1, *layers.pair(kernel_size), 1], [1, *layers.pair(stride), 1], padding.upper(), name=scope or name)
    return _collected(outputs, None, outputs_collections, None)


def _need_nhwc(name, data_format):
    if data_format not in (None, "NHWC"):
        raise ValueError(f"{name}: data_format {data_format!r} is not supported; only NHWC is")


def _collected(outputs, activation_fn, collections, scope):
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    if collections:
        tf.add_to_collections(collections, outputs)
    return outputs
