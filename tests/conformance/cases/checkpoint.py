"""Checkpoints, both ways: ours reads what TensorFlow wrote, and what ours writes equals TensorFlow's files byte for byte."""

import atexit
import pathlib
import shutil
import tempfile

import numpy as np

from harness.notation import *

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="conformance-checkpoints-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def contents(tf, prefix, shards=1):
    """The bytes of the files of a checkpoint."""
    names = [f"{prefix}.index"] + [f"{prefix}.data-{i:05}-of-{shards:05}" for i in range(shards)]
    return [tf.io.read_file(name) for name in names]


def some_tensors(c):
    """Names and arrays of every type, with scalars and zero-sized ones."""
    arrays = {f"{dtype}/{i}": c.array(dtype, shape) for dtype in ALL_TYPES for i, shape in enumerate([(), (2, 3), (0, 4), (5,)])}
    arrays["long strings"] = np.array([b"", b"x" * 1000, bytes(range(256))], object)
    names = list(arrays)
    c.rng.shuffle(names)
    return names, [arrays[name] for name in names]


def write_with_tensorflow(tf, prefix, names, slices, arrays):
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=slices, tensors=arrays))


@program(ops=["SaveV2", "RestoreV2"], count=4)
def save_and_restore(c, tf):
    prefix = str(FOLDER / f"saved{c.int(0, 9)}")
    names, arrays = some_tensors(c)
    save = tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), tensors=[c.feed(a) for a in arrays])
    c.run(targets=[save])
    c.run(contents(tf, prefix))
    c.run(tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), dtypes=[a.dtype if a.dtype != object else tf.string for a in arrays]))


@program(ops=["RestoreV2"], count=3)
def restore_what_tensorflow_saved(c, tf):
    prefix = str(FOLDER / f"theirs{c.int(0, 9)}")
    names, arrays = some_tensors(c)
    write_with_tensorflow(tf, prefix, names, [""] * len(names), arrays)
    return tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), dtypes=[a.dtype if a.dtype != object else tf.string for a in arrays])


@program(ops=["SaveV2", "RestoreV2"], count=6)
def slices(c, tf):
    prefix = str(FOLDER / f"slices{c.int(0, 9)}")
    dtype = c.pick("float", "bool", "int64", "bfloat16")
    rows, columns = c.int(2, 200), c.int(2, 5)
    cut = c.int(1, rows - 1)
    array = c.array(dtype, (rows, columns))
    kind = tf.as_dtype(dtype)
    save = tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=["w", "w", "v"], tensors=[c.feed(array[:cut]), c.feed(array[cut:]), c.feed(array)],
        shape_and_slices=[f"{rows} {columns} 0,{cut}:-", f"{rows} {columns} {cut},{rows - cut}:-", f"{rows} {columns} -:-"])
    c.run(targets=[save])
    c.run(contents(tf, prefix))
    start, first = c.int(0, rows - 1), c.int(0, columns - 1)
    part = f"{rows} {columns} {start},{c.int(1, rows - start)}:{first},{c.int(1, columns - first)}"
    c.run(tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["w", "w", "v", "v"], shape_and_slices=["", part, part, ""], dtypes=[kind] * 4))


@program(ops=["MergeV2Checkpoints"], count=2)
def merge(c, tf):
    prefixes = [str(FOLDER / f"merge{i}" / "part") for i in range(3)]
    destination = str(FOLDER / "merged")
    arrays = [c.feed(c.array("float", (c.int(1, 5),))) for _ in prefixes]
    saves = [
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=[f"t{i}", "w"], shape_and_slices=["", f"6 {2 * i},2"], tensors=[array, tf.constant([1.0, 2.0])])
        for i, (prefix, array) in enumerate(zip(prefixes, arrays))]
    c.run(targets=saves)
    c.run(targets=[tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=prefixes, destination_prefix=destination, delete_old_dirs=c.chance())])
    c.run(contents(tf, destination, 3) + tf.raw_ops.RestoreV2(prefix=destination, tensor_names=["t1", "w"], shape_and_slices=["", ""], dtypes=[tf.float32] * 2))


@program(ops=["SaveV2", "RestoreV2", "Identity"], count=2)
def saver(c, tf):
    """TensorFlow's own Saver, with a partitioned variable, a string and sharding."""
    weights = tf.get_variable("w", (10, 3), partitioner=tf.fixed_size_partitioner(3), initializer=tf.constant_initializer(2.5))
    step = tf.get_variable("step", (), dtype=tf.int64, initializer=tf.constant_initializer(7))
    text = tf.Variable("hello", name="text")
    made = tf.train.Saver(sharded=c.chance())
    definition = made.saver_def
    prefix = tf.get_default_graph().get_tensor_by_name(definition.filename_tensor_name)
    change = [tf.assign(step, 100), tf.assign(text, "other")] + [tf.assign(part, tf.zeros_like(part)) for part in weights]
    c.feeds[prefix.name] = np.array(str(FOLDER / "saver").encode(), object)
    c.run(targets=[tf.global_variables_initializer()])
    c.run([tf.get_default_graph().get_tensor_by_name(definition.save_tensor_name)])
    c.run(targets=[op.op for op in change])
    c.run(targets=[tf.get_default_graph().get_operation_by_name(definition.restore_op_name)])
    c.run([step, text, tf.identity(weights)])


X = zeros("float", 3, 4)
SAVED = dict(prefix=const("string", str(FOLDER / "bad")), tensor_names=const("string", ["a"]), shape_and_slices=const("string", [""]), tensors=[X])
op("SaveV2", SAVED, dict(dtypes=[["float"]]), count=0, empty=0, special=0, bad=[
    dict(prefix=const("string", str(FOLDER / "no/such/folder/x"))),
    dict(prefix=const("string", ["x"])),
    dict(shape_and_slices=const("string", ["", ""])),
    dict(tensor_names=const("string", [["a"]])),
    dict(tensor_names=const("string", ["a", "a"]), shape_and_slices=const("string", ["", ""]), tensors=[X, X], dtypes=["float", "float"]),
    dict(shape_and_slices=const("string", ["6 4 0,2:-"])),
    dict(shape_and_slices=const("string", ["6 4 5,3:-"])),
    dict(shape_and_slices=const("string", ["6 4 0,3"])),
    dict(shape_and_slices=const("string", ["6 x 0,3:-"])),
    dict(shape_and_slices=const("string", ["6 4 0,3:-,"])),
    dict(shape_and_slices=const("string", ["nonsense"])),
])


def saved(c):
    prefix = FOLDER / "some"
    if not prefix.with_suffix(".index").exists():
        import tensorflow
        write_with_tensorflow(tensorflow.compat.v1, str(prefix), ["a", "p"], ["", "6 4 0,3:-"], [X, X])
    return const("string", str(prefix))


op("RestoreV2", dict(prefix=saved, tensor_names=const("string", ["a"]), shape_and_slices=const("string", [""])), dict(dtypes=[["float"]]), count=1, empty=0, special=0, vague=False, bad=[
    dict(prefix=const("string", str(FOLDER / "missing"))),
    dict(tensor_names=const("string", ["b"])),
    dict(dtypes=["int32"]),
    dict(tensor_names=const("string", ["p"])),
    dict(shape_and_slices=const("string", ["3 5 0,2:-"])),
    dict(shape_and_slices=const("string", ["3 4 0,4:-"])),
    dict(shape_and_slices=const("string", ["3 4 0,4"])),
    dict(shape_and_slices=const("string", ["3 4 -1,2:-"])),
    dict(shape_and_slices=const("string", ["3 4 0,0:-"])),
    dict(shape_and_slices=const("string", ["3"])),
    dict(tensor_names=const("string", ["a", "a"])),
])
op("MergeV2Checkpoints", dict(checkpoint_prefixes=const("string", [str(FOLDER / "missing")]), destination_prefix=const("string", str(FOLDER / "m"))), count=0, empty=0, special=0, bad=[
    dict(), dict(checkpoint_prefixes=const("string", "x")), dict(checkpoint_prefixes=const("string", [])), dict(destination_prefix=const("string", ["x"]))])
op("ShardedFilename", dict(basename=t("string", ""), shard=t("int32", "", between(-3, 200000)), num_shards=t("int32", "", between(0, 200000))), count=4, empty=0, special=0,
   bad=[dict(shard=const("int32", [1]))])
op("ShardedFilespec", dict(basename=t("string", ""), num_shards=t("int32", "", between(0, 200000))), count=3, empty=0, special=0, bad=[dict(basename=const("string", ["a"]))])
