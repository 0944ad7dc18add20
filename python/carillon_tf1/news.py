"""Tells `carillon launch` how the script's training goes: steps and loss, at most twice a second and at the end.

A step is a run of a session that fetches an op which updates variables by gradients, or hands gradients to an accumulator. Its loss is a
fetched scalar that an optimizer differentiates, or one whose name says so."""

import atexit
import functools
import json
import math
import os
import re
import socket
import threading
import time
import weakref

from tensorflow.python.client import session
from tensorflow.python.training import optimizer

_PERIOD = 0.5
_LOSS_NAME = re.compile(r"(^|/)[^/]*(loss|cost|cross_?entropy)[^/]*$", re.I)


def install():
    """Does nothing for a script that nobody launched."""
    address = os.environ.get("CARILLON_STATUS")
    if not address:
        return
    news = _News(address)
    differentiate, run = optimizer.Optimizer.compute_gradients, session.BaseSession._do_run

    @functools.wraps(differentiate)
    def compute_gradients(self, loss, *arguments, **named):
        news.losses.add(loss)
        return differentiate(self, loss, *arguments, **named)

    @functools.wraps(run)
    def do_run(self, handle, target_list, fetch_list, *arguments, **named):
        results = run(self, handle, target_list, fetch_list, *arguments, **named)
        news.take(target_list, fetch_list, results)
        return results

    optimizer.Optimizer.compute_gradients = compute_gradients
    session.BaseSession._do_run = do_run
    atexit.register(news.end)


class _News:
    def __init__(self, address):
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._process = os.getpid()
        self.losses = weakref.WeakSet()
        self._trains = weakref.WeakKeyDictionary()  # whether an op that was fetched trains
        self._lock = threading.Lock()  # for all below
        self._steps, self._loss = 0, None
        self._begun = None  # when the first step was over
        self._told, self._steps_told = 0, 0

    def take(self, targets, fetches, results):
        ops = [*targets, *(tensor.op for tensor in fetches)]
        if not any(map(self._is_training, ops)):
            return
        loss = self._loss_among(fetches, results)
        now = time.monotonic()
        with self._lock:
            self._steps += 1
            self._loss = self._loss if loss is None else loss
            if self._begun is None:
                self._begun = self._told = now
                self._steps_told = 1
            elif now >= self._told + _PERIOD:
                self._tell((self._steps - self._steps_told) / (now - self._told))
                self._told, self._steps_told = now, self._steps

    def end(self):
        with self._lock:
            if self._steps and os.getpid() == self._process:
                seconds = time.monotonic() - self._begun
                self._tell((self._steps - 1) / seconds if self._steps > 1 else None)

    def _is_training(self, op):
        if op not in self._trains:
            seen, waiting, found = {op}, [op], False
            while waiting and not found:
                one = waiting.pop()
                found = "Apply" in one.type  # ApplyAdam, ResourceApplyMomentum, AccumulatorApplyGradient, …
                before = {*one.control_inputs, *(value.op for value in one.inputs)} - seen
                seen |= before
                waiting += before
            self._trains[op] = found
        return self._trains[op]

    def _loss_among(self, fetches, results):
        scalars = [(tensor, value) for tensor, value in zip(fetches, results)
                   if getattr(value, "shape", None) == () and getattr(value, "dtype", None) is not None and value.dtype.kind == "f"]
        chosen = [value for tensor, value in scalars if tensor in self.losses] or [value for tensor, value in scalars if _LOSS_NAME.search(tensor.op.name)]
        return float(chosen[0]) if chosen else None

    def _tell(self, steps_per_second):
        news = {"step": self._steps}
        if self._loss is not None:
            news["loss"] = self._loss if math.isfinite(self._loss) else None
        if steps_per_second is not None:
            news["steps_per_second"] = steps_per_second
        try:
            self._socket.sendto(json.dumps(news).encode(), self._address)
        except OSError:
            pass  # nobody listens, or not fast enough: there will be more
