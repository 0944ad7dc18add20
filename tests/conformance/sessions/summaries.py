"""Summaries of our server in event files that TensorFlow writes."""

import glob

import numpy as np
import tensorflow as tf

from harness.scenarios import scenario

tf1 = tf.compat.v1


def model():
    """(x, all its summaries merged)."""
    x = tf1.placeholder(tf.float32, [2, 6, 6, 3], "x")
    tf1.summary.scalar("mean", tf.reduce_max(x) * 0.5)
    tf1.summary.histogram("values", x)
    tf1.summary.image("picture", x, max_outputs=2)
    tf1.summary.audio("sound", tf.reshape(x, [2, 108]) / 8, 8000)
    tf1.summary.text("words", tf.strings.as_string(tf.shape(x)))
    tf1.summary.tensor_summary("tensor", tf.cast(x, tf.int32))
    return x, tf1.summary.merge_all()


def events(target, folder):
    """What a FileWriter writes of three steps."""
    with tf1.Graph().as_default() as graph:
        x, merged = model()
        with tf1.Session(target) as session, tf1.summary.FileWriter(folder, graph) as writer:
            for step in range(3):
                fed = np.random.default_rng(step).integers(-8, 8, [2, 6, 6, 3]).astype(np.float32)
                writer.add_summary(session.run(merged, {x: fed}), step)
    (path,) = glob.glob(folder + "/events*")
    return list(tf1.train.summary_iterator(path))


@scenario
def event_files_as_of_tensorflow(scene):
    ours, theirs = events(scene.target, scene.path("ours")), events("", scene.path("theirs"))
    kinds = lambda events: [(event.step, event.WhichOneof("what")) for event in events]
    assert kinds(ours) == kinds(theirs)
    assert [step for step, kind in kinds(ours) if kind == "summary"] == [0, 1, 2], kinds(ours)
    for event, other in zip(ours, theirs):
        assert event.summary == other.summary, (event.step, str(event.summary)[:1000], str(other.summary)[:1000])


@scenario
def summaries_of_a_run(scene):
    """FileWriter and the trace of a step, which TensorBoard shows with the graph."""
    with tf1.Graph().as_default() as graph:
        x, merged = model()
        folder = scene.path("run")
        with tf1.Session(scene.target) as session, tf1.summary.FileWriter(folder, graph) as writer:
            metadata = tf1.RunMetadata()
            options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
            session.run(merged, {x: np.ones([2, 6, 6, 3])}, options, metadata)
            writer.add_run_metadata(metadata, "step", 1)
    (path,) = glob.glob(folder + "/events*")
    tagged = [event.tagged_run_metadata for event in tf1.train.summary_iterator(path) if event.WhichOneof("what") == "tagged_run_metadata"]
    assert [tag.tag for tag in tagged] == ["step"]
    read = tf1.RunMetadata.FromString(tagged[0].run_metadata)
    assert {node.node_name.split(":")[0] for device in read.step_stats.dev_stats for node in device.node_stats} >= {"picture", "sound"}
