"""Element types by TensorFlow's names, and the sets of them that case tables choose from."""

import numpy as np
import tensorflow as tf

HALVES = ["half", "bfloat16"]
FLOATS = ["float", "double"]
INTS = ["int32", "int64"]
SMALL_INTS = ["uint8", "int8", "int16", "uint16"]
UNSIGNED = ["uint32", "uint64"]
ALL_INTS = INTS + SMALL_INTS + UNSIGNED
ALL_FLOATS = FLOATS + HALVES
NUMBERS = ALL_FLOATS + ALL_INTS
PLAIN = NUMBERS + ["bool"]
ALL_TYPES = PLAIN + ["string"]
INDEX = ["int32", "int64"]

# Relative and absolute tolerance: a few units in the last place. Everything else is compared exactly.
TOLERANCE = {"float": (2e-5, 1e-6), "double": (1e-12, 1e-13), "half": (4e-3, 1e-3), "bfloat16": (3e-2, 1e-2)}
# Of gradients, which are sums: so much of the largest element, besides.
SCALED_TOLERANCE = {"float": 2e-6, "double": 1e-14, "half": 4e-3, "bfloat16": 3e-2}


def as_tf(name):
    return tf.as_dtype({"float": "float32", "double": "float64", "half": "float16"}.get(name, name))


def as_numpy(name):
    return np.dtype(object) if name == "string" else np.dtype(as_tf(name).as_numpy_dtype)


def name_of(dtype):
    """The name of a tf.DType, a numpy dtype or a number of TensorFlow's DataType."""
    dtype = tf.as_dtype(dtype)
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype.base_dtype.name, dtype.base_dtype.name)


def is_float(name):
    return name in ALL_FLOATS
