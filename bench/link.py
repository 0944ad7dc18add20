"""ps_link, for bench/run: asynchronous training over a slow link (tools/slow_link.py), held against the best that its data flow allows.

A ps and a worker (bench/link.cc) are on the two sides of a link that lets so many Mbit/s through each way. The ideal is computed from
what was measured: of the link, by a plain socket, each way; of the worker, by the same steps in one
process, kernel by kernel. A layer's forward pass begins when its variables are there and the layer before has been computed; its
gradients are sent as soon as they exist, those of the variables before those of the layer below; the ps updates the last layer, and the step
is over. Pulling the variables of the next step begins then. The worker computes on one core, so that there is one for the ps.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from slow_link import SlowLink, Unavailable  # noqa: E402

RATES = [200, 400, 800]  # Mbit/s
STEPS = 30
SECONDS = 120  # that no run takes
NAMES = {rate: f"ps_link ({rate} Mbit/s)" for rate in RATES}
NAMES[RATES[0]] = "ps_link"
# The peer is the ideal.
BARS = {name: f"ratio >= {1 / 1.15:.3f}" for name in NAMES.values()}
SHOWN = {name: f"a step of eight layers of 1 MB over a link of {rate} Mbit/s; the peer is the best schedule of what it computes and sends"
         for rate, name in NAMES.items()}
PORT = 2222
# Sends so many bytes to an address and waits until they are there; or takes them.
SEND = """
import socket, sys, time
s = socket.create_connection((sys.argv[1], 2223)); data = bytes(1 << 20); n = int(sys.argv[2])
start = time.monotonic()
while n > 0: n -= s.send(data[:n])
s.shutdown(socket.SHUT_WR); s.recv(1)
print(time.monotonic() - start)
"""
TAKE = """
import socket, sys
s = socket.create_server((sys.argv[1], 2223)); print("ready", flush=True); s, _ = s.accept()
while s.recv(1 << 20): pass
s.send(b"x")
"""


def bytes_per_second(link, sender, receiver, count=32 << 20):
    """Of a plain socket."""
    with subprocess.Popen(link.command(receiver, sys.executable, "-c", TAKE, link.address[receiver]), stdout=subprocess.PIPE) as taker:
        taker.stdout.readline()
        seconds = subprocess.run(link.command(sender, sys.executable, "-c", SEND, link.address[receiver], count), stdout=subprocess.PIPE,
                                 check=True, timeout=SECONDS).stdout
    return count / float(seconds)


class Compute:
    """What the pieces of a step take, in milliseconds, by layer; from what `bench_link alone` says."""

    def __init__(self, measured):
        self.layers = measured["layers"]
        self.bytes = measured["bytes"]
        self.forward, self.weights, self.inputs, self.update = ([0.0] * self.layers for _ in range(4))
        self.loss = 0.0
        for name, ms in measured["nodes"].items():
            layer = re.search(r"layer(\d+)/", name)
            if layer is None:
                self.loss += ms
            else:
                self.piece_of(name)[int(layer.group(1))] += ms
        self.worker = self.loss + sum(self.forward) + sum(self.weights) + sum(self.inputs)

    def piece_of(self, name):
        if "/update_" in name:
            return self.update
        if not name.startswith("gradients/"):
            return self.forward
        # The gradient of the activation is needed for both, and the variables' comes first.
        return self.inputs if name.endswith("MatMul_grad/MatMul") else self.weights


def ideal(compute, down, up):
    """Milliseconds of the best schedule of a step; `down`, `up`: of sending a layer's variables, and their gradients."""
    now = 0.0
    for layer in range(compute.layers):
        now = max(now, (layer + 1) * down) + compute.forward[layer]
    now += compute.loss
    sent = 0.0
    for layer in reversed(range(compute.layers)):
        now += compute.weights[layer]
        sent = max(sent, now) + up
        now += compute.inputs[layer]
    return sent + compute.update[0]


def train(program, link, environment):
    """The milliseconds of every step."""
    hosts = [f"{link.address[side]}:{PORT}" for side in ("a", "b")]
    ps = subprocess.Popen(link.command("a", program, "ps", *hosts), stderr=subprocess.DEVNULL, env=environment)
    try:
        worker = subprocess.run(link.command("b", program, "worker", *hosts, STEPS), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=environment, timeout=SECONDS)
        if worker.returncode:
            sys.exit(f"bench/run: {program} failed with code {worker.returncode}\n{worker.stderr[-3000:]}")
        return json.loads(worker.stdout.splitlines()[-1])["steps"]
    finally:
        ps.kill()
        ps.wait()


def rows(bench):
    """As those of bench/run; none, with the reason said, where there can be no such link."""
    program = (bench.bin / "bench_link").resolve()
    environment = dict(os.environ, CARILLON_THREADS="1")
    results = []
    try:
        with SlowLink(RATES[0]) as link:
            print(f"\n{'Mbit/s':>8}{'compute':>10}{'down':>8}{'up':>8}{'in turn':>10}{'ideal':>8}{'measured':>10}{'ratio':>7}   ms")
            for rate in RATES:
                link.set_rate(rate)
                best = None
                for _ in range(bench.rounds):
                    alone = subprocess.run([program, "alone", str(STEPS)], stdout=subprocess.PIPE, check=True, text=True, env=environment).stdout
                    compute = Compute(json.loads(alone))
                    down, up = (1000 * compute.bytes / bytes_per_second(link, *way) for way in (("a", "b"), ("b", "a")))
                    measured = statistics.median(train(program, link, environment))
                    limit = ideal(compute, down, up)
                    turns = compute.worker + compute.layers * (down + up) + sum(compute.update)
                    print(f"{rate:>8}{compute.worker:>10.1f}{compute.layers * down:>8.1f}{compute.layers * up:>8.1f}{turns:>10.1f}{limit:>8.1f}"
                          f"{measured:>10.1f}{measured / limit:>7.3f}")
                    if best is None or measured / limit < best[0] / best[1]:
                        best = measured, limit
                results.append((NAMES[rate], best[0], {"ideal": best[1]}, "ms/step"))
    except Unavailable as error:
        print(f"bench/run: ps_link is skipped: {error}", file=sys.stderr)
        return []
    return results
