"""Asynchronous training under tf.train.Supervisor, which initialises, waits, saves and recovers.

Softmax regression with Adagrad. The chief, worker 0, writes checkpoints and summaries into --log_dir; started again, the job goes on from the last one.
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
flags.DEFINE_string("log_dir", "", "where the chief writes checkpoints and summaries; none: nowhere")
flags.DEFINE_integer("batch_size", 100, "pictures in a batch")
flags.DEFINE_float("learning_rate", 0.05, "of Adagrad")
flags.DEFINE_integer("steps", 200, "updates by all workers together")
flags.DEFINE_integer("print_every", 20, "steps between two lines with the loss")
flags.DEFINE_integer("seed", 1, "of the weights and of the order of the pictures")
FLAGS = flags.FLAGS


def main(_):
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()

    is_chief = FLAGS.task_index == 0
    tf.set_random_seed(FLAGS.seed)
    mnist = input_data.read_data_sets(FLAGS.data_dir, one_hot=True, seed=FLAGS.seed + FLAGS.task_index)
    setter = tf.train.replica_device_setter(worker_device="/job:worker/task:%d/cpu:0" % FLAGS.task_index, ps_device="/job:ps/cpu:0", cluster=cluster)
    with tf.device(setter):
        global_step = tf.Variable(0, name="global_step", trainable=False)
        x = tf.placeholder(tf.float32, [None, 784])
        y = tf.placeholder(tf.float32, [None, 10])
        weights = tf.Variable(tf.random_normal([784, 10], stddev=0.01), name="weights")
        biases = tf.Variable(tf.zeros([10]), name="biases")
        logits = tf.matmul(x, weights) + biases
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
        train = tf.train.AdagradOptimizer(FLAGS.learning_rate).minimize(loss, global_step=global_step)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))
        tf.summary.scalar("loss", loss)
        summaries = tf.summary.merge_all()
        init = tf.global_variables_initializer()

    supervisor = tf.train.Supervisor(is_chief=is_chief, logdir=FLAGS.log_dir or None, init_op=init, summary_op=None, saver=tf.train.Saver(),
                                     global_step=global_step, recovery_wait_secs=1)
    # A worker needs the parameter servers and itself, but no other worker.
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % FLAGS.task_index])
    with supervisor.prepare_or_wait_for_session(server.target, config=config) as session:
        step, taken = 0, 0
        while not supervisor.should_stop() and step < FLAGS.steps:
            images, labels = mnist.train.next_batch(FLAGS.batch_size)
            _, value, step = session.run([train, loss, global_step], {x: images, y: labels})
            taken += 1
            if taken % FLAGS.print_every == 0:
                print("worker %d: after %d steps of its own the loss is %.5f" % (FLAGS.task_index, taken, value), flush=True)
                if is_chief and FLAGS.log_dir:
                    supervisor.summary_computed(session, session.run(summaries, {x: images, y: labels}))
        test = session.run(accuracy, {x: mnist.test.images[:2000], y: mnist.test.labels[:2000]})
        if is_chief and FLAGS.log_dir:
            supervisor.saver.save(session, supervisor.save_path, global_step=global_step)
        print("worker %d: test accuracy %.4f" % (FLAGS.task_index, test))
    supervisor.stop()


if __name__ == "__main__":
    tf.app.run()
