"""Lets scripts for TensorFlow 1.x run unmodified on Carillon servers, with the Python client of today's TensorFlow.

runner       runs the script, and tells its servers how it ended
imports      what `import tensorflow` gives
attached     a Carillon server that ends with the script
server       tf.train.Server
sessions     tf.Session on Carillon servers
news         steps and loss, for `carillon launch`
layers, rnn  tf.layers and tf.nn.rnn_cell, which TensorFlow has dropped
contrib      the parts of tf.contrib that most scripts use
input_data   tensorflow.examples.tutorials.mnist.input_data

The tool hands down its settings in the environment; settings.py reads them.
"""
