"""Checkpoints and summaries that our server writes, and those that TensorFlow does."""

import glob
import os

import numpy as np
import tensorflow as tf

from harness.scenarios import scenario

tf1 = tf.compat.v1


def variables():
    """Of several types, kinds and partitions; the values that they start with."""
    rng = np.random.default_rng(2)
    values = {
        "weights": rng.standard_normal((7, 5)).astype(np.float32),
        "doubles": rng.standard_normal(3),
        "numbers": np.int64([1, -2, 1 << 40]),
        "flag": np.array(True),
        "words": np.array([b"a", b"", b"\xff\0"], object),
        "half": rng.standard_normal(4).astype(np.float16),
        "nothing": np.zeros((0, 3), np.float32),
    }
    made = [tf1.Variable(tf.constant(value, tf.string if value.dtype == object else None), name=name, use_resource=i % 2 == 0)
            for i, (name, value) in enumerate(values.items())]
    table = rng.standard_normal((9, 2)).astype(np.float32)
    rows = lambda shape, partition_info, **_: table[partition_info.var_offset[0]:][:shape[0]]
    made += list(tf1.get_variable("table", [9, 2], initializer=rows, partitioner=tf1.fixed_size_partitioner(3)))
    values["table"] = table
    return made, values


def clear(made):
    return tf.group(*[v.assign(tf.zeros_like(v)) for v in made])


def check(session, made, values):
    got = session.run(made)
    got[-3:] = [np.concatenate(got[-3:])]
    for name, value, expected in zip(values, got, values.values()):
        assert np.array_equal(value, expected), f"{name}: {value}, not {expected}"


@scenario
def round_trip(scene):
    made, values = variables()
    saver = tf1.train.Saver()
    empty = clear(made)
    with scene.session() as session:
        session.run(tf1.global_variables_initializer())
        path = saver.save(session, scene.path("model"), global_step=7)
        assert path == scene.path("model-7") and tf1.train.latest_checkpoint(scene.folder) == path
        assert os.path.exists(path + ".meta") and os.path.exists(path + ".index")
        session.run(empty)
        assert session.run(made[0]).max() == 0
        saver.restore(session, path)
        check(session, made, values)
    reader = tf1.train.NewCheckpointReader(path)
    shapes = reader.get_variable_to_shape_map()
    assert shapes == {name: list(value.shape) for name, value in values.items()}, shapes
    for name, value in values.items():
        assert np.array_equal(reader.get_tensor(name), value), name
    with tf1.Session() as session:
        saver.restore(session, path)
        check(session, made, values)


@scenario
def written_by_tensorflow(scene):
    made, values = variables()
    saver = tf1.train.Saver()
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        path = saver.save(session, scene.path("model"))
    with scene.session() as session:
        saver.restore(session, path)
        check(session, made, values)


@scenario
def sharded(scene):
    made, values = variables()
    saver = tf1.train.Saver(sharded=True)
    empty = clear(made)
    with scene.session() as session:
        session.run(tf1.global_variables_initializer())
        path = saver.save(session, scene.path("model"))
        session.run(empty)
        saver.restore(session, path)
        check(session, made, values)
    assert set(tf1.train.NewCheckpointReader(path).get_variable_to_shape_map()) == set(values)


@scenario
def old_checkpoints_are_deleted(scene):
    v = tf1.Variable(1.0)
    saver = tf1.train.Saver(max_to_keep=2)
    with scene.session() as session:
        session.run(v.initializer)
        for step in range(5):
            saver.save(session, scene.path("model"), global_step=step)
    assert len(glob.glob(scene.path("*.index"))) == 2
    assert tf1.train.get_checkpoint_state(scene.folder).all_model_checkpoint_paths == [scene.path("model-3"), scene.path("model-4")]


@scenario
def import_meta_graph(scene):
    x = tf1.placeholder(tf.float32, [], name="x")
    v = tf1.get_variable("v", [], initializer=tf1.constant_initializer(4.0))
    tf.multiply(x, v, name="y")
    with scene.session() as session:
        session.run(v.initializer)
        path = tf1.train.Saver().save(session, scene.path("model"))
    tf1.Session.reset(scene.target)
    with tf1.Graph().as_default():
        saver = tf1.train.import_meta_graph(path + ".meta")
        with scene.session() as session:
            saver.restore(session, path)
            assert session.run("y:0", {"x:0": 2}) == 8


@scenario
def missing_and_mismatched(scene):
    a = tf1.get_variable("a", [2], initializer=tf1.zeros_initializer())
    with scene.session() as session:
        session.run(a.initializer)
        path = tf1.train.Saver().save(session, scene.path("model"))
    for name, shape, error in [("b", [2], tf.errors.NotFoundError), ("a", [3], tf.errors.InvalidArgumentError)]:
        tf1.Session.reset(scene.target)
        with tf1.Graph().as_default():
            tf1.get_variable(name, shape)
            saver = tf1.train.Saver()
            with scene.session() as session:
                try:
                    saver.restore(session, path)
                    raise AssertionError(f"restored {name}{shape}")
                except error:
                    pass
                try:
                    saver.restore(session, scene.path("nothing"))
                    raise AssertionError("restored from nothing")
                except (ValueError, tf.errors.NotFoundError):
                    pass


@scenario
def saved_model(scene):
    x = tf1.placeholder(tf.float32, [None])
    v = tf1.Variable(3.0)
    y = x * v
    with scene.session() as session:
        session.run(v.initializer)
        tf1.saved_model.simple_save(session, scene.path("saved"), {"x": x}, {"y": y})
    tf1.Session.reset(scene.target)
    with tf1.Graph().as_default(), scene.session() as session:
        model = tf1.saved_model.load(session, ["serve"], scene.path("saved"))
        signature = model.signature_def["serving_default"]
        assert session.run(signature.outputs["y"].name, {signature.inputs["x"].name: [2]}).tolist() == [6]


@scenario
def summaries(scene):
    x = tf1.placeholder(tf.float32, [None])
    tf1.summary.scalar("average", tf.reduce_mean(x))
    tf1.summary.histogram("values", x)
    tf1.summary.text("words", tf.constant("hello"))
    tf1.summary.image("picture", tf.reshape(x, [1, 2, 2, 1]))
    merged = tf1.summary.merge_all()
    with scene.session() as session, tf1.summary.FileWriter(scene.folder, session.graph) as writer:
        for step in range(3):
            options, metadata = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), tf1.RunMetadata()
            writer.add_summary(session.run(merged, {x: [step, 1, 2, 3]}, options=options, run_metadata=metadata), step)
            writer.add_run_metadata(metadata, f"step{step}")
    events = [event for path in glob.glob(scene.path("events*")) for event in tf1.train.summary_iterator(path)]
    means = [value.simple_value for event in events for value in event.summary.value if value.tag == "average"]
    assert means == [1.5, 1.75, 2.0], means
    tags = {value.tag for event in events for value in event.summary.value}
    assert {"average", "values", "words", "picture/image/0"} <= tags, tags
