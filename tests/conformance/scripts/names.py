"""What `import tensorflow` gives a script."""

import tensorflow as tf
import tensorflow.compat.v1 as v1
import tensorflow.contrib.slim as slim
from tensorflow.contrib import rnn
from tensorflow.contrib.layers import fully_connected
from tensorflow.examples.tutorials.mnist import input_data
from tensorflow.python.framework import ops
from tensorflow.python.training import server_lib

assert __name__ == "__main__" and __file__.endswith("names.py")
assert tf.compat.v1 is v1 and tf.Session is v1.Session and tf.layers is v1.layers
assert ops.get_default_graph() is tf.get_default_graph() and not tf.executing_eagerly()
assert tf.train.Server is v1.train.Server is server_lib.Server
assert tf.contrib.slim is slim and tf.contrib.rnn is rnn and tf.contrib.layers.fully_connected is fully_connected
assert tf.nn.rnn_cell.BasicLSTMCell is rnn.BasicLSTMCell
assert input_data.read_data_sets and tf.app.run and tf.gfile.Exists(__file__) and tf.logging.get_verbosity() == tf.logging.WARN
assert tf.Variable(1.0).op.type == "VariableV2"

tf.app.flags.DEFINE_string("log_dir", "mine", "absl has one of the same name")
tf.app.flags.DEFINE_integer("v", 7, "and of this one")
assert (tf.app.flags.FLAGS.log_dir, tf.app.flags.FLAGS.v) == ("mine", 7)


def error_of(function, kind):
    try:
        function()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")


assert "tf.contrib.learn is not among" in error_of(lambda: tf.contrib.learn, AttributeError)
message = error_of(lambda: tf.contrib.layers.embed_sequence, AttributeError)
assert "tf.contrib.layers.embed_sequence" in message and "fully_connected" in message, message
assert "framework, layers, rnn, slim" in error_of(lambda: __import__("tensorflow.contrib.learn"), ModuleNotFoundError)
assert "no attribute 'mul'" in error_of(lambda: tf.mul, AttributeError)
