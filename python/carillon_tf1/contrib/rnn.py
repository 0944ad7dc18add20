"""tf.contrib.rnn: the cells of tf.nn.rnn_cell, and the functions that unroll them."""

import tensorflow.compat.v1 as tf

from carillon_tf1.contrib import missing
from carillon_tf1.rnn import BasicLSTMCell, BasicRNNCell, DropoutWrapper, GRUCell, LSTMCell, LSTMStateTuple, MultiRNNCell, RNNCell

static_rnn = tf.nn.static_rnn
static_bidirectional_rnn = tf.nn.static_bidirectional_rnn

__all__ = ["BasicLSTMCell", "BasicRNNCell", "DropoutWrapper", "GRUCell", "LSTMCell", "LSTMStateTuple", "MultiRNNCell", "RNNCell",
           "static_bidirectional_rnn", "static_rnn"]
__getattr__ = missing.getter("rnn", __all__)
