"""Data sets, iterators and optionals, as TensorFlow's Python builds them."""

import atexit
import gzip
import os
import shutil
import tempfile
import zlib

import numpy as np

from harness.notation import *

leave_out("DeleteIterator DeleteMemoryCache DeleteSeedGenerator DeleteRandomSeedGenerator", "have nothing to do: what they delete goes with its last handle")
leave_out("DummyIterationCounter AnonymousRandomSeedGenerator", "only ops that we do not have use them")
leave_out("BatchDataset PaddedBatchDataset FixedLengthRecordDataset TFRecordDatasetV2 ParallelMapDataset ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3",
          "TensorFlow rewrites every pipeline and cannot do so with these old forms; they share their kernels with the forms it writes")
leave_out("OptimizeDataset OptimizeDatasetV2 FinalizeDataset", "TensorFlow puts them in by itself; they hand their input on")


def shown(c, tf, dataset, count, one_shot=None):
    """The first `count` elements, one a run."""
    data = tf.data
    if one_shot if one_shot is not None else c.chance():
        iterator = data.make_one_shot_iterator(dataset)
    else:
        iterator = data.make_initializable_iterator(dataset)
        c.run([], [iterator.initializer])
    element = tf.nest.flatten(iterator.get_next())
    for _ in range(count):
        c.run(element)


def walk(c, tf, variant, count, **spec):
    """The same for a data set that raw ops made."""
    raw = tf.raw_ops
    iterator = raw.IteratorV2(shared_name="i", container="", **spec)
    c.run([], [raw.MakeIterator(dataset=variant, iterator=iterator)])
    for _ in range(count):
        c.run(raw.IteratorGetNext(iterator=iterator, **spec))


def numbers(c, low=3, high=12):
    return c.int(low, high)


# Sources.
@program(ops=["TensorDataset", "TensorSliceDataset", "OneShotIterator", "IteratorGetNext", "MakeIterator", "IteratorV2"], count=8)
def tensors(c, tf):
    parts = {"a": c.array(c.pick("float", "int64", "string"), (3, 2)), "b": c.array("int32", (3,))}
    make = c.pick(tf.data.Dataset.from_tensors, tf.data.Dataset.from_tensor_slices)
    shown(c, tf, make(parts), 1 if make is tf.data.Dataset.from_tensors else 3)


@program(ops=["TensorSliceDataset"], count=3)
def captured_tensors(c, tf):
    x = c.feed(c.array("float", (4, 2)), shape=[None, 2])
    shown(c, tf, tf.data.Dataset.from_tensor_slices(x), 4, one_shot=False)


@program(ops=["TensorSliceDataset"], count=2, may_fail=True)
def slices_that_differ(c, tf):
    x, y = c.feed(c.array("float", (4, 2)), shape=[None, 2]), c.feed(c.array("float", (3,)), shape=[None])
    shown(c, tf, tf.data.Dataset.from_tensor_slices((x, y)), 1, one_shot=False)


@program(ops=["RangeDataset"], count=8, may_fail=True)
def ranges(c, tf):
    args = c.pick((5,), (2, 9, 3), (9, 2, -3), (3, 3), (0, 4, -1), (0, 5, 0))
    shown(c, tf, tf.data.Dataset.range(*args, output_type=c.pick(tf.int64, tf.int32, tf.float32)), 2)


@program(ops=["IteratorGetNext"], count=1, may_fail=True)
def end_of_sequence(c, tf):
    shown(c, tf, tf.data.Dataset.range(2), 3)


@program(ops=["IteratorGetNext"], count=1, may_fail=True)
def iterator_without_dataset(c, tf):
    return [tf.data.make_initializable_iterator(tf.data.Dataset.range(2)).get_next()]


# Transformations.
@program(ops=["RepeatDataset", "TakeDataset", "SkipDataset", "ShardDataset"], count=12)
def fewer_and_more(c, tf):
    d = tf.data.Dataset.range(numbers(c))
    d = c.pick(lambda: d.skip(c.int(0, 2)), lambda: d.shard(3, c.int(0, 2)), lambda: d.take(c.pick(2, -1)), lambda: d)()
    d = d.repeat(c.pick(None, -1))
    shown(c, tf, d, 15)


@program(ops=["RepeatDataset", "SkipDataset"], count=6, may_fail=True)
def ends(c, tf):
    d = tf.data.Dataset.range(2)
    d = c.pick(d.repeat(2), d.repeat(0), d.skip(-1), d.skip(5), d.take(0), tf.data.Dataset.range(0).repeat())
    shown(c, tf, d, 5)


@program(ops=["ShardDataset"], count=4, may_fail=True)
def bad_shards(c, tf):
    count, index = c.feed(const("int64", c.pick(0, 3, -1))), c.feed(const("int64", c.pick(3, -1, 5)))
    d = tf.data.Dataset.range(5)
    d = tf.raw_ops.ShardDataset(input_dataset=d._variant_tensor, num_shards=count, index=index, output_types=[tf.int64], output_shapes=[[]])
    iterator = tf.raw_ops.IteratorV2(shared_name="i", container="", output_types=[tf.int64], output_shapes=[[]])
    c.run([], [tf.raw_ops.MakeIterator(dataset=d, iterator=iterator)])


@program(ops=["ZipDataset", "ConcatenateDataset"], count=6)
def together(c, tf):
    a, b = tf.data.Dataset.range(4), tf.data.Dataset.range(10, 10 + c.int(2, 4))
    shown(c, tf, c.pick(tf.data.Dataset.zip((a, b)), a.concatenate(b), tf.data.Dataset.zip((a.concatenate(b), b))), 2)


@program(ops=["CacheDataset"], count=3)
def caches(c, tf):
    d = tf.data.Dataset.range(3).map(lambda x: tf.random.uniform([], seed=4)).cache().repeat(2)
    shown(c, tf, d, 6)


@program(ops=["CacheDatasetV2", "DummyMemoryCache", "AnonymousMemoryCache"], count=8)
def caches_with_resources(c, tf):
    raw, spec = tf.raw_ops, dict(output_types=[tf.int64], output_shapes=[[]])
    cache = c.pick(lambda: raw.DummyMemoryCache(), lambda: raw.AnonymousMemoryCache()[0])()
    d = tf.data.Dataset.range(5).shuffle(5, seed=c.int(1, 9))._variant_tensor
    d = raw.CacheDatasetV2(input_dataset=d, filename="", cache=cache, **spec)
    walk(c, tf, raw.RepeatDataset(input_dataset=d, count=2, **spec), 10, **spec)


@program(ops=["PrefetchDataset", "OptionsDataset", "ModelDataset", "MaxIntraOpParallelismDataset", "PrivateThreadPoolDataset"], count=6)
def how_to_run(c, tf):
    d = tf.data.Dataset.range(10).prefetch(c.pick(0, 1, 3, -1))
    spec = dict(output_types=[tf.int64], output_shapes=[[]])
    raw, v = tf.raw_ops, d._variant_tensor
    v = raw.OptionsDataset(input_dataset=v, serialized_options="", **spec)
    v = raw.ModelDataset(input_dataset=v, **spec)
    v = raw.MaxIntraOpParallelismDataset(input_dataset=v, max_intra_op_parallelism=1, **spec)
    v = raw.PrivateThreadPoolDataset(input_dataset=v, num_threads=2, **spec)
    walk(c, tf, v, 10, **spec)


@program(ops=["PrefetchDataset"], count=1, may_fail=True)
def prefetch_of_nothing(c, tf):
    shown(c, tf, tf.data.Dataset.range(5).prefetch(c.feed(const("int64", -2))), 1, one_shot=False)


# Order: the same seeds give the same order.
@program(ops=["ShuffleDataset"], count=12)
def shuffled(c, tf):
    n = numbers(c)
    d = tf.data.Dataset.range(n).shuffle(c.int(1, 15), seed=c.int(1, 1000), reshuffle_each_iteration=c.chance()).repeat(3)
    shown(c, tf, d, 2 * n)


@program(ops=["ShuffleAndRepeatDataset"], count=6)
def shuffled_over_epochs(c, tf):
    n = numbers(c)
    d = tf.data.Dataset.range(n).apply(tf.data.experimental.shuffle_and_repeat(c.int(1, 15), c.pick(None, 3), seed=c.int(1, 1000)))
    shown(c, tf, d, 3 * n)


@program(ops=["ShuffleDatasetV3", "DummySeedGenerator", "AnonymousSeedGenerator", "ShuffleDatasetV2", "ShuffleAndRepeatDatasetV2"], count=6)
def shuffled_with_generators(c, tf):
    raw, spec = tf.raw_ops, dict(output_types=[tf.int64], output_shapes=[[]])
    d = tf.data.Dataset.range(7)._variant_tensor
    generator = c.pick(lambda: raw.DummySeedGenerator(), lambda: raw.AnonymousSeedGenerator(seed=3, seed2=4, reshuffle=True)[0])()
    own = raw.AnonymousSeedGenerator(seed=5, seed2=6, reshuffle=c.chance())[0]
    d = c.pick(
        lambda: raw.ShuffleDatasetV3(input_dataset=d, buffer_size=4, seed=1, seed2=2, seed_generator=generator, reshuffle_each_iteration=c.chance(), **spec),
        lambda: raw.ShuffleDatasetV2(input_dataset=d, buffer_size=4, seed_generator=own, **spec),
        lambda: raw.ShuffleAndRepeatDatasetV2(input_dataset=d, buffer_size=4, seed=1, seed2=2, count=2, seed_generator=own, **spec))()
    walk(c, tf, raw.RepeatDataset(input_dataset=d, count=2, **spec), 14, **spec)


# Batches.
@program(ops=["BatchDatasetV2", "ParallelBatchDataset"], count=8)
def batches(c, tf):
    d = tf.data.Dataset.from_tensor_slices((c.array("float", (7, 2)), c.array("string", (7,))))
    d = d.batch(c.int(1, 3), drop_remainder=c.chance(), num_parallel_calls=c.pick(None, 2)).repeat()
    shown(c, tf, d, 5)


@program(ops=["BatchDatasetV2"], count=3, may_fail=True)
def bad_batches(c, tf):
    d = tf.data.Dataset.range(3).map(lambda x: tf.range(x + 1))
    shown(c, tf, d.batch(c.feed(const("int64", c.pick(0, 2, -1)))), 2, one_shot=False)


@program(ops=["PaddedBatchDatasetV2"], count=8, may_fail=True)
def padded_batches(c, tf):
    d = tf.data.Dataset.range(1, 6).map(lambda x: (tf.fill([x], x), tf.fill([2, x], "text")))
    d = d.padded_batch(c.int(1, 3), padded_shapes=([c.pick(None, 7, 2)], [c.pick(None, 3), None]), padding_values=(np.int64(-1), "pad"), drop_remainder=c.chance())
    shown(c, tf, d, 2)


# Functions.
@program(ops=["MapDataset", "ParallelMapDatasetV2"], count=10)
def mapped(c, tf):
    w = c.feed(c.array("float", (2, 2)))
    d = tf.data.Dataset.from_tensor_slices(c.array("float", (9, 2, 2)))
    d = d.map(lambda x: (tf.matmul(x, w), tf.reduce_sum(x)), num_parallel_calls=c.pick(None, 1, 3, -1))
    shown(c, tf, d, 9, one_shot=False)


@program(ops=["MapDataset"], count=4)
def mapped_with_control_flow(c, tf):
    def f(x):
        y = tf.while_loop(lambda i, _: i < x, lambda i, a: [i + 1, a * 2 + i], [tf.constant(0, tf.int64), x])[1]
        return tf.cond(x > 2, lambda: y, lambda: -y)

    shown(c, tf, tf.data.Dataset.range(6).map(f, num_parallel_calls=c.pick(None, 2)), 6)


@program(ops=["MapDataset"], count=3)
def mapped_with_a_variable(c, tf):
    v = tf.get_variable("v", (), tf.int64, tf.constant_initializer(10), use_resource=True)
    c.run([], [v.initializer])
    shown(c, tf, tf.data.Dataset.range(4).map(lambda x: x + v.read_value()), 4, one_shot=False)


@program(ops=["MapDataset"], count=2)
def mapped_with_random_numbers(c, tf):
    """They begin anew with each initialisation and go on from epoch to epoch."""
    d = tf.data.Dataset.range(3).map(lambda x: tf.random.uniform([2], seed=c.int(1, 9))).repeat(2)
    iterator = tf.data.make_initializable_iterator(d)
    for _ in range(2):
        c.run([], [iterator.initializer])
        for _ in range(6):
            c.run([iterator.get_next()])


@program(ops=["MapAndBatchDataset"], count=4)
def mapped_and_batched(c, tf):
    d = tf.data.Dataset.range(7).apply(tf.data.experimental.map_and_batch(lambda x: x * x, c.int(1, 3), num_parallel_calls=c.pick(1, 3), drop_remainder=c.chance()))
    shown(c, tf, d, 2)


@program(ops=["MapDataset", "ParallelMapDatasetV2"], count=4, may_fail=True)
def mapping_that_fails(c, tf):
    d = tf.data.Dataset.range(-2, 3).map(lambda x: 6 // x, num_parallel_calls=c.pick(None, 2))
    shown(c, tf, d, c.pick(2, 3))


@program(ops=["FilterDataset"], count=4)
def filtered(c, tf):
    k = c.feed(const("int64", c.int(1, 3)))
    shown(c, tf, tf.data.Dataset.range(20).filter(lambda x: tf.equal(x % 4, k)), 4, one_shot=False)


@program(ops=["FlatMapDataset", "InterleaveDataset"], count=10)
def datasets_of_datasets(c, tf):
    make = lambda x: tf.data.Dataset.from_tensors(x).repeat(x % 4)
    d = tf.data.Dataset.range(9)
    d = c.pick(lambda: d.flat_map(make), lambda: d.interleave(make, cycle_length=c.int(1, 5), block_length=c.int(1, 3)))()
    shown(c, tf, d, 12)


@program(ops=["ParallelInterleaveDatasetV4"], count=10)
def datasets_of_datasets_in_parallel(c, tf):
    make = lambda x: tf.data.Dataset.from_tensors(x).repeat(x % 4)
    calls = c.int(1, 3)
    d = tf.data.Dataset.range(9).interleave(make, cycle_length=calls + c.int(0, 2), block_length=c.int(1, 3), num_parallel_calls=calls)
    shown(c, tf, d, 12)


# Files.
FOLDER = tempfile.mkdtemp(prefix="conformance-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
PACKINGS = {"": lambda data: data, "ZLIB": zlib.compress, "GZIP": gzip.compress}


def written(c, data, packing=""):
    handle, path = tempfile.mkstemp(dir=FOLDER)
    with os.fdopen(handle, "wb") as file:
        file.write(PACKINGS[packing](data))
    return path


def records(tf, *values):
    handle, path = tempfile.mkstemp(dir=FOLDER)
    os.close(handle)
    with tf.io.TFRecordWriter(path) as writer:
        for value in values:
            writer.write(value)
    with open(path, "rb") as file:
        return file.read()


@program(ops=["TextLineDataset"], count=6)
def lines(c, tf):
    packing = c.pick(*PACKINGS)
    files = [written(c, data, packing) for data in (b"one\ntwo\r\n\nfour", b"", b"five\n\r\n", b"\xff\xfe\n" + b"x" * 100000 + b"\nlast\n")]
    shown(c, tf, tf.data.TextLineDataset(files, compression_type=packing or None), 9)


@program(ops=["TFRecordDataset"], count=6)
def tf_records(c, tf):
    packing = c.pick(*PACKINGS)
    files = [written(c, records(tf, b"a", b"", b"b" * 70000), packing), written(c, records(tf, b"c"), packing)]
    shown(c, tf, tf.data.TFRecordDataset(files, compression_type=packing or None), 4)


@program(ops=["TFRecordDataset"], count=8, may_fail=True)
def damaged_records(c, tf):
    data = bytearray(records(tf, b"first", b"second one"))
    damage = c.int(0, 7)
    if damage < 4:
        data = data[: -1 - damage * 6]
    else:
        data[c.pick(0, 9, 14, 30)] ^= 0x40
    shown(c, tf, tf.data.TFRecordDataset(written(c, bytes(data))), 3)


@program(ops=["FixedLengthRecordDatasetV2"], count=8)
def records_of_a_fixed_length(c, tf):
    packing, header, footer = c.pick(*PACKINGS), c.int(0, 2), c.int(0, 3)
    data = b"h" * header + b"abcdefghij" + b"f" * footer
    files = [written(c, data, packing), written(c, data, packing)]
    shown(c, tf, tf.data.FixedLengthRecordDataset(files, 5, header, footer, compression_type=packing or None), 4)


@program(ops=["FixedLengthRecordDatasetV2", "TextLineDataset"], count=6, may_fail=True)
def bad_files(c, tf):
    d = c.pick(
        lambda: tf.data.FixedLengthRecordDataset(written(c, b"abcdefgh"), 5),
        lambda: tf.data.FixedLengthRecordDataset(written(c, b"abcdefgh"), 0),
        lambda: tf.data.TextLineDataset(FOLDER + "/missing"),
        lambda: tf.data.TextLineDataset(written(c, b"not packed"), compression_type="GZIP"),
        lambda: tf.data.TextLineDataset(written(c, b"abc"), compression_type="LZ"))()
    shown(c, tf, d, 2)


# Iterators.
@program(ops=["IteratorToStringHandle", "IteratorFromStringHandleV2", "IteratorFromStringHandle", "Iterator"], count=4)
def iterators_by_handle(c, tf):
    a = tf.data.make_one_shot_iterator(tf.data.Dataset.range(5))
    b = tf.data.make_initializable_iterator(tf.data.Dataset.range(10, 20))
    old = tf.raw_ops.Iterator(shared_name="old", container="", output_types=[tf.int64], output_shapes=[[]])
    c.run([], [b.initializer, tf.raw_ops.MakeIterator(dataset=tf.data.Dataset.range(30, 40)._variant_tensor, iterator=old)])
    for chosen in (a._iterator_resource, b._iterator_resource, old, b._iterator_resource):
        handle = tf.raw_ops.IteratorToStringHandle(resource_handle=chosen)
        find = c.pick(tf.raw_ops.IteratorFromStringHandleV2, tf.raw_ops.IteratorFromStringHandle)
        again = find(string_handle=handle, output_types=[tf.int64], output_shapes=[[]])
        c.run(tf.raw_ops.IteratorGetNext(iterator=again, output_types=[tf.int64], output_shapes=[[]]))


@program(ops=["IteratorFromStringHandleV2"], count=1, may_fail=True)
def iterators_of_other_elements(c, tf):
    a = tf.data.make_one_shot_iterator(tf.data.Dataset.range(5))
    handle = tf.raw_ops.IteratorToStringHandle(resource_handle=a._iterator_resource)
    again = tf.raw_ops.IteratorFromStringHandleV2(string_handle=handle, output_types=[tf.float32], output_shapes=[[]])
    c.run(tf.raw_ops.IteratorGetNext(iterator=again, output_types=[tf.float32], output_shapes=[[]]))


@program(ops=["MakeIterator"], count=2)
def iterators_of_several_datasets(c, tf):
    iterator = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    element = iterator.get_next()
    for d in (tf.data.Dataset.range(3), tf.data.Dataset.range(100, 110).shuffle(5, seed=c.int(1, 9))):
        c.run([], [iterator.make_initializer(d)])
        c.run([element])
        c.run([element])


@program(ops=["MakeIterator"], count=1, may_fail=True)
def datasets_of_other_elements(c, tf):
    iterator = tf.raw_ops.IteratorV2(shared_name="i", container="", output_types=[tf.float32], output_shapes=[[]])
    c.run([], [tf.raw_ops.MakeIterator(dataset=tf.data.Dataset.range(3)._variant_tensor, iterator=iterator)])


@program(ops=["AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3", "IteratorGetNextSync"], count=3)
def anonymous_iterators(c, tf):
    raw, spec = tf.raw_ops, dict(output_types=[tf.int64], output_shapes=[[]])
    iterator = c.pick(lambda: raw.AnonymousIterator(**spec), lambda: raw.AnonymousIteratorV2(**spec)[0], lambda: raw.AnonymousIteratorV3(**spec))()
    with tf.control_dependencies([raw.MakeIterator(dataset=tf.data.Dataset.range(7, 9)._variant_tensor, iterator=iterator)]):
        c.run(raw.IteratorGetNextSync(iterator=iterator, **spec))


# Optionals.
@program(ops=["IteratorGetNextAsOptional", "OptionalHasValue", "OptionalGetValue"], count=2)
def elements_or_nothing(c, tf):
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(2))
    c.run([], [iterator.initializer])
    optional = tf.raw_ops.IteratorGetNextAsOptional(iterator=iterator._iterator_resource, output_types=[tf.int64], output_shapes=[[]])
    there = tf.raw_ops.OptionalHasValue(optional=optional)
    value = tf.raw_ops.OptionalGetValue(optional=optional, output_types=[tf.int64], output_shapes=[[]])
    for _ in range(2):
        c.run([there, *value])
    c.run([there])


@program(ops=["OptionalFromValue", "OptionalNone", "OptionalGetValue", "OptionalHasValue"], count=6, may_fail=True)
def optionals(c, tf):
    raw = tf.raw_ops
    optional = raw.OptionalFromValue(components=[c.feed(c.array("float", (2,))), c.feed(c.array("string", ()))]) if c.chance(0.8) else raw.OptionalNone()
    types, shapes = c.pick(([tf.float32, tf.string], [[2], []]), ([tf.float32, tf.string], [[None], []]), ([tf.int32, tf.string], [[2], []]),
                           ([tf.float32], [[2]]), ([tf.float32, tf.string], [[3], []]))
    return [raw.OptionalHasValue(optional=optional), *raw.OptionalGetValue(optional=optional, output_types=types, output_shapes=shapes)]


@program(ops=["DatasetCardinality"], count=16)
def cardinalities(c, tf):
    d = tf.data.Dataset.range(c.int(0, 7))
    d = c.pick(d.repeat(), d.repeat(3), d.take(3), d.skip(2), d.shard(3, 1), d.batch(2), d.batch(2, drop_remainder=True), d.filter(lambda x: x > 2),
               d.map(lambda x: x), d.concatenate(d), tf.data.Dataset.zip((d, d.repeat())), d.prefetch(1), d.shuffle(3), d.flat_map(lambda x: d), d.cache(), d)
    return [tf.raw_ops.DatasetCardinality(input_dataset=d._variant_tensor)]
