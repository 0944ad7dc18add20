"""What a step costs TensorFlow's session when there is next to nothing to do: an empty one, and a chain of scalar additions. Prints JSON."""

import json
import os
import statistics
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_eager_execution()


def median_us(step, count):
    for _ in range(count // 10):
        step()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


nothing = tf.no_op()
start = tf.placeholder(tf.float32, [])
x = start
for _ in range(1000):
    x = x + 1.0
config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
config.graph_options.rewrite_options.disable_meta_optimizer = True  # it would fold the chain away
with tf.Session(config=config) as session:
    empty = session.make_callable(nothing)
    chain = session.make_callable(x, [start])
    print(json.dumps({"empty_step_us": median_us(empty, 5000), "chain_of_1000_us": median_us(lambda: chain(0.0), 300)}))
