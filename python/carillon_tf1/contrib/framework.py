"""tf.contrib.framework: arg_scope, the global step, and getting variables."""

import contextlib
import functools

import tensorflow.compat.v1 as tf

from carillon_tf1.contrib import missing

__all__ = ["add_arg_scope", "arg_scope", "assert_global_step", "create_global_step", "get_global_step", "get_or_create_global_step",
           "get_trainable_variables", "get_variables", "has_arg_scope", "model_variable", "variable"]
__getattr__ = missing.getter("framework", __all__)

_scopes = [{}]  # the innermost last: function -> the arguments that it gets


def add_arg_scope(function):
    """Decorates a function that takes arguments from the arg_scope around it."""

    @functools.wraps(function)
    def with_scope(*args, **kwargs):
        return function(*args, **{**_scopes[-1].get(with_scope, {}), **kwargs})

    with_scope.takes_arg_scope = True
    return with_scope


def has_arg_scope(function):
    return getattr(function, "takes_arg_scope", False)


@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """Gives functions their arguments, as in `with arg_scope([conv2d], padding="SAME")`. Yields what a later `with arg_scope(that)` takes up."""
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("arg_scope: a scope that is taken up takes no arguments")
        scope = list_ops_or_scope
    else:
        scope = dict(_scopes[-1])
        for function in list_ops_or_scope:
            if not has_arg_scope(function):
                raise ValueError(f"arg_scope: {getattr(function, '__name__', function)} is not decorated with add_arg_scope")
            scope[function] = {**scope.get(function, {}), **kwargs}
    _scopes.append(scope)
    try:
        yield scope
    finally:
        _scopes.pop()


get_global_step = tf.train.get_global_step
create_global_step = tf.train.create_global_step
get_or_create_global_step = tf.train.get_or_create_global_step
assert_global_step = tf.train.assert_global_step


@add_arg_scope
def variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None, caching_device=None, device=None,
             **unused):
    with tf.device(device):
        return tf.get_variable(name, shape, dtype, initializer, regularizer, trainable, collections, caching_device)


@add_arg_scope
def model_variable(name, *args, collections=None, **kwargs):
    """A variable that is also among tf.GraphKeys.MODEL_VARIABLES."""
    return variable(name, *args, collections=[*(collections or [tf.GraphKeys.GLOBAL_VARIABLES]), tf.GraphKeys.MODEL_VARIABLES], **kwargs)


def get_variables(scope=None, suffix=None, collection=tf.GraphKeys.GLOBAL_VARIABLES):
    found = tf.get_collection(collection, scope)
    return [v for v in found if suffix is None or v.op.name.endswith(suffix)]


def get_trainable_variables(scope=None, suffix=None):
    return get_variables(scope, suffix, tf.GraphKeys.TRAINABLE_VARIABLES)
