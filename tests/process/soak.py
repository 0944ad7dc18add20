"""Trains for a long time and watches the memory of every task: once it has settled it must not grow.

Usage: soak.py FOLDER [STEPS]      (FOLDER has mnist_replica; 100,000 steps by default)
"""

import contextlib
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from addresses import free_addresses  # noqa: E402

program = pathlib.Path(sys.argv[1]) / "mnist_replica"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
MOST_GROWTH_MB = 8
LEAST_SAMPLES = 8


def memory_mb(process):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        found = re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        return int(found.group(1)) / 1024 if found else None


def main():
    ps, *workers = free_addresses(3)
    with contextlib.ExitStack() as stack:
        tasks = {}
        for name, job, index in [("ps:0", "ps", 0), ("worker:0", "worker", 0), ("worker:1", "worker", 1)]:
            command = [program, "--job_name", job, "--task_index", str(index), "--ps_hosts", ps, "--worker_hosts", ",".join(workers),
                       "--train_steps", str(steps)]
            tasks[name] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(tasks[name].kill)
        samples = {name: [] for name in tasks}
        begin = time.monotonic()
        while all(task.poll() is None for task in tasks.values()):
            time.sleep(0.25)
            for name, task in tasks.items():
                if (memory := memory_mb(task)) is not None:
                    samples[name].append(memory)
        codes = {name: task.wait(60) for name, task in tasks.items()}
    print(f"{steps:,} steps in {time.monotonic() - begin:.0f} s; exit codes {codes}")
    failed = any(codes.values())
    for name, all_of_it in samples.items():
        # The first fifth is for settling; the end of a run evaluates, which takes memory of its own.
        settled = all_of_it[len(all_of_it) // 5:-4]
        if len(settled) < LEAST_SAMPLES:
            print(f"{name}: too few samples; use more steps")
            failed = True
            continue
        early, late = (max(part) for part in (settled[:len(settled) // 4], settled[-(len(settled) // 4):]))
        print(f"{name}: {early:.1f} MB early, {late:.1f} MB late, {max(all_of_it):.1f} MB at most")
        failed |= late > early + MOST_GROWTH_MB
    return failed


sys.exit(main())
