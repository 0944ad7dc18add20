"""Benchmarks of parameter servers, for bench/run: ours (bench/ps.cc) and TensorFlow's (bench/peers/ps_tensorflow.py) do the same work."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/tools"))
from addresses import free_addresses  # noqa: E402

PEER = HERE / "peers/ps_tensorflow.py"
SECONDS = 300  # that no run takes

# Name: what bench_ps is asked for, workers, steps; what is shown of it, and the unit.
RUNS = {
    "ps_mlp_1": ("mlp", 1, 1500, ["mlp"], "ms/step"),
    "ps_mlp_2": ("mlp", 2, 1500, ["mlp"], "ms/step"),
    "ps_cnn_1": ("cnn", 1, 60, ["cnn"], "ms/step"),
    "ps_cnn_2": ("cnn", 2, 40, ["cnn"], "ms/step"),
    "ps_bytes": ("bytes", 1, 20, ["pull", "push"], "ms"),
    "many_variables": ("many", 1, 50, ["many"], "ms/step"),
}
SCALE = [1, 2, 4, 8, 16]
BARS = {
    "ps_mlp_1": "ratio >= 4",
    "ps_mlp_2": "ratio >= 4",
    "ps_cnn_1": "ratio >= 1.3",
    "ps_cnn_2": "ratio >= 1.25",
    "ps_pull": "ratio >= 2.5",
    "ps_push": "ratio >= 2.5",
    "tfrun_mlp_1": "ratio >= 1.5",
    "server_rss": "ratio >= 12",
    "server_rss (worker)": "ratio >= 12",
    "many_variables": "ratio >= 5",
}
SHOWN = {
    "ps_mlp_1": "a training step of the MLP, Adam, batch 100: 1 ps, 1 worker",
    "ps_mlp_2": "1 ps, 2 workers, asynchronous: time over steps of both",
    "ps_cnn_1": "of the MNIST CNN: 1 ps, 1 worker",
    "ps_cnn_2": "1 ps, 2 workers, asynchronous: time over steps of both",
    "ps_pull": "64 MiB read from a ps",
    "ps_push": "64 MiB added to a variable of a ps",
    "many_variables": "2,000 small variables read from a ps and updated in one step",
    "tfrun_mlp_1": "a TensorFlow script, as ps_mlp_1, on our servers instead of its own",
    "server_rss": "memory of an idle ps",
    "server_rss (worker)": "memory of an idle worker",
    **{f"scale ({n} workers)" if n > 1 else "scale": f"a step that adds to one number, of 1 ps and {n} worker{'s'[:n > 1]}" for n in SCALE},
}
NAMES = ["ps_mlp_1", "ps_mlp_2", "ps_cnn_1", "ps_cnn_2", "ps_pull", "ps_push", "many_variables", "tfrun_mlp_1", "server_rss", "scale"]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class ClusterBench:
    """`bench`: the Bench of bench/run. Rows as there: (name, ours, {peer: figure}, unit), least of the rounds."""

    def __init__(self, bench):
        self.bench = bench
        self.cores = len(os.sched_getaffinity(0))
        self.sides = {"ours": [bench.bin / "bench_ps"]}
        if bench.python:
            self.sides["TensorFlow"] = [bench.python, PEER]

    def rows(self, names):
        for name in NAMES:
            if name == "ps_push" and "ps_pull" in names or name not in names:
                continue
            if name == "scale":
                yield from self.scale()
            elif name == "server_rss":
                yield from self.server_rss()
            elif name == "tfrun_mlp_1":
                if self.bench.python:
                    os.environ["CARILLON_PYTHON"] = str(self.bench.python)
                    sides = {**self.sides, "ours": [self.bench.bin / "carillon", "tfrun", PEER]}
                    yield from self.compare(name, "mlp", 1, 800, ["mlp"], "ms/step", sides)
            elif name in ("ps_pull", "ps_push"):
                yield from self.compare(name, *RUNS["ps_bytes"], self.sides)
            else:
                yield from self.compare(name, *RUNS[name], self.sides)

    def compare(self, name, kind, workers, steps, shown, unit, sides):
        best = {what: {} for what in shown}
        for _ in range(self.bench.rounds):
            for side, command in sides.items():
                figures, _ = self.run(command, kind, workers, steps)
                for what in shown:
                    keep_least(best[what], side, figures[what])
        for what in shown:
            yield (f"ps_{what}" if len(shown) > 1 else name), best[what].pop("ours"), best[what], unit

    def run(self, command, kind, workers, steps):
        """Milliseconds a step, over the steps of all workers, by name; and the share of a core that the ps took meanwhile."""
        addresses = free_addresses(1 + workers)
        lists = [addresses[0], ",".join(addresses[1:]), str(steps), kind]
        print(f"  {' '.join(str(word) for word in command)} {kind}, {workers} worker(s)", file=sys.stderr)
        # As `carillon launch` divides the cores.
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CARILLON_THREADS=str(max(1, self.cores // workers)))
        with contextlib.ExitStack() as stack:

            def start(job, task):
                process = subprocess.Popen([*command, job, str(task), *lists], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True, env=environment)
                stack.callback(process.kill)
                return process

            ps = start("ps", 0)
            begin = time.monotonic()
            tasks = [start("worker", task) for task in range(workers)]
            results = []
            for task in tasks:
                out, err = task.communicate(timeout=SECONDS)
                if task.returncode:
                    sys.exit(f"bench/run: {command[0]} failed with code {task.returncode}\n{err[-3000:]}")
                results.append(json.loads(out.splitlines()[-1]))
            share = cpu_seconds(ps.pid) / (time.monotonic() - begin) if ps.poll() is None else None
        # Workers that run side by side: their speeds add up.
        return {what: 1 / sum(1 / result[what] for result in results) for what in results[0]}, share

    def scale(self):
        for workers in SCALE:
            best = {}
            for _ in range(self.bench.rounds):
                for side, command in self.sides.items():
                    figures, share = self.run(command, "tiny", workers, 2000 // workers)
                    keep_least(best, side, figures["tiny"])
                    if share is not None:
                        print(f"    the ps of {side} took {share:.0%} of a core, its start included", file=sys.stderr)
            yield (f"scale ({workers} workers)" if workers > 1 else "scale"), best.pop("ours"), best, "ms/step"

    def server_rss(self):
        memory = {"ps": {}, "worker": {}}
        for _ in range(self.bench.rounds):
            for side, command in self.sides.items():
                # A worker that waits for ever for its ps, and a ps that nobody has called yet, are idle.
                addresses = free_addresses(2)
                if side == "ours":
                    commands = {job: [self.bench.bin / "carillon", "server", "--cluster", f"ps|{addresses[0]},worker|{addresses[1]}", "--job", job]
                                for job in memory}
                else:
                    commands = {job: [self.bench.python, HERE / "peers/server_tensorflow.py", job, *addresses] for job in memory}
                for job, one in commands.items():
                    process, _, _ = self.bench.start_server(*one)
                    time.sleep(0.5)
                    resident = re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())
                    process.kill()
                    keep_least(memory[job], side, int(resident.group(1)) / 1024)
        yield "server_rss", memory["ps"].pop("ours"), memory["ps"], "MB"
        yield "server_rss (worker)", memory["worker"].pop("ours"), memory["worker"], "MB"


def keep_least(best, key, value):
    best[key] = min(value, best.get(key, value))
