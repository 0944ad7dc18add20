"""In-graph replication: one client builds a graph whose towers run on all workers, and drives them all.

Worker 0 is the client. Every tower has its part of each batch; the mean of their gradients updates the variables, which are on the parameter servers.
All tasks but worker 0 only serve.
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
flags.DEFINE_integer("batch_size", 100, "pictures in a batch, all towers together")
flags.DEFINE_float("learning_rate", 0.5, "the step of gradient descent")
flags.DEFINE_integer("steps", 150, "how many updates")
flags.DEFINE_integer("print_every", 20, "steps between two lines with the loss")
flags.DEFINE_integer("seed", 1, "of the weights and of the order of the pictures")
FLAGS = flags.FLAGS


def tower_loss(images, labels):
    hidden = tf.layers.dense(images, 64, tf.nn.relu, name="hidden")
    logits = tf.layers.dense(hidden, 10, name="logits")
    right = tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.float32)
    return tf.losses.sparse_softmax_cross_entropy(labels, logits), tf.reduce_mean(right)


def mean_gradients(towers):
    """The mean over the towers of the gradient of each variable."""
    means = []
    for pairs in zip(*towers):
        gradients = [gradient for gradient, _ in pairs]
        means.append((tf.add_n(gradients) / len(gradients), pairs[0][1]))
    return means


def drive(server):
    workers = len(FLAGS.worker_hosts.split(","))
    mnist = input_data.read_data_sets(FLAGS.data_dir, seed=FLAGS.seed)
    tf.set_random_seed(FLAGS.seed)
    optimizer = tf.train.GradientDescentOptimizer(FLAGS.learning_rate)
    images = tf.placeholder(tf.float32, [None, 784])
    labels = tf.placeholder(tf.int32, [None])
    towers, losses, accuracies = [], [], []
    for task in range(workers):
        setter = tf.train.replica_device_setter(ps_tasks=len(FLAGS.ps_hosts.split(",")), worker_device="/job:worker/task:%d" % task)
        with tf.device(setter), tf.name_scope("tower_%d" % task), tf.variable_scope("model", reuse=task > 0):
            loss, accuracy = tower_loss(images[task::workers], labels[task::workers])
            towers.append(optimizer.compute_gradients(loss))
            losses.append(loss)
            accuracies.append(accuracy)
    with tf.device("/job:worker/task:0"):
        loss, accuracy = tf.add_n(losses) / workers, tf.add_n(accuracies) / workers
        train = optimizer.apply_gradients(mean_gradients(towers))

    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        for step in range(1, FLAGS.steps + 1):
            pictures, digits = mnist.train.next_batch(FLAGS.batch_size)
            _, value = session.run([train, loss], {images: pictures, labels: digits})
            if step % FLAGS.print_every == 0:
                print("after %d steps the loss is %.5f" % (step, value), flush=True)
        test = session.run(accuracy, {images: mnist.test.images[:2000], labels: mnist.test.labels[:2000]})
        print("test accuracy %.4f" % test)


def main(_):
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "worker" and FLAGS.task_index == 0:
        drive(server)
    else:
        server.join()


if __name__ == "__main__":
    tf.app.run()
