"""Servers of TensorFlow's own, one process for each task, to hold our clusters against."""

import json
import os
import subprocess
import sys

from addresses import free_addresses

_TASK = """
import json, sys
import tensorflow as tf
spec, job, task = json.loads(sys.argv[1])
server = tf.distribute.Server(spec, job_name=job, task_index=task, config=tf.compat.v1.ConfigProto(device_count={"GPU": 0}))
print("ready", flush=True)
sys.stdin.read()
"""


class TensorFlowCluster:
    """Like served.Cluster; `log` is where they write what they have to say. They end with the process that made them."""

    def __init__(self, log=subprocess.DEVNULL, **tasks):
        self.spec = {job: free_addresses(count) for job, count in tasks.items()}
        self._processes = []
        for job, addresses in self.spec.items():
            for task in range(len(addresses)):
                command = [sys.executable, "-c", _TASK, json.dumps([self.spec, job, task])]
                self._processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                                        env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="0")))
        for process in self._processes:
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("a server of TensorFlow's did not start")

    def target(self, job, task):
        return f"grpc://{self.spec[job][task]}"

    def stop(self):
        for process in self._processes:
            process.kill()  # its servers know no end
            process.wait()
