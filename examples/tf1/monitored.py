"""Asynchronous training in a tf.train.MonitoredTrainingSession with hooks.

A recurrent network reads digits row by row. Hooks stop at the last step, log and guard the loss; the chief, worker 0, saves into --checkpoint_dir, from
which a job that is started again goes on.
"""

from __future__ import print_function

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "host:port of each parameter server, with commas")
flags.DEFINE_string("worker_hosts", "", "host:port of each worker, with commas")
flags.DEFINE_string("job_name", "", "ps or worker")
flags.DEFINE_integer("task_index", 0, "the number of this task in its job")
flags.DEFINE_string("data_dir", "MNIST_data", "the folder with MNIST's files")
flags.DEFINE_string("checkpoint_dir", None, "where the chief saves; none: nowhere")
flags.DEFINE_integer("units", 32, "of the LSTM cell")
flags.DEFINE_integer("batch_size", 50, "pictures in a batch")
flags.DEFINE_float("learning_rate", 0.01, "of Adam")
flags.DEFINE_integer("steps", 240, "updates by all workers together")
flags.DEFINE_integer("print_every", 20, "steps between two lines with the loss")
flags.DEFINE_integer("seed", 1, "of the weights and of the order of the pictures")
FLAGS = flags.FLAGS


class LossLines(tf.train.SessionRunHook):
    """Says the loss every so many steps of this worker."""

    def __init__(self, loss, every):
        self._loss, self._every, self._taken = loss, every, 0

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        self._taken += 1
        if self._taken % self._every == 0:
            print("worker %d: after %d steps of its own the loss is %.5f" % (FLAGS.task_index, self._taken, run_values.results), flush=True)


def network(rows):
    cell = tf.nn.rnn_cell.BasicLSTMCell(FLAGS.units)
    outputs, _ = tf.nn.dynamic_rnn(cell, rows, dtype=tf.float32)
    return tf.layers.dense(outputs[:, -1], 10, name="logits")


def main(_):
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    config = tf.ConfigProto(allow_soft_placement=True)
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index, config=config)
    if FLAGS.job_name == "ps":
        server.join()
        return

    tf.set_random_seed(FLAGS.seed)
    mnist = input_data.read_data_sets(FLAGS.data_dir, seed=FLAGS.seed + FLAGS.task_index)
    with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % FLAGS.task_index, cluster=cluster)):
        global_step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [None, 784])
        y = tf.placeholder(tf.int64, [None])
        logits = network(tf.reshape(x, [-1, 28, 28]))
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        train = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(loss, global_step)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))

    test = {x: mnist.test.images[:1000], y: mnist.test.labels[:1000]}
    result = tf.train.FinalOpsHook(accuracy, test)
    hooks = [tf.train.StopAtStepHook(last_step=FLAGS.steps), tf.train.NanTensorHook(loss), LossLines(loss, FLAGS.print_every), result]
    with tf.train.MonitoredTrainingSession(server.target, is_chief=FLAGS.task_index == 0, checkpoint_dir=FLAGS.checkpoint_dir, hooks=hooks,
                                           save_summaries_steps=None, save_summaries_secs=None) as session:
        while not session.should_stop():
            images, labels = mnist.train.next_batch(FLAGS.batch_size)
            session.run(train, {x: images, y: labels})
    print("worker %d: test accuracy %.4f" % (FLAGS.task_index, result.final_ops_values))


if __name__ == "__main__":
    tf.app.run()
