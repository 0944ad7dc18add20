"""Checks descriptions in several processes. A process that TensorFlow brings down is replaced, and the case that did it is a failure."""

import multiprocessing
import multiprocessing.connection
import os
import tempfile
import traceback

from harness import check, served

# Workers are forked after TensorFlow is imported (which takes seconds) and before it has started any thread.
_context = multiprocessing.get_context("fork")


def _work(connection, log, descriptions, tool, arguments):
    os.dup2(log, 2)  # TensorFlow's and the kernels' chatter
    os.dup2(log, 1)
    server = served.Server(tool)
    while True:
        index = connection.recv()
        if index is None:
            server.stop()
            return
        try:
            result = check.check(descriptions[index], server=server, note=lambda case: connection.send(("at", case)), **arguments)
        except Exception:
            result = traceback.format_exc()
        connection.send(("done", result))


class _Worker:
    def __init__(self, descriptions, tool, arguments):
        self.descriptions = descriptions
        self.log = tempfile.TemporaryFile()
        self.connection, child = _context.Pipe()
        self.process = _context.Process(target=_work, args=(child, self.log.fileno(), descriptions, tool, arguments), daemon=True)
        self.process.start()
        child.close()
        self.index = None
        self.case = ""

    def start(self, index):
        self.index, self.case = index, ""
        self.connection.send(index)

    def failed(self, text):
        d = self.descriptions[self.index]
        result = check.Result(d.family, d.name, d.ops)
        result.failures.append(check.Failure("harness", self.case or d.name, 0, text))
        return result

    def tail_of_log(self):
        self.log.seek(max(0, self.log.seek(0, os.SEEK_END) - 1000))
        return self.log.read().decode(errors="replace")

    def receive(self):
        """A finished result, or None while the description is still being checked. Raises EOFError when the process has died."""
        kind, value = self.connection.recv()
        if kind == "at":
            self.case = value
            return None
        return self.failed(value) if isinstance(value, str) else value


def run(descriptions, jobs, tool, arguments):
    """Yields the result of each description, as they come. `tool`: the carillon program, for the servers."""
    waiting = list(reversed(range(len(descriptions))))
    workers = []

    def employ():
        while waiting and len(workers) < jobs:
            workers.append(_Worker(descriptions, tool, arguments))
            workers[-1].start(waiting.pop())

    employ()
    while workers:
        ready = multiprocessing.connection.wait([worker.connection for worker in workers])
        for worker in [worker for worker in workers if worker.connection in ready]:
            try:
                result = worker.receive()
            except EOFError:
                worker.process.join()
                workers.remove(worker)
                yield worker.failed(f"  the process ended with code {worker.process.exitcode}: {worker.tail_of_log()}")
                employ()
                continue
            if result is None:
                continue
            yield result
            if waiting:
                worker.start(waiting.pop())
            else:
                worker.connection.send(None)
                worker.process.join()
                workers.remove(worker)
