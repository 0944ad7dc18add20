"""The bridge of `carillon tfrun`: scripts/*.py check what scripts see; here is what is seen from outside, the ends above all."""

import os
import pathlib
import re
import subprocess
import sys
import time

from addresses import free_addresses
from harness import tasks
from harness.scenarios import scenario

SCRIPTS = pathlib.Path(__file__).resolve().parents[1] / "scripts"

for _path in sorted(SCRIPTS.glob("*.py")):
    scenario(lambda scene, path=_path: tasks.Script(scene.tool, path, scene.path("data")).end(), name=f"{_path.stem}_as_a_script_sees_them")

SERVE = """
import os, sys, time
import tensorflow as tf
server = tf.train.Server({"worker": [sys.argv[2]]})
print("ready at", server.target, flush=True)
"""


def start(scene, ending, flags=(), **options):
    """A script with a server, which then ends as `ending` says; and the server's address."""
    path = scene.path("script.py")
    pathlib.Path(path).write_text(SERVE + ending)
    address, = free_addresses(1)
    script = tasks.Script(scene.tool, path, "x", address, flags=flags, **options)
    script.line_with("ready at")
    return script, address


WORKER = """
import os, sys, tensorflow as tf
hosts = {"ps": [sys.argv[1]], "worker": [sys.argv[2]]}
server = tf.train.Server(hosts, job_name=sys.argv[3])
if sys.argv[3] == "ps":
    print("ps ready", flush=True)
    server.join()  # and then, as some scripts do, on to what is meant for workers
with tf.device("/job:ps/task:0"):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
with tf.Session(server.target) as session:
    session.run(v.initializer)
    print("value", session.run(v.assign_add(1)), flush=True)
exec(sys.argv[4])
"""


@scenario
def only_a_good_end_is_done(scene):
    """A worker that raises, or is killed, may come back: the parameter server waits. One that ends well ends the job, and the script that joined."""
    path = scene.path("worker.py")
    pathlib.Path(path).write_text(WORKER)
    addresses = free_addresses(2)
    ps = tasks.Script(scene.tool, path, *addresses, "ps")
    ps.line_with("ps ready")
    for ending, code in [("raise ValueError('broken')", 1), ("os.kill(os.getpid(), 9)", -9)]:
        worker = tasks.Script(scene.tool, path, *addresses, "worker", ending)
        text = worker.end(code)
        assert "value 1.0" in text and ("ValueError: broken" in text) == (code == 1) and "runner.py" not in text, text
        tasks.assert_gone(addresses[1])
        time.sleep(0.5)
        assert ps.process.poll() is None and tasks.is_served(addresses[0]), "the parameter server has not waited"
    tasks.Script(scene.tool, path, *addresses, "worker", "sys.exit(0)").end()
    assert "value" not in ps.end()


TRAIN = """
import tensorflow as tf
w = tf.Variable([0.0, 0.0])
error = tf.reduce_mean(tf.square(w - [1.0, 2.0]))
step = tf.train.get_or_create_global_step()
with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.1).minimize(error, step)]):
    train = tf.no_op("train")
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for i in range(30):
        session.run([error, step])  # no steps of training
        session.run([train, error])
    session.run(tf.assign(w, [1.0, 3.0]))
    session.run([train, {"errors": [error]}])
    session.run(train)
"""


@scenario
def the_launcher_shows_steps_and_loss_of_scripts(scene):
    path = scene.path("train.py")
    pathlib.Path(path).write_text(TRAIN)
    for flags in ([], ["--local-sessions"]):
        command = [scene.tool, "launch", "--ps", "0", "--workers", "1", "--flags_off", "--", scene.tool, "tfrun", *flags, path]
        result = subprocess.run(command, env=dict(os.environ, CARILLON_PYTHON=sys.executable), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=60)
        assert result.returncode == 0, result.stdout
        # The loss may be that before the update or after it.
        assert re.search(r"^ *worker:0 .*\b32 .* (0\.5000|0\.3200)\b", result.stdout, re.M), result.stdout


@scenario
def sessions_without_a_target(scene):
    path = scene.path("local.py")
    pathlib.Path(path).write_text("""
import tensorflow as tf
with tf.Graph().as_default(), tf.Session() as session:
    print("devices", [device.name for device in session.list_devices()], session.run(tf.constant(1) + 1))
tf.Session.reset("")
""")
    # A proxy that is not there, and that nobody may ask.
    script = tasks.Script(scene.tool, path, flags=["--local-sessions", "--server-flags=--threads 1 --log_device_placement"], http_proxy="http://127.0.0.1:9")
    text = script.end()
    assert "/job:local/replica:0/task:0/device:CPU:0" in text and "add" in text, text


@scenario
def gpus_are_cpus_and_that_is_said_once(scene):
    """And at the end a child of the script that lives on keeps no server alive."""
    script, address = start(scene, """
with tf.device("/job:worker/task:0/gpu:1"):
    v = tf.Variable(1.0)
    y = v + 1
for _ in range(2):
    with tf.Session(server.target, config=tf.ConfigProto(log_device_placement=False)) as session:
        session.run(v.initializer)
        print("y is", session.run(y))
if os.fork() == 0:
    os.closerange(1, 3)
    time.sleep(20)
    os._exit(0)
sys.exit(3)
""")
    text = script.end(3)
    tasks.assert_gone(address)
    assert text.count("y is 2.0") == 2 and text.count("asks for GPUs") == 1, text


@scenario
def a_python_without_tensorflow_is_told_so(scene):
    bare = pathlib.Path(scene.path("bare-python"))
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    text = tasks.Script(scene.tool, SCRIPTS / "names.py", python=str(bare)).end(1)
    assert "has no TensorFlow" in text and "CARILLON_PYTHON" in text and "Traceback" not in text, text
    text = tasks.Script(scene.tool, SCRIPTS / "names.py", python="/nowhere/python").end(1)
    assert "/nowhere/python cannot be run" in text, text


@scenario
def python_2_is_told_so(scene):
    old = pathlib.Path(scene.path("old.py"))
    old.write_text('import tensorflow as tf\nprint "hello"\n')
    assert "2to3" in tasks.Script(scene.tool, old).end(1)
