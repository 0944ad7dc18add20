"""A TensorFlow server: says where it is and serves until its input ends.

Usage: server_tensorflow.py                            one task
       server_tensorflow.py JOB PS_HOST WORKER_HOST    a task of a cluster of two
"""

import sys

import tensorflow.compat.v1 as tf

if len(sys.argv) > 1:
    job, ps, worker = sys.argv[1:]
    server = tf.train.Server({"ps": [ps], "worker": [worker]}, job_name=job, task_index=0)
else:
    server = tf.train.Server.create_local_server(config=tf.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2))
print(f"ready at {server.target.decode() if isinstance(server.target, bytes) else server.target}", flush=True)
sys.stdin.read()
