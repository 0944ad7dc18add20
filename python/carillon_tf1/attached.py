"""`carillon server` as a child process that belongs to the script.

With `--attached`, a line "done" on its standard input says that the script has ended well; the end of that input alone says that it has not (an
exception, a signal). Nothing else is needed to end it, so none is left behind however the script dies. A line "join" says that the script does
nothing but wait for the server, which then ends when the job does."""

import multiprocessing.util
import os
import re
import signal
import subprocess
import sys

from carillon_tf1 import settings

END_SECONDS = 30  # that a server may take to end, before it is killed

_running = []  # of this process
_main_process = os.getpid()
_succeeded = False


def succeeded():
    """Says that the script has ended well; to be called before end_all."""
    global _succeeded
    _succeeded = True


def end_all():
    """Ends the servers of this process and waits for them."""
    for server in list(_running):
        server.end(_succeeded)


class AttachedServer:
    """A running server. RuntimeError when it cannot start; it has said why on the error stream."""

    def __init__(self, *flags):
        command = [settings.TOOL, "server", "--attached", *flags, *settings.SERVER_FLAGS]
        theirs, self._input = os.pipe()
        try:
            # A group of its own: Ctrl-C is for the script, which may still need its server to save what it has.
            self._process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, text=True, start_new_session=True)
        finally:
            os.close(theirs)
        _running.append(self)
        if os.getpid() != _main_process:  # children of multiprocessing run no atexit functions
            multiprocessing.util.Finalize(None, _end_of_child, exitpriority=0)
        found = re.search(r"ready at (grpc://\S+)", self._process.stdout.readline())
        if not found:
            self.end(well=False)
            raise RuntimeError(f"could not start: {self.how_it_ended()}; it says why above")
        self.target = found.group(1)

    def join(self):
        """Waits until it ends; its exit code, or minus the signal."""
        if self in _running:
            self._tell(b"join\n")
        return self._process.wait()

    def how_it_ended(self):
        code = self._process.returncode
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def end(self, well):
        """Tells it how the script has ended, and waits for its end."""
        self.forget(b"done\n" if well else b"")
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def forget(self, last_words=b""):
        """Lets go of its input: it ends when nobody holds it."""
        if self not in _running:
            return
        _running.remove(self)
        self._tell(last_words)
        os.close(self._input)

    def _tell(self, words):
        try:
            os.write(self._input, words)
        except BrokenPipeError:
            pass  # it has ended by itself, as a parameter server does


def _end_of_child():
    error = sys.exc_info()[1]  # what is on its way out of the child's function
    well = error is None or isinstance(error, SystemExit) and not error.code
    for server in list(_running):
        server.end(well)


def _forget_all():
    """In a process that the script has forked: the servers are its parent's, and must see the end of that one."""
    for server in list(_running):
        server.forget()


os.register_at_fork(after_in_child=_forget_all)
