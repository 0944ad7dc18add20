"""Basics of tf.contrib.slim: the layers of tf.contrib.layers, arg_scope, variables and losses."""

import tensorflow.compat.v1 as tf

from carillon_tf1.contrib import missing
from carillon_tf1.contrib.framework import (add_arg_scope, arg_scope, create_global_step, get_global_step, get_or_create_global_step,
                                            get_trainable_variables, get_variables, has_arg_scope, model_variable, variable)
from carillon_tf1.contrib.layers import (avg_pool2d, batch_norm, conv2d, convolution2d, dropout, flatten, fully_connected, l1_regularizer, l2_regularizer,
                                         max_pool2d, one_hot_encoding, repeat, softmax, stack, variance_scaling_initializer, xavier_initializer)

losses = tf.losses

__all__ = ["add_arg_scope", "arg_scope", "avg_pool2d", "batch_norm", "conv2d", "convolution2d", "create_global_step", "dropout", "flatten",
           "fully_connected", "get_global_step", "get_or_create_global_step", "get_trainable_variables", "get_variables", "has_arg_scope",
           "l1_regularizer", "l2_regularizer", "losses", "max_pool2d", "model_variable", "one_hot_encoding", "repeat", "softmax", "stack", "variable",
           "variance_scaling_initializer", "xavier_initializer"]
__getattr__ = missing.getter("slim", __all__)
