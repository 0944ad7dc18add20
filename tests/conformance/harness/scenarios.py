"""Programs that a client would write, run on our server through TensorFlow's own client: sessions/*.py.

Each scenario has a process, a server and a folder of its own, and a deadline after which both processes are ended."""

import dataclasses
import importlib.util
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import shutil
import signal
import tempfile
import time
import traceback
from typing import Callable

import tensorflow as tf

from harness import compare, served

tf1 = tf.compat.v1
# As in pool.py: forked after TensorFlow is imported and before it has started any thread.
_context = multiprocessing.get_context("fork")
_TAIL = 2000  # characters of what a process that died has said

# What the files of sessions/ have described. `group` is the name of the file being read.
scenarios = []
group = None


@dataclasses.dataclass
class Scenario:
    group: str
    name: str
    function: Callable  # (scene); raises when something is wrong
    deadline: float  # seconds


def scenario(function=None, *, name=None, deadline=60):
    """Decorates a function (scene). The name is the function's unless another is given, for those made in a loop."""

    def decorate(function):
        scenarios.append(Scenario(group, name or function.__name__, function, deadline))
        return function

    return decorate(function) if function else decorate


def read(folder):
    """The scenarios of all files."""
    global group
    for path in sorted(folder.glob("*.py")):
        group = path.stem
        specification = importlib.util.spec_from_file_location(f"sessions.{group}", path)
        specification.loader.exec_module(importlib.util.module_from_spec(specification))
    return scenarios


class Scene:
    """What a scenario finds: a server, and a folder for files that both sides see."""

    def __init__(self, tool, server, folder):
        self.tool = tool
        self.server = server
        self.folder = folder

    def cluster(self, **tasks):
        """Tasks of our own, as in cluster(ps=1, worker=2). The one who asks stops them."""
        return served.Cluster(self.tool, **tasks)

    @property
    def target(self):
        return self.server.target

    def path(self, name):
        return str(self.folder / name)

    def session(self, graph=None, **config):
        return tf1.Session(self.target, graph=graph, config=tf1.ConfigProto(**config))


@dataclasses.dataclass
class Result:
    group: str
    name: str
    seconds: float
    problem: str | None = None


def _what(error):
    """The message without the stack of the place where the op was made."""
    return compare.first_line("\n".join(line for line in error.message.splitlines() if not line.startswith("  ")))


def _play(scenario, tool, folder, log, connection):
    os.setsid()  # so that the server can be ended with the process
    os.dup2(log, 1)
    os.dup2(log, 2)
    tf1.disable_eager_execution()  # in all threads, as programs for TensorFlow 1.x expect
    server = served.Server(tool)
    problem = None
    try:
        with tf1.Graph().as_default():
            scenario.function(Scene(tool, server, folder))
    except tf.errors.OpError as error:  # whose message ends with where its op was made, at length
        problem = "".join(traceback.format_tb(error.__traceback__)) + f"{type(error).__name__}: {_what(error)}"
    except Exception:
        problem = traceback.format_exc()
    connection.send("\n".join(filter(None, [problem, server.death(), server.stop()])))
    os._exit(0)  # without waiting for threads that a failed scenario has left behind


class _Player:
    def __init__(self, scenario, tool):
        self.scenario = scenario
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="conformance-session-"))
        self.log = tempfile.TemporaryFile()
        self.connection, child = _context.Pipe(duplex=False)
        self.started = time.monotonic()
        self.process = _context.Process(target=_play, args=(scenario, tool, self.folder, self.log.fileno(), child))
        self.process.start()
        child.close()

    def seconds_left(self):
        return self.started + self.scenario.deadline - time.monotonic()

    def _log_tail(self):
        self.log.seek(max(0, self.log.seek(0, os.SEEK_END) - _TAIL))
        return self.log.read().decode(errors="replace")

    def _problem(self, finished):
        if not finished:
            return f"not done after {self.scenario.deadline} s\n{self._log_tail()}"
        try:
            return self.connection.recv()
        except EOFError:
            self.process.join()
            return f"the process ended with code {self.process.exitcode}\n{self._log_tail()}"

    def end(self, finished):
        """The result; nothing of the scenario is left behind."""
        problem = self._problem(finished)
        seconds = time.monotonic() - self.started
        if finished:
            self.process.join(served.STOP_SECONDS)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.join()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return Result(self.scenario.group, self.scenario.name, seconds, problem)


def run(chosen, jobs, tool):
    """Yields the result of each scenario, as they come. `tool`: the carillon program."""
    waiting = list(reversed(chosen))
    players = []
    while waiting or players:
        while waiting and len(players) < jobs:
            players.append(_Player(waiting.pop(), tool))
        patience = max(0, min(player.seconds_left() for player in players))
        ready = multiprocessing.connection.wait([player.connection for player in players], patience)
        for player in list(players):
            if player.connection in ready or player.seconds_left() <= 0:
                players.remove(player)
                yield player.end(player.connection in ready)
