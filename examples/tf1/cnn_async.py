"""A small convolutional network learns digits, asynchronously, built with tf.contrib.slim.

tf.train.replica_device_setter deals the variables to the parameter servers. The script asks for the first GPU of its worker and allows soft placement:
where there is none the ops run on the CPU.
"""

from __future__ import print_function

import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.examples.tutorials.mnist import input_data

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "host:port of each parameter server, with commas")
flags.DEFINE_string("worker_hosts", "", "host:port of each worker, with commas")
flags.DEFINE_string("job_name", "", "ps or worker")
flags.DEFINE_integer("task_index", 0, "the number of this task in its job")
flags.DEFINE_string("data_dir", "MNIST_data", "the folder with MNIST's files")
flags.DEFINE_integer("batch_size", 50, "pictures in a batch")
flags.DEFINE_float("learning_rate", 0.002, "of Adam")
flags.DEFINE_integer("steps", 200, "updates by all workers together")
flags.DEFINE_integer("print_every", 20, "steps between two lines with the loss")
flags.DEFINE_integer("seed", 1, "of the weights and of the order of the pictures")
FLAGS = flags.FLAGS


def network(images):
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_initializer=slim.xavier_initializer(seed=FLAGS.seed),
                        weights_regularizer=slim.l2_regularizer(1e-4)):
        net = slim.conv2d(images, 8, [5, 5], stride=2, scope="conv1")
        net = slim.conv2d(net, 16, [3, 3], scope="conv2")
        net = slim.max_pool2d(net, [2, 2], scope="pool")
        net = slim.fully_connected(slim.flatten(net), 64, scope="hidden")
        return slim.fully_connected(net, 10, activation_fn=None, scope="logits")


def train(server, cluster):
    mnist = input_data.read_data_sets(FLAGS.data_dir, reshape=False, seed=FLAGS.seed + FLAGS.task_index)
    tf.set_random_seed(FLAGS.seed)
    with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d/gpu:0" % FLAGS.task_index, cluster=cluster)):
        global_step = slim.get_or_create_global_step()
        images = tf.placeholder(tf.float32, [None, 28, 28, 1])
        labels = tf.placeholder(tf.int64, [None])
        logits = network(images)
        tf.losses.sparse_softmax_cross_entropy(labels, logits)
        loss = tf.losses.get_total_loss()
        step_op = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(loss, global_step)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))

    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.train.MonitoredTrainingSession(server.target, is_chief=FLAGS.task_index == 0, config=config) as session:
        step, taken = 0, 0
        while step < FLAGS.steps:
            pictures, digits = mnist.train.next_batch(FLAGS.batch_size)
            _, value, step = session.run([step_op, loss, global_step], {images: pictures, labels: digits})
            taken += 1
            if taken % FLAGS.print_every == 0:
                print("worker %d: after %d steps of its own the loss is %.5f" % (FLAGS.task_index, taken, value), flush=True)
        test = session.run(accuracy, {images: mnist.test.images[:1000], labels: mnist.test.labels[:1000]})
        print("worker %d: test accuracy %.4f" % (FLAGS.task_index, test))


def main(_):
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
    else:
        train(server, cluster)


if __name__ == "__main__":
    tf.app.run()
