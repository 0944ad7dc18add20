"""The parts of tf.contrib that most scripts use: basics of layers, slim, rnn and framework."""

from carillon_tf1.contrib import framework, layers, rnn, slim

MODULES = ("framework", "layers", "rnn", "slim")


def no_such_module(name):
    return f"{name} is not among what Carillon provides of tf.contrib; there are {', '.join(MODULES)}"


def __getattr__(name):
    raise AttributeError(no_such_module(f"tf.contrib.{name}"))
