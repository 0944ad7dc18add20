"""Hash tables: over several runs of a session."""

import os
import pathlib
import tempfile
import zlib

import numpy as np

from harness.notation import *

NAMES = {"string": "string", "int64": "int64", "int32": "int32", "float32": "float", "float64": "double", "bool": "bool"}
PAIRS = [("string", "int64"), ("string", "float32"), ("string", "bool"), ("int64", "string"), ("int64", "int64"), ("int64", "float64"), ("int32", "int32"),
         ("string", "int32"), ("int32", "float32")]


class T:
    """A table with an old or a new handle, and the ops on it."""

    def __init__(self, c, tf, kind, key, value, old=False, inputs=None, **attrs):
        self.c, self.tf, self.raw, self.end = c, tf, tf.raw_ops, "" if old else "V2"
        self.key, self.value = tf.as_dtype(key), tf.as_dtype(value)
        types = dict(value_dtype=self.value) if inputs else dict(key_dtype=self.key, value_dtype=self.value)
        self.handle = getattr(self.raw, kind + self.end)(**(inputs or {}), **types, **attrs)

    def op(self, name, **args):
        return getattr(self.raw, name + self.end)(table_handle=self.handle, **args)

    def find(self, keys, default):
        return self.op("LookupTableFind", keys=keys, default_value=default)

    def insert(self, keys, values):
        return self.op("LookupTableInsert", keys=keys, values=values)

    def remove(self, keys):
        return self.op("LookupTableRemove", keys=keys)

    def load(self, keys, values):
        return self.op("LookupTableImport", keys=keys, values=values)

    def initialize(self, keys, values):
        return self.op("InitializeTable", keys=keys, values=values)

    def size(self):
        return self.op("LookupTableSize")

    def export(self):
        return self.op("LookupTableExport", Tkeys=self.key, Tvalues=self.value)


def distinct_keys(c, dtype, n):
    numbers = c.rng.permutation(50)[:n] - 10
    return np.array([b"key %d" % x for x in numbers], object) if dtype == "string" else numbers.astype(dtype)


def values_of(c, dtype, shape):
    return c.array(NAMES[dtype], shape)


def both(*names):
    return [name + end for name in names for end in ("", "V2")]


@program(ops=both("HashTable", "InitializeTable", "LookupTableFind", "LookupTableSize"), count=12)
def filled_once(c, tf):
    key, value = c.pick(*PAIRS, ("string", "string"), ("int32", "string"))
    t = T(c, tf, "HashTable", key, value, old=c.chance())
    keys = distinct_keys(c, key, 8)
    c.run([t.size()])
    c.run([], [t.initialize(c.feed(keys[:5]), c.feed(values_of(c, value, (5,))))])
    c.run([t.size()])
    default = c.feed(values_of(c, value, ()))
    return [t.find(c.feed(keys), default), t.find(c.feed(keys.reshape(2, 4)), default), t.find(c.feed(keys[0]), default)]


@program(ops=both("MutableHashTable", "LookupTableInsert", "LookupTableExport", "LookupTableImport") + ["LookupTableRemoveV2"], count=12)
def changing(c, tf):
    key, value = c.pick(*PAIRS)
    old = c.chance()
    t = T(c, tf, "MutableHashTable", key, value, old=old)
    keys = distinct_keys(c, key, 8)
    default = c.feed(values_of(c, value, ()))
    look = lambda: c.run([t.find(c.feed(keys), default), t.size()])
    c.run([], [t.insert(c.feed(keys[:5]), c.feed(values_of(c, value, (5,))))])
    look()
    c.run([], [t.insert(c.feed(keys[2:6].reshape(2, 2)), c.feed(values_of(c, value, (2, 2))))])
    look()
    if not old:
        c.run([], [t.remove(c.feed(np.concatenate([keys[1:3], keys[7:]])))])
        look()
        c.run([], [t.insert(c.feed(keys[6:]), c.feed(values_of(c, value, (2,))))])
        look()
    exported = t.export()
    c.run([tf.size(exported[0]), tf.size(exported[1])])
    c.run([], [t.load(c.feed(keys[4:]), c.feed(values_of(c, value, (4,))))])
    look()
    return [t.find(c.feed(keys), c.feed(values_of(c, value, (8,))))]


@program(ops=both("MutableHashTableOfTensors"), count=4)
def of_vectors(c, tf):
    key, value = c.pick(("string", "float32"), ("int64", "int64"))
    old = c.chance()
    t = T(c, tf, "MutableHashTableOfTensors", key, value, old=old, value_shape=[3])
    keys = distinct_keys(c, key, 6)
    c.run([], [t.insert(c.feed(keys[:4]), c.feed(values_of(c, value, (4, 3))))])
    c.run([t.size()])
    exported = t.export()
    c.run([tf.shape(exported[0]), tf.shape(exported[1])])
    return [t.find(c.feed(keys.reshape(3, 2)), c.feed(values_of(c, value, (3,)))), t.find(c.feed(keys), c.feed(values_of(c, value, (3,) if old else (6, 3))))]


leave_out("MutableDenseHashTable", "TensorFlow has the op, but its kernel asks for an input that the op does not have")


@program(ops=["MutableDenseHashTableV2"], count=4)
def dense(c, tf):
    vectors = c.chance()
    keys = c.rng.permutation(40)[:12].astype(np.int64)
    keys = keys.reshape(6, 2) if vectors else keys[:6]
    apart = lambda value: tf.constant([value, value] if vectors else value, tf.int64)
    shape = c.pick([], [3])
    t = T(c, tf, "MutableDenseHashTable", "int64", "float32", inputs=dict(empty_key=apart(-1), deleted_key=apart(-2)), value_shape=shape)
    default = c.feed(c.array("float", shape))
    c.run([], [t.insert(c.feed(keys[:4]), c.feed(c.array("float", (4, *shape))))])
    c.run([t.size(), t.find(c.feed(keys), default)])
    c.run([], [t.remove(c.feed(keys[1:3]))])
    return [t.size(), t.find(c.feed(keys), default)]


@program(ops=["AnonymousHashTable"], count=1)
def without_a_name(c, tf):
    handle = tf.raw_ops.AnonymousHashTable(key_dtype=tf.string, value_dtype=tf.int64)
    fill = tf.raw_ops.InitializeTableV2(table_handle=handle, keys=["a", "b"], values=tf.constant([1, 2], tf.int64))
    with tf.control_dependencies([fill]):
        return [tf.raw_ops.LookupTableFindV2(table_handle=handle, keys=["b", "c"], default_value=tf.constant(9, tf.int64))]


# Files.
FOLDER = tempfile.TemporaryDirectory()
LINES = b"alpha\tx\t1\nbeta\ty\t2\r\ngamma\tz\t3"


def text_file(content=LINES):
    """One for each content, kept for as long as the cases run."""
    path = pathlib.Path(FOLDER.name, f"{zlib.crc32(content)}-{os.getpid()}.txt")
    if not path.exists():
        path.write_bytes(content)
    return str(path)


@program(ops=both("InitializeTableFromTextFile"), count=8)
def from_a_file(c, tf):
    key, value, keys, attrs = c.pick(
        ("string", "int64", [b"alpha\tx\t1", b"gamma\tz\t3", b""], dict(key_index=-2, value_index=-1)),
        ("int64", "string", np.arange(4), dict(key_index=-1, value_index=-2)),
        ("string", "int64", [b"beta", b"gamma"], dict(key_index=0, value_index=2)),
        ("string", "float32", [b"beta", b"gamma"], dict(key_index=0, value_index=2)),
        ("string", "string", [b"beta", b"gamma"], dict(key_index=0, value_index=1)),
        ("string", "int64", [b"beta", b"gamma"], dict(key_index=0, value_index=-1, vocab_size=2)),
        ("string", "int64", [b"beta", b"gamma"], dict(key_index=0, value_index=-1, offset=10)))
    t = T(c, tf, "HashTable", key, value, old=c.chance())
    c.run([], [t.op("InitializeTableFromTextFile", filename=text_file(), **attrs)])
    c.run([], [t.op("InitializeTableFromTextFile", filename=text_file(), **attrs)])
    default = tf.constant("?" if value == "string" else 0, t.value)
    return [t.size(), t.find(c.feed(np.array(keys, object if key == "string" else np.int64)), default)]


def fails(function):
    return program(count=1, may_fail=True)(function)


def bad_table(name, kind, key, value, steps, inputs=None, **attrs):
    """`steps` gives the ops to run one after the other."""

    def run(c, tf):
        made = {k: tf.placeholder_with_default(tf.constant(v, tf.int64), None) for k, v in (inputs or {}).items()}
        t = T(c, tf, kind, key, value, inputs=made, **attrs)
        t.ints = lambda *v: tf.placeholder_with_default(tf.constant(list(v), tf.int64), None)
        t.strings = lambda *v: tf.placeholder_with_default(tf.constant(list(v)), None)
        t.floats = lambda v: tf.placeholder_with_default(tf.constant(v, tf.float32), None)
        t.one = tf.placeholder_with_default(tf.constant(1, tf.int64), None)
        for step in steps(t):
            c.run(*(([], [step]) if step is None or not hasattr(step, "dtype") else ([step], [])))

    run.__name__ = name
    fails(run)


bad_table("find_before_filled", "HashTable", "string", "int64", lambda t: [t.find(t.strings("a"), t.one)])
bad_table("export_before_filled", "HashTable", "string", "int64", lambda t: [t.export()[0]])
bad_table("insert_into_one_filled_once", "HashTable", "string", "int64", lambda t: [t.insert(t.strings("a"), t.ints(1))])
bad_table("remove_from_one_filled_once", "HashTable", "string", "int64", lambda t: [t.remove(t.strings("a"))])
bad_table("fill_twice", "HashTable", "string", "int64", lambda t: [t.initialize(t.strings("a"), t.ints(1)), t.initialize(t.strings("a", "b"), t.ints(1, 2))])
bad_table("fill_with_two_values", "HashTable", "string", "int64", lambda t: [t.initialize(t.strings("a", "a"), t.ints(1, 2))])
bad_table("fill_with_too_few_values", "HashTable", "string", "int64", lambda t: [t.initialize(t.strings("a", "b"), t.ints(1))])
bad_table("fill_with_a_scalar", "HashTable", "string", "int64", lambda t: [t.initialize(t.tf.placeholder_with_default("a", None), t.one)])
bad_table("fill_one_that_changes", "MutableHashTable", "string", "int64", lambda t: [t.initialize(t.strings("a"), t.ints(1))])
bad_table("keys_of_another_type", "MutableHashTable", "string", "int64", lambda t: [t.insert(t.ints(1), t.ints(1))])
bad_table("too_few_values", "MutableHashTable", "string", "int64", lambda t: [t.insert(t.strings("a", "b"), t.ints(1))])
bad_table("too_few_defaults", "MutableHashTable", "string", "int64", lambda t: [t.find(t.strings("a", "b"), t.ints(1))])
bad_table("vectors_of_another_size", "MutableHashTableOfTensors", "string", "float32", lambda t: [t.insert(t.strings("a"), t.floats([[1.0]]))], value_shape=[2])
bad_table("default_of_another_size", "MutableHashTableOfTensors", "string", "float32", lambda t: [t.find(t.strings("a"), t.floats([1.0]))], value_shape=[2])
bad_table("vectors_of_unknown_size", "MutableHashTableOfTensors", "string", "float32", lambda t: [t.size()], value_shape=[None])
bad_table("vectors_that_are_scalars", "MutableHashTableOfTensors", "string", "float32", lambda t: [t.size()], value_shape=[])

APART = dict(empty_key=0, deleted_key=-1)
bad_table("insert_the_empty_key", "MutableDenseHashTable", "int64", "float32", lambda t: [t.insert(t.ints(0), t.floats([1.0]))], inputs=APART)
bad_table("insert_the_deleted_key", "MutableDenseHashTable", "int64", "float32", lambda t: [t.insert(t.ints(-1), t.floats([1.0]))], inputs=APART)
bad_table("find_the_empty_key", "MutableDenseHashTable", "int64", "float32", lambda t: [t.find(t.ints(0), t.floats(1.0))], inputs=APART)
bad_table("remove_the_empty_key", "MutableDenseHashTable", "int64", "float32", lambda t: [t.remove(t.ints(0))], inputs=APART)
bad_table("keys_apart_are_equal", "MutableDenseHashTable", "int64", "float32", lambda t: [t.size()], inputs=dict(empty_key=5, deleted_key=5))
bad_table("keys_apart_of_two_shapes", "MutableDenseHashTable", "int64", "float32", lambda t: [t.size()], inputs=dict(empty_key=[5], deleted_key=6))
bad_table("too_few_buckets", "MutableDenseHashTable", "int64", "float32", lambda t: [t.size()], inputs=APART, initial_num_buckets=3)
bad_table("too_full", "MutableDenseHashTable", "int64", "float32", lambda t: [t.size()], inputs=APART, max_load_factor=1.5)


def bad_file(name, key, value, content=LINES, path=None, **attrs):
    bad_table(name, "HashTable", key, value, lambda t: [t.op("InitializeTableFromTextFile", filename=path or text_file(content), **attrs)])


bad_file("no_number", "string", "int64", key_index=0, value_index=1)
bad_file("no_column", "string", "string", key_index=0, value_index=5)
bad_file("more_lines_than_there_are", "string", "int64", key_index=0, value_index=-1, vocab_size=9)
bad_file("no_lines_wanted", "string", "int64", key_index=0, value_index=-1, vocab_size=0)
bad_file("no_file", "string", "int64", path="/nonexistent/file", key_index=0, value_index=-1)
bad_file("long_delimiter", "string", "int64", key_index=0, value_index=-1, delimiter="ab")
bad_file("key_twice", "string", "int64", content=b"a\na\nb", key_index=-2, value_index=-1)
bad_file("empty_line", "string", "int64", content=b"a\n\nb\n", key_index=-2, value_index=-1)
bad_file("empty_file", "string", "int64", content=b"", key_index=-2, value_index=-1)
bad_file("line_number_as_string", "string", "string", key_index=-2, value_index=-1)


@fails
def tables_that_differ(c, tf):
    a = T(c, tf, "MutableHashTable", "string", "int64", shared_name="table")
    c.run([a.size()])
    return [T(c, tf, "MutableHashTable", "string", "float32", shared_name="table").size()]
