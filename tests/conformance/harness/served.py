"""Runs cases on our server, through TensorFlow's own client."""

import re
import subprocess

import tensorflow as tf

from harness import oracle

tf1 = tf.compat.v1
STOP_SECONDS = 10


class Server:
    """A `carillon server` on a free port. One that has died is replaced when it is next used."""

    def __init__(self, program, *flags):
        self._command = [program, "server", "--port", "0", *flags]
        self._process = None
        self._target = None

    @property
    def target(self):
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
            line = self._process.stdout.readline()
            found = re.search(r"ready at (grpc://\S+)", line)
            if not found:
                raise RuntimeError(f"the server did not start: {line!r}")
            self._target = found.group(1)
        return self._target

    def death(self):
        """How the server ended; None while it runs."""
        try:
            code = self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            return None
        return f"the server ended with code {code}"

    def stop(self):
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(STOP_SECONDS)


def evaluate(server, graph, runs):
    """The Outcome of runs of a graph; the text that says so when the server died of them."""
    # What one case leaves behind must not meet the next one.
    config = tf1.ConfigProto(isolate_session_state=True, operation_timeout_in_ms=60000)
    try:
        return oracle.Outcome(runs=oracle.run_all(graph, runs, server.target, config))
    except (tf.errors.OpError, ValueError) as error:
        return server.death() or oracle.to_outcome(error)
