"""Runs cases on our server, through TensorFlow's own client."""

import re
import signal
import subprocess

import tensorflow as tf

from addresses import free_addresses
from harness import oracle

tf1 = tf.compat.v1
STOP_SECONDS = 10


class Server:
    """A `carillon server` on a free port. One that has died is replaced when it is next used."""

    def __init__(self, program, *flags):
        self._command = [program, "server", *flags]
        self._process = None
        self._target = None

    def _start(self, port):
        self._process = subprocess.Popen([*self._command, "--port", port], stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        found = re.search(r"ready at (grpc://\S+)", line)
        if not found:
            raise RuntimeError(f"the server did not start: {line!r}")
        self._target = found.group(1)

    @property
    def target(self):
        if self._process is None or self._process.poll() is not None:
            self._start("0")
        return self._target

    def kill(self):
        """Ends the server without warning."""
        self._process.kill()
        self._process.wait()

    def restart(self):
        """Starts a server anew, where the one that was killed, or stopped, had been."""
        self._start(self._target.rpartition(":")[2])

    def death(self):
        """How the server ended; None while it runs, and when it was never used."""
        if self._process is None:
            return None
        try:
            code = self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            return None
        return f"the server ended with code {code}"

    def stop(self):
        """Ends the server if it runs; says so when it did not end as it should."""
        if self._process is None or self._process.poll() is not None:
            return None
        self._process.terminate()
        try:
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"the server did not stop within {STOP_SECONDS} s of SIGTERM"
        return f"the server stopped with code {code}" if code else None


class Cluster:
    """One `carillon server` for each task. `spec` is what tf.train.ClusterSpec takes; `flags` are further ones, by job; `log` is a file for what they log."""

    def __init__(self, program, flags=None, log=None, **tasks):
        self._flags = flags or {}
        self._log = log
        self.spec = {job: free_addresses(count) for job, count in tasks.items()}
        self._program = program
        self._processes = {}
        for job, addresses in self.spec.items():
            for task in range(len(addresses)):
                self.start(job, task)

    def start(self, job, task):
        text = ",".join(f"{name}|{';'.join(addresses)}" for name, addresses in self.spec.items())
        command = [self._program, "server", "--cluster", text, "--job", job, "--task", str(task), *self._flags.get(job, [])]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._log, text=True)
        if "ready at" not in process.stdout.readline():
            raise RuntimeError(f"task {task} of job {job} did not start")
        self._processes[job, task] = process

    def target(self, job, task):
        return f"grpc://{self.spec[job][task]}"

    def kill(self, job, task):
        """Ends a task without warning."""
        self._processes[job, task].kill()
        self._processes[job, task].wait()

    def signal(self, job, task, number):
        self._processes[job, task].send_signal(number)

    def stop(self):
        """Ends all tasks; raises when one did not end as it should."""
        for process in self._processes.values():
            process.terminate()
        for (job, task), process in self._processes.items():
            if process.returncode == -signal.SIGKILL:
                continue
            try:
                code = process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise RuntimeError(f"task {task} of job {job} did not stop within {STOP_SECONDS} s of SIGTERM") from None
            if code:
                raise RuntimeError(f"task {task} of job {job} stopped with code {code}")


def evaluate(server, graph, runs):
    """The Outcome of runs of a graph; the text that says so when the server died of them."""
    # What one case leaves behind must not meet the next one.
    config = tf1.ConfigProto(isolate_session_state=True, operation_timeout_in_ms=60000)
    try:
        return oracle.Outcome(runs=oracle.run_all(graph, runs, server.target, config))
    except (tf.errors.OpError, ValueError) as error:
        # Waiting for a death takes time: only where it may have happened.
        gone = isinstance(error, (tf.errors.UnavailableError, tf.errors.AbortedError))
        return (gone and server.death()) or oracle.to_outcome(error)
