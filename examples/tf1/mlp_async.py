"""A network with one hidden layer learns digits, asynchronously: the plainest way that there is in TensorFlow 1.x.

Variables and their updates are on the parameter servers, by device scopes written by hand; each worker builds the whole graph and trains at its own
pace. Worker 0 initialises the variables, the others wait until that has been done.

  mlp_async.py --ps_hosts=127.0.0.1:2222 --worker_hosts=127.0.0.1:2223 --job_name=ps --task_index=0
  mlp_async.py --ps_hosts=127.0.0.1:2222 --worker_hosts=127.0.0.1:2223 --job_name=worker --task_index=0
"""

from __future__ import print_function

import time

import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "host:port of each parameter server, with commas")
flags.DEFINE_string("worker_hosts", "", "host:port of each worker, with commas")
flags.DEFINE_string("job_name", "", "ps or worker")
flags.DEFINE_integer("task_index", 0, "the number of this task in its job")
flags.DEFINE_string("data_dir", "MNIST_data", "the folder with MNIST's files")
flags.DEFINE_integer("hidden_units", 100, "units of the hidden layer")
flags.DEFINE_integer("batch_size", 100, "pictures in a batch")
flags.DEFINE_float("learning_rate", 0.2, "the step of gradient descent")
flags.DEFINE_integer("steps", 300, "updates by all workers together")
flags.DEFINE_integer("print_every", 20, "steps between two lines with the loss")
flags.DEFINE_integer("seed", 1, "of the weights and of the order of the pictures")
FLAGS = flags.FLAGS


def build():
    """Placeholders for pictures and labels, the counter of updates, training, loss and accuracy."""
    with tf.device("/job:ps/task:0"):
        global_step = tf.Variable(0, name="global_step", trainable=False)
        hidden_weights = tf.Variable(tf.truncated_normal([784, FLAGS.hidden_units], stddev=0.05), name="hidden_weights")
        hidden_biases = tf.Variable(tf.zeros([FLAGS.hidden_units]), name="hidden_biases")
    with tf.device("/job:ps/task:%d" % (len(FLAGS.ps_hosts.split(",")) - 1)):
        weights = tf.Variable(tf.truncated_normal([FLAGS.hidden_units, 10], stddev=0.1), name="weights")
        biases = tf.Variable(tf.zeros([10]), name="biases")
    with tf.device("/job:worker/task:%d" % FLAGS.task_index):
        x = tf.placeholder(tf.float32, [None, 784])
        y = tf.placeholder(tf.float32, [None, 10])
        hidden = tf.nn.relu(tf.nn.xw_plus_b(x, hidden_weights, hidden_biases))
        logits = tf.nn.xw_plus_b(hidden, weights, biases)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
        train = tf.train.GradientDescentOptimizer(FLAGS.learning_rate).minimize(loss, global_step=global_step)
        right = tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1))
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
    return x, y, global_step, train, loss, accuracy


def main(_):
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
        return

    tf.set_random_seed(FLAGS.seed)
    mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True, seed=FLAGS.seed + FLAGS.task_index)
    x, y, global_step, train, loss, accuracy = build()
    missing = tf.report_uninitialized_variables()
    with tf.Session(server.target) as session:
        if FLAGS.task_index == 0:
            session.run(tf.global_variables_initializer())
        while len(session.run(missing)):
            time.sleep(0.1)
        step, taken = 0, 0
        while step < FLAGS.steps:
            images, labels = mnist.train.next_batch(FLAGS.batch_size)
            _, value, step = session.run([train, loss, global_step], {x: images, y: labels})
            taken += 1
            if taken % FLAGS.print_every == 0:
                print("worker %d: after %d steps of its own the loss is %.5f" % (FLAGS.task_index, taken, value), flush=True)
        test = session.run(accuracy, {x: mnist.test.images[:2000], y: mnist.test.labels[:2000]})
        print("worker %d: test accuracy %.4f" % (FLAGS.task_index, test))


if __name__ == "__main__":
    tf.app.run()
