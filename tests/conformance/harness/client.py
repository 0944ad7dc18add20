"""Our own client, Session("grpc://…") of the C++ API, on a server of TensorFlow's: tests/tools/client_probe.cc.

What the program sees there must be what it sees in its own process and on a server of ours."""

import math
import subprocess
import sys

from harness import served

DEADLINE = 90  # seconds, of the program

_TENSORFLOW = """
import sys, tensorflow as tf
server = tf.distribute.Server(tf.train.ClusterSpec({"local": ["127.0.0.1:0"]}), job_name="local", task_index=0, start=True)
print("ready at", server.target, flush=True)
sys.stdin.read()
"""


class _TensorFlowServer:
    """One that ends with this process, whose end closes its input."""

    def __init__(self):
        self._process = subprocess.Popen([sys.executable, "-c", _TENSORFLOW], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self._process.stdout.readline()
        if not line.startswith("ready at "):
            raise RuntimeError(f"TensorFlow's server did not start: {line!r}")
        self.target = line.split()[-1]

    def stop(self):
        self._process.kill()
        self._process.wait()


def _lines(program, *arguments):
    """What the program says; a line of its own when it does not end well."""
    try:
        run = subprocess.run([program, *arguments], capture_output=True, text=True, errors="backslashreplace", timeout=DEADLINE)
    except subprocess.TimeoutExpired as error:
        return [*(error.stdout or b"").decode().splitlines(), f"not done after {DEADLINE} s"]
    return run.stdout.splitlines() + ([f"exit code {run.returncode}: {run.stderr.strip()}"] if run.returncode else [])


def _same(word, other):
    try:
        return math.isclose(float(word), float(other), rel_tol=1e-4, abs_tol=1e-5)
    except ValueError:
        return word == other


def differences(expected, got):
    """What two lists of lines differ in, in words. Numbers may differ a little."""
    problems = []
    for a, b in zip(expected, got):
        words, others = a.split(), b.split()
        if len(words) != len(others) or not all(map(_same, words, others)):
            problems.append(f"'{b}' instead of '{a}'")
    problems += [f"'{line}' is missing" for line in expected[len(got):]]
    return problems + [f"'{line}' is too much" for line in got[len(expected):]]


def check(program, tool):
    """(how many lines were compared, the failures). `tool`: the carillon program."""
    here = _lines(program)
    failures = [] if here and here[-1].startswith("closed:") else [f"in its own process: {line}" for line in here[-1:] or ["nothing"]]
    theirs, ours = _TensorFlowServer(), served.Server(tool)
    try:
        for where, server in [("on TensorFlow's server", theirs), ("on our server", ours)]:
            failures += [f"{where}: {problem}" for problem in differences(here, _lines(program, server.target))]
    finally:
        theirs.stop()
        failures += filter(None, [ours.stop()])
    return len(here), failures
