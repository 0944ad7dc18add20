"""Scripts for TensorFlow 1.x as processes of their own, through `carillon tfrun`: alone, or as the tasks of a cluster."""

import os
import socket
import subprocess
import sys
import threading
import time

from addresses import free_addresses

END_SECONDS = 60


class Script:
    """A script that runs. What it says, on both streams, is kept."""

    def __init__(self, tool, script, *arguments, flags=(), python=sys.executable, **environment):
        variables = dict(os.environ, CARILLON_PYTHON=python, MNIST_DIR="", **environment)
        self.process = subprocess.Popen([tool, "tfrun", *flags, script, *arguments], env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self._said = ""

    def line_with(self, words):
        """Waits for a line that holds these words."""
        while line := self.process.stdout.readline():
            self._said += line
            if words in line:
                return line
        raise AssertionError(f"the script ended without saying {words!r}:\n{self._said}")

    def end(self, expected=0):
        """Waits for its end, which must have this exit code (or minus the signal); what it said."""
        killer = threading.Timer(END_SECONDS, self.process.kill)
        killer.start()
        self._said += self.process.stdout.read()
        code = self.process.wait()
        killer.cancel()
        assert code == expected, f"exit code {code} instead of {expected} (-9 after {END_SECONDS} s):\n{self._said[-3000:]}"
        return self._said

    def kill(self):
        self.process.kill()
        self.process.wait()


class Tasks:
    """The tasks of one cluster, each a Script with the four flags that such scripts take."""

    def __init__(self, tool, script, workers, *arguments, flags=()):
        self._tool, self._script, self._flags = tool, script, flags
        self.ps_host, *self.worker_hosts = free_addresses(1 + workers)
        self._arguments = [f"--ps_hosts={self.ps_host}", f"--worker_hosts={','.join(self.worker_hosts)}", *arguments]

    def start(self, job, task=0, *arguments):
        return Script(self._tool, self._script, *self._arguments, f"--job_name={job}", f"--task_index={task}", *arguments, flags=self._flags)


def is_served(address):
    """Whether anybody listens at host:port."""
    host, port = address.rsplit(":", 1)
    with socket.socket() as one:
        return one.connect_ex((host, int(port))) == 0


def assert_gone(address, seconds=10):
    """Waits until nobody listens there any more."""
    deadline = time.monotonic() + seconds
    while is_served(address):
        assert time.monotonic() < deadline, f"somebody still listens at {address}"
        time.sleep(0.1)
