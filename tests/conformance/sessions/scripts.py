"""Scripts for TensorFlow 1.x, unmodified, through `carillon tfrun`: those of examples/tf1 on our servers and on TensorFlow's, with the same results."""

import math
import os
import pathlib
import re
import subprocess
import sys

import tensorflow as tf

from harness import tasks
from harness.scenarios import scenario

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "examples/tf1"
PAGE = ROOT / "docs/tensorflow_scripts.md"

# The accuracy that two workers must reach together, with the script's own number of steps.
ACCURACY = {"mlp_async": 0.85, "cnn_async": 0.85, "supervisor": 0.75, "monitored": 0.75}
# Steps whose losses are compared. Where small differences grow fast (Adam on a deep network), only the first ones.
COMPARED_STEPS = {"mlp_async": 60, "cnn_async": 20, "in_graph": 60, "supervisor": 60, "monitored": 20}
TOLERANCE = 1e-3


def run(scene, name, workers, *arguments, flags=()):
    """The output of each worker. Our tasks that only serve must end by themselves, with the job; TensorFlow's have to be killed."""
    cluster = tasks.Tasks(scene.tool, SCRIPTS / f"{name}.py", workers, *arguments, flags=flags)
    ps = cluster.start("ps")
    chief, *others = [cluster.start("worker", task) for task in range(workers)]
    texts = [chief.end()]
    for one in [*others, ps]:
        if flags:
            one.kill()
        else:
            texts.append(one.end())
    for address in [cluster.ps_host, *cluster.worker_hosts]:
        tasks.assert_gone(address)
    return texts[:workers]


def losses(text):
    return [float(number) for number in re.findall(r"the loss is ([\d.]+)", text)]


def accuracy(text):
    return float(re.search(r"test accuracy ([\d.]+)", text).group(1))


def same_on_tensorflow(scene, name, workers):
    arguments = [f"--steps={COMPARED_STEPS[name]}", "--print_every=5"]
    ours, theirs = (run(scene, name, workers, *arguments, flags=flags)[0] for flags in ([], ["--tensorflow_servers"]))
    count = COMPARED_STEPS[name] // 5
    pairs = list(zip(losses(ours), losses(theirs)))[:count]
    assert len(pairs) == count and all(math.isclose(mine, other, rel_tol=TOLERANCE) for mine, other in pairs), f"{ours}\n{theirs}"
    # When the counter is read beside its update there may be one step more.
    assert math.isclose(accuracy(ours), accuracy(theirs), abs_tol=0.05), f"{ours}\n{theirs}"


def learns(scene, name, *arguments):
    for text in run(scene, name, 2, *arguments):
        assert accuracy(text) >= ACCURACY[name], text


for _name in sorted(path.stem for path in SCRIPTS.glob("*.py")):
    # The towers of in_graph take turns with nobody, so that two workers have one result.
    scenario(lambda scene, name=_name: same_on_tensorflow(scene, name, 2 if name == "in_graph" else 1), name=f"{_name}_is_the_same_on_tensorflow",
             deadline=120)


@scenario(deadline=120)
def supervisor_learns_and_saves_with_two_workers(scene):
    learns(scene, "supervisor", f"--log_dir={scene.path('model')}")
    assert tf.train.latest_checkpoint(scene.path("model")) > scene.path("model/model.ckpt-2")


@scenario(deadline=120)
def monitored_learns_and_saves_with_two_workers(scene):
    learns(scene, "monitored", f"--checkpoint_dir={scene.path('model')}")
    assert tf.train.latest_checkpoint(scene.path("model")) > scene.path("model/model.ckpt-2")


@scenario(deadline=120)
def the_commands_of_the_page_work(scene):
    """Every ```bash block of docs/tensorflow_scripts.md; the ```sh blocks are run by tests/docs. The first two are jobs of two workers, which learn."""
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert blocks, "the page has no commands"
    said = ""
    for block in blocks:
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=ROOT, env=dict(os.environ, CARILLON_PYTHON=sys.executable), text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
        assert result.returncode == 0, f"{block}\nexit code {result.returncode}\n{result.stdout[-2000:]}"
        said += result.stdout
    reached = [float(number) for number in re.findall(r"worker \d: test accuracy ([\d.]+)", said)]
    assert len(reached) == 4 and min(reached) >= min(ACCURACY["mlp_async"], ACCURACY["cnn_async"]), said
