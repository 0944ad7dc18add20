"""A TensorFlow server with one task: says where it is and serves until its input ends."""

import sys

import tensorflow.compat.v1 as tf

server = tf.train.Server.create_local_server(config=tf.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2))
print(f"ready at {server.target.decode() if isinstance(server.target, bytes) else server.target}", flush=True)
sys.stdin.read()
