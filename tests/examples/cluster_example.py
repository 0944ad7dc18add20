"""Runs the example programs of several tasks for a few steps, each in every way in which it can be run, and checks what they say.

Usage: cluster_example.py FOLDER      (of the programs)
"""

import contextlib
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from addresses import free_addresses  # noqa: E402

SECONDS = 120  # that nothing here takes

folder = pathlib.Path(sys.argv[1])


def run(*command, code=0):
    print("$", *command, flush=True)
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
    print(result.stdout, flush=True)
    assert result.returncode == code, f"exit code {result.returncode}, not {code}"
    return result.stdout


def launch(tasks, *program):
    return run(folder / "carillon", "launch", *tasks, "--", *program)


def check_coverage(text, batch):
    """Nothing was read twice, and what was read is what the steps of all workers read."""
    steps = [int(n.replace(",", "")) for n in re.search(r"steps of each worker:((?: [\d,]+)+)", text).group(1).split()]
    seen = int(re.search(r"coverage of the first epoch: ([\d,]+) of", text).group(1).replace(",", ""))
    assert "none repeated" in text
    assert seen == sum(steps) * batch, f"{seen} samples were seen in {steps} steps"


def placements_of_the_cnn():
    for placement, tasks in {"setter": 2, "hand": 2, "in_graph": 1, "layers": 1}.items():
        text = launch(["--ps", 2 if placement == "hand" else 1, "--workers", 2], "mnist_cnn_distributed", "--placement", placement,
                      "--steps", 6, "--batch_size", 20, "--test_images", 100)
        check_coverage(text, 20)
        assert len(re.findall(r"steps of each worker:((?: [\d,]+)+)", text)[0].split()) == tasks
        assert re.search(r"worker:0 │\s+test accuracy", text)
        assert text.count(" exit 0 ") >= 3, "not every task has ended well"


def replica_learns():
    text = launch(["--ps", 1, "--workers", 2], "mnist_replica", "--train_steps", 300, "--json")
    check_coverage(text, 100)
    results = [json.loads(found) for found in re.findall(r"^worker:\d │ (\{.*\})$", text, re.M)]
    assert sorted(result["task"] for result in results) == [0, 1]
    for result in results:
        assert result["global_step"] >= 300 and result["accuracy"] > 0.9, result


def replica_drives_servers_that_run_already():
    ps, worker = free_addresses(2)
    cluster = f"ps|{ps},worker|{worker}"
    with contextlib.ExitStack() as stack:
        for job in ("ps", "worker"):
            server = subprocess.Popen([folder / "carillon", "server", "--cluster", cluster, "--job", job], stdout=subprocess.PIPE, text=True)
            stack.callback(server.wait, SECONDS)
            stack.callback(server.terminate)
            assert "ready at" in server.stdout.readline()
        text = run(folder / "mnist_replica", "--existing_servers", "--job_name", "worker", "--ps_hosts", ps, "--worker_hosts", worker,
                   "--train_steps", 20)
        assert "validation cross entropy" in text
        # The model is still there.
        text = run(folder / "mnist_replica", "--existing_servers", "--job_name", "worker", "--ps_hosts", ps, "--worker_hosts", worker,
                   "--train_steps", 25)
        assert re.search(r"after 2\d steps of all workers", text), "the model was not found"


def what_is_wrong_is_said():
    assert "synchronous training is not supported yet" in run(folder / "mnist_replica", "--sync_replicas", "--job_name", "ps", code=1)
    assert "which task is this?" in run(folder / "mnist_replica", code=1)
    assert "images to train with" in run(folder / "mnist_replica", "--download_only")
    text = run(folder / "mnist_replica", "--job_name", "worker", "--task_index", 7, code=1)
    assert "7" in text


for check in (placements_of_the_cnn, replica_learns, replica_drives_servers_that_run_already, what_is_wrong_is_said):
    print(f"== {check.__name__}", flush=True)
    check()
