"""Scripts for TensorFlow 1.x, unmodified, through `carillon tfrun`: those of examples/tf1 on our servers and on TensorFlow's, with the same results."""

import math
import os
import pathlib
import re
import subprocess
import sys

from harness import tasks
from harness.scenarios import scenario

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "examples/tf1"
PAGE = ROOT / "docs/tensorflow_scripts.md"

# The accuracy that two workers must reach together, with the script's own number of steps.
ACCURACY = {"mlp_async": 0.87, "cnn_async": 0.87, "in_graph": 0.87, "supervisor": 0.8, "monitored": 0.8}
# Steps whose losses are compared. Where small differences grow fast (Adam on a deep network), only the first ones.
COMPARED_STEPS = {"mlp_async": 60, "cnn_async": 20, "in_graph": 60, "supervisor": 60, "monitored": 20}
TOLERANCE = 1e-3


def run(scene, name, workers, *arguments, flags=()):
    """The output of worker 0, and of the others. Our parameter server must end by itself, with the job; TensorFlow's has to be killed."""
    cluster = tasks.Tasks(scene.tool, SCRIPTS / f"{name}.py", workers, *arguments, flags=flags)
    ps = cluster.start("ps")
    running = [cluster.start("worker", task) for task in range(workers)]
    texts = [one.end() for one in running]
    if flags:
        ps.kill()
    else:
        ps.end()
        for address in [cluster.ps_host, *cluster.worker_hosts]:
            tasks.assert_gone(address)
    return texts


def numbers(text):
    """The losses, and the accuracy at last."""
    return [float(number) for number in re.findall(r"(?:the loss is|test accuracy) ([\d.]+)", text)]


def same_on_tensorflow(scene, name):
    arguments = [f"--steps={COMPARED_STEPS[name]}", "--print_every=5"]
    ours, = run(scene, name, 1, *arguments)
    theirs, = run(scene, name, 1, *arguments, flags=["--tensorflow_servers"])
    assert len(numbers(ours)) == COMPARED_STEPS[name] // 5 + 1, ours
    assert len(numbers(ours)) == len(numbers(theirs)), theirs
    for mine, other in zip(numbers(ours), numbers(theirs)):
        assert math.isclose(mine, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE), f"{numbers(ours)}\n{numbers(theirs)}"


def learns(scene, name):
    for text in run(scene, name, 2):
        if numbers(text):  # in_graph has one client
            assert numbers(text)[-1] >= ACCURACY[name], text


for _name in sorted(path.stem for path in SCRIPTS.glob("*.py")):
    scenario(lambda scene, name=_name: same_on_tensorflow(scene, name), name=f"{_name}_is_the_same_on_tensorflow", deadline=120)
    scenario(lambda scene, name=_name: learns(scene, name), name=f"{_name}_learns_with_two_workers", deadline=120)


@scenario(deadline=120)
def a_supervised_job_goes_on_from_its_checkpoint(scene):
    folder = scene.path("model")
    run(scene, "supervisor", 1, "--steps=20", f"--log_dir={folder}")
    assert any(name.startswith("model.ckpt-20") for name in os.listdir(folder)), os.listdir(folder)
    text, = run(scene, "supervisor", 1, "--steps=25", "--print_every=1", f"--log_dir={folder}")
    assert "after 5 steps" in text and "after 6 steps" not in text, text


@scenario(deadline=120)
def the_commands_of_the_page_work(scene):
    """Every ```bash block of docs/tensorflow_scripts.md; the ```sh blocks are run by tests/docs."""
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert blocks, "the page has no commands"
    for block in blocks:
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=ROOT, env=dict(os.environ, CARILLON_PYTHON=sys.executable), text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
        assert result.returncode == 0, f"{block}\nexit code {result.returncode}\n{result.stdout[-2000:]}"
