"""Runs `carillon launch` with small programs: how it starts them, shows them, and ends all of them.

Usage: launch_test.py CARILLON [unittest's arguments]

This process adopts orphans: whatever a launcher leaves behind becomes our child, so that each test can see that nothing is.
"""

import codecs
import ctypes
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

CARILLON = "carillon"
DEADLINE = 60  # seconds; only a launcher that hangs takes so long
PR_SET_CHILD_SUBREAPER = 36

# Before the code of each task: who it is, and what it may do.
PRELUDE = """
import json, os, pathlib, signal, socket, subprocess, sys, time
task = json.loads(os.environ["TF_CONFIG"])["task"]
job, index = task["type"], task["index"]
def say(*words): os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # a signal handler may say something, too
def tell(**news):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(json.dumps(news).encode(), os.environ["CARILLON_STATUS"].replace("@", "\\0"))
def wait_for_file(path):
    while not os.path.exists(path): time.sleep(0.01)
"""


def python(code):
    return [sys.executable, "-c", PRELUDE + textwrap.dedent(code)]


class Launcher:
    """`carillon launch FLAGS -- COMMAND`, with its output read line by line."""

    def __init__(self, flags, command, **options):
        self.process = subprocess.Popen([CARILLON, "launch", *flags, "--", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **options)
        self.text = ""
        # What is read ends anywhere, and so does what an interrupted launcher writes into a full pipe.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read_until(self, *parts):
        """Reads on until all parts have been seen."""
        end = time.monotonic() + DEADLINE
        while not all(part in self.text for part in parts):
            ready, _, _ = select.select([self.process.stdout], [], [], end - time.monotonic())
            assert ready, f"no {parts} came, only\n{self.text}"
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            assert more, f"the launcher has ended without {parts}:\n{self.text}"
            self.text += self._decoder.decode(more)

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self):
        """The exit code. All output is in self.text then, the errors in self.errors."""
        out, err = self.process.communicate(timeout=DEADLINE)
        self.text += self._decoder.decode(out, final=True)
        self.errors = err.decode()
        return self.process.returncode

    def lines(self, task):
        """What the task has written."""
        prefix = re.compile(re.escape(task) + r" +│ ?")
        return [prefix.sub("", line, count=1) for line in self.text.split("\n") if prefix.match(line)]

    def row(self, task):
        """Its cells in the table."""
        table = self.text[self.text.rindex("  task "):]
        for line in table.splitlines():
            cells = re.split(r"   +", line.strip())
            if cells[0] == task:
                return cells
        raise AssertionError(f"no row for {task} in\n{table}")


def children():
    """Of this process, zombies included."""
    return pathlib.Path("/proc/thread-self/children").read_text().split()


class LaunchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def launch(self, flags, command, **options):
        launcher = Launcher(flags, command, **options)
        self.addCleanup(self.end, launcher)
        return launcher

    def end(self, launcher):
        if launcher.process.returncode is None:
            launcher.process.kill()
            launcher.process.communicate()
        while left := children():  # after a failure: the next test begins alone
            for pid in left:
                os.kill(int(pid), signal.SIGKILL)
            os.waitpid(-1, 0)

    def run_to_end(self, flags, command, code=0, **options):
        """Runs it to its end, which leaves nobody behind."""
        launcher = self.launch(flags, command, **options)
        got = launcher.finish()
        self.assertEqual(got, code, launcher.text + launcher.errors)
        self.assertEqual(children(), [], "processes are left behind")
        return launcher

    # How tasks are started.

    def test_tasks_know_the_cluster(self):
        code = 'say(json.dumps([sys.argv[1:], os.environ["TF_CONFIG"], os.environ["CARILLON_THREADS"], os.environ["OMP_NUM_THREADS"]]))'
        environment = dict(os.environ, CARILLON_THREADS="6")
        environment.pop("OMP_NUM_THREADS", None)
        launcher = self.run_to_end(["--ps", "1", "--workers", "2"], [*python(code), "--own", "flag"], env=environment)
        said = {task: json.loads(launcher.lines(task)[0]) for task in ["ps:0", "worker:0", "worker:1"]}
        arguments, config, threads, omp_threads = said["worker:1"]
        self.assertEqual(arguments[:2], ["--own", "flag"])
        self.assertEqual(arguments[4:], ["--job_name=worker", "--task_index=1"])
        config = json.loads(config)
        self.assertEqual(config["task"], {"type": "worker", "index": 1})
        self.assertEqual(arguments[2], "--ps_hosts=" + ",".join(config["cluster"]["ps"]))
        self.assertEqual(arguments[3], "--worker_hosts=" + ",".join(config["cluster"]["worker"]))
        addresses = config["cluster"]["ps"] + config["cluster"]["worker"]
        self.assertEqual(len(set(addresses)), 3)
        self.assertTrue(all(address.startswith("127.0.0.1:") for address in addresses))
        self.assertEqual([threads, omp_threads], ["3", "3"])
        self.assertEqual(said["ps:0"][2], "6")
        self.assertEqual(said["ps:0"][0][4:], ["--job_name=ps", "--task_index=0"])

    def test_a_chief_is_in_tf_config_alone(self):
        launcher = self.run_to_end(["--ps", "1", "--workers", "1", "--chief", "--threads", "5"],
                                   python('say(len(sys.argv), job, os.environ["CARILLON_THREADS"])'))
        self.assertEqual(launcher.lines("chief:0"), ["1 chief 5"])
        self.assertEqual(launcher.lines("worker:0"), ["1 worker 5"])

    def test_flags_can_be_left_out(self):
        launcher = self.run_to_end(["--ps", "0", "--workers", "1", "--flags_off"], ["echo", "one", "--", "two"])
        self.assertEqual(launcher.lines("worker:0"), ["one -- two"])

    def test_a_missing_program_is_an_error_before_anything_starts(self):
        for name, message in [("no-such-program", "neither in $PATH nor in"), ("./no-such-program", "there is no program"),
                              (str(self.folder), "cannot be executed")]:
            launcher = self.run_to_end(["--log_dir", str(self.folder / "logs")], [name], code=2)
            self.assertIn(message, launcher.errors)
            self.assertEqual(len(launcher.errors.splitlines()), 1)
            self.assertEqual(launcher.text, "")
        self.assertFalse((self.folder / "logs").exists())
        broken = self.folder / "broken"
        broken.write_text("no program at all")
        broken.chmod(0o755)
        launcher = self.run_to_end([], [str(broken)], code=1)
        self.assertIn("Exec format error", launcher.text)

    def test_wrong_use_and_help(self):
        help_text = subprocess.run([CARILLON, "launch", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for word in ["--ps", "--workers", "--keep_going", "--log_dir", "Examples", "TF_CONFIG"]:
            self.assertIn(word, help_text)
        self.run_to_end(["--ps", "0", "--workers", "0"], ["true"], code=2)
        self.assertEqual(subprocess.run([CARILLON, "launch"], stderr=subprocess.PIPE).returncode, 2)
        mistaken = subprocess.run([CARILLON, "launch", "echo", "--steps", "5"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(mistaken.returncode, 2)
        self.assertIn("there is no flag --steps. What is meant for the program comes after --", mistaken.stderr)

    def test_tasks_read_nothing(self):
        self.run_to_end(["--ps", "0", "--workers", "1"], python("assert sys.stdin.read() == ''"))

    # What is shown.

    def test_all_succeed(self):
        launcher = self.run_to_end(["--ps", "1", "--workers", "2"], python('say("I am", job, index); print("oh", file=sys.stderr)'))
        for task in ["ps:0", "worker:0", "worker:1"]:
            self.assertCountEqual(launcher.lines(task), ["I am " + task.replace(":", " "), "oh"])
            self.assertEqual(launcher.row(task)[1], "exit 0")
            self.assertRegex(launcher.row(task)[7], r"\d+(\.\d+)? MB")
        self.assertNotIn("\x1b", launcher.text)
        self.assertEqual(launcher.errors, "")

    def test_many_lines(self):
        launcher = self.run_to_end(["--ps", "0", "--workers", "2"], python('for i in range(10000): print("line", i)'))
        for task in ["worker:0", "worker:1"]:
            self.assertEqual(launcher.lines(task), [f"line {i}" for i in range(10000)])

    def test_strange_lines(self):
        launcher = self.run_to_end(["--ps", "0", "--workers", "1"], python(r"""
            out = sys.stdout.buffer
            out.write(b"gr\xfcn\n" + b"10 %\r20 %\r30 %\n" + b"\x1b[2J\x1b[31mred\x1b[0m\n" + b"x" * 100000 + b"\n" + b"no end")
        """))
        lines = launcher.lines("worker:0")
        self.assertEqual(lines[:3], ["gr\N{REPLACEMENT CHARACTER}n", "30 %", "red"])
        self.assertEqual("".join(lines[3:-1]), "x" * 100000)
        self.assertEqual(lines[-1], "no end")

    def test_logs(self):
        logs = self.folder / "deep" / "logs"
        launcher = self.run_to_end(["--ps", "1", "--workers", "2", "--log_dir", str(logs)],
                                   python(r'say(job, index); sys.stdout.buffer.write(b"\xff raw\nno end")'))
        self.assertEqual(sorted(file.name for file in logs.iterdir()), ["ps-0.log", "worker-0.log", "worker-1.log"])
        self.assertEqual((logs / "worker-1.log").read_bytes(), b"worker 1\n\xff raw\nno end\n")
        self.assertEqual(launcher.lines("worker:1")[0], "worker 1")
        (self.folder / "file").write_text("")
        refused = self.run_to_end(["--log_dir", str(self.folder / "file")], ["true"], code=1)
        self.assertIn(str(self.folder / "file"), refused.errors)

    def test_news_of_tasks_is_shown(self):
        done = self.folder / "done"
        launcher = self.launch(["--ps", "1", "--workers", "1", "--status_seconds", "0.05"], python(f"""
            if job == "ps":
                tell(bytes_sent=1500000, bytes_received=2, server_steps=5)
            else:
                tell(step=12, total_steps=3000, loss=0.5, steps_per_second=98.5)
                wait_for_file("{done}")
                tell(step=3000, loss=0.25)
        """))
        launcher.read_until("worker:0 step 12/3,000 98.5 steps/s loss 0.5000\n")
        done.touch()
        self.assertEqual(launcher.finish(), 0)
        self.assertEqual(launcher.row("worker:0")[2:7], ["3,000", "98.5", "0.2500", "-", "-"])
        self.assertEqual(launcher.row("ps:0")[5:7], ["1.50 MB", "2 B"])

    def test_a_terminal_gets_colour_and_a_line_that_is_redrawn(self):
        done = self.folder / "done"
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm"}
        environment.pop("NO_COLOR", None)
        process = subprocess.Popen([CARILLON, "launch", "--ps", "0", "--workers", "1", "--", *python(f"""
            say("begins")
            tell(step=12, loss=0.5)
            wait_for_file("{done}")
            say("ends")
        """)], stdin=subprocess.DEVNULL, stdout=theirs, env=environment)
        os.close(theirs)
        text = ""
        while True:
            self.assertTrue(select.select([ours], [], [], DEADLINE)[0], text)
            try:
                more = os.read(ours, 4096)
            except OSError:  # nobody has the other end any more
                break
            text += more.decode()
            if "loss 0.5000" in text:
                done.touch()
        os.close(ours)
        self.assertEqual(process.wait(DEADLINE), 0)
        self.assertIn("\x1b[36mworker:0 │\x1b[0m begins\r\n", text)
        self.assertRegex(text, "worker:0 step 12 .* steps/s loss 0.5000\x1b\\[0m\r\x1b\\[2K")
        self.assertIn("│\x1b[0m ends\r\n", text)

    def test_a_reader_that_leaves_ends_the_cluster(self):
        launcher = self.launch(["--ps", "1", "--workers", "2"], python('while True: say("on and on")'))
        launcher.read_until("on and on")
        launcher.process.stdout.close()
        self.assertEqual(launcher.process.wait(DEADLINE), 128 + signal.SIGPIPE)
        launcher.process.stderr.close()
        self.assertEqual(children(), [])

    def test_a_reader_that_pauses_does_not_hold_up_ctrl_c(self):
        launcher = self.launch(["--ps", "0", "--workers", "1", "--log_dir", str(self.folder)], python('while True: say("on and on")'))
        launcher.read_until("on and on")
        end = time.monotonic() + DEADLINE
        while (self.folder / "worker-0.log").stat().st_size < 100_000:  # more than fits into the pipe that we do not read
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        while launcher.process.poll() is None:
            self.assertLess(time.monotonic(), end)
            launcher.signal(signal.SIGINT)
            time.sleep(0.01)
        self.assertEqual(launcher.finish(), 130)
        self.assertEqual(children(), [])

    # How clusters end.

    def test_a_failure_ends_the_others_and_is_told(self):
        launcher = self.run_to_end(["--ps", "1", "--workers", "2"], python("""
            if (job, index) != ("worker", 1): time.sleep(1000)
            for i in range(30): say("line", i)
            print("cause", file=sys.stderr, end="", flush=True)
            os._exit(3)
        """), code=1)
        self.assertIn("launch   │ worker:1 failed with exit code 3; ending the others\n", launcher.text)
        end = launcher.text[launcher.text.index("; its last lines:"):]
        self.assertIn("worker:1 │ line 29\n", end)
        self.assertIn("worker:1 │ cause\n", end)
        self.assertNotIn("line 9\n", end)
        self.assertEqual(launcher.row("worker:1")[1], "failed: exit code 3")
        self.assertEqual(launcher.row("worker:0")[1], "ended")
        self.assertEqual(launcher.row("ps:0")[1], "ended")

    def test_a_signal_is_named(self):
        launcher = self.run_to_end(["--ps", "1", "--workers", "1"], python("""
            if job == "worker": time.sleep(1000)
            os.kill(os.getpid(), signal.SIGKILL)
        """), code=1)
        self.assertIn("ps:0 was killed by SIGKILL", launcher.text)
        self.assertIn(", without a word", launcher.text)
        self.assertEqual(launcher.row("ps:0")[1], "failed: SIGKILL")

    def test_the_others_may_go_on(self):
        failed = self.folder / "failed"
        launcher = self.launch(["--ps", "1", "--workers", "2", "--keep_going", "--grace_seconds", "0.1"], python(f"""
            if job == "ps": time.sleep(1000)
            if index == 1: sys.exit(3)
            wait_for_file("{failed}")
            say("finished")
        """))
        launcher.read_until("worker:1 failed with exit code 3; the others go on\n")
        failed.touch()
        self.assertEqual(launcher.finish(), 1)
        self.assertEqual(launcher.lines("worker:0"), ["finished"])
        self.assertEqual([launcher.row(task)[1] for task in ["ps:0", "worker:0", "worker:1"]], ["ended", "exit 0", "failed: exit code 3"])

    def test_a_ps_that_fails_ends_all(self):
        launcher = self.run_to_end(["--ps", "1", "--workers", "1", "--keep_going"],
                                   python('sys.exit(7) if job == "ps" else time.sleep(1000)'), code=1)
        self.assertIn("ps:0 failed with exit code 7; ending the others", launcher.text)

    def test_a_ps_that_does_not_end_is_ended(self):
        launcher = self.run_to_end(["--ps", "1", "--workers", "1", "--grace_seconds", "0.1"], python('if job == "ps": time.sleep(1000)'))
        self.assertIn("ps:0 still runs 0.1 s after the last worker has ended: ending it", launcher.text)
        self.assertEqual(launcher.row("ps:0")[1], "ended")

    def test_sigterm_can_be_ignored_for_a_while(self):
        ready = self.folder / "ready"
        launcher = self.run_to_end(["--ps", "1", "--workers", "1", "--grace_seconds", "0.1"], python(f"""
            if job == "worker":
                wait_for_file("{ready}")
                sys.exit(1)
            signal.signal(signal.SIGTERM, lambda *_: say("never"))
            open("{ready}", "w")
            while True: time.sleep(1000)
        """), code=1)
        self.assertIn("ps:0 has not ended 0.1 s after SIGTERM: killing it", launcher.text)
        self.assertEqual(launcher.lines("ps:0"), ["never"])

    INTERRUPTIBLE = """
        def stop(*_):
            say("stops")
            sys.exit(5)
        signal.signal(signal.{name}, stop)
        say("ready")
        while True: time.sleep(1000)
    """

    def interrupt(self, number):
        launcher = self.launch(["--ps", "1", "--workers", "2"], python(self.INTERRUPTIBLE.format(name=number.name)))
        launcher.read_until("ps:0     │ ready", "worker:0 │ ready", "worker:1 │ ready")
        launcher.signal(number)
        self.assertEqual(launcher.finish(), 128 + number, launcher.text)
        self.assertEqual(children(), [])
        for task in ["ps:0", "worker:0", "worker:1"]:
            self.assertEqual(launcher.lines(task), ["ready", "stops"])
            self.assertEqual(launcher.row(task)[1], "ended")
        # A worker may need its ps until it has ended.
        self.assertGreater(launcher.text.index("ps:0     │ stops"), launcher.text.index("worker:1 │ stops"))
        self.assertIn("passing it on to all tasks", launcher.text)

    def test_ctrl_c_is_passed_on(self):
        self.interrupt(signal.SIGINT)

    def test_sigterm_is_passed_on(self):
        self.interrupt(signal.SIGTERM)

    def test_a_second_ctrl_c_kills(self):
        launcher = self.launch(["--ps", "1", "--workers", "1"], python("""
            signal.signal(signal.SIGINT, lambda *_: say("no"))
            say("ready")
            while True: time.sleep(1000)
        """))
        launcher.read_until("ps:0     │ ready", "worker:0 │ ready")
        launcher.signal(signal.SIGINT)
        launcher.read_until("worker:0 │ no")
        launcher.signal(signal.SIGINT)
        self.assertEqual(launcher.finish(), 130)
        self.assertEqual(children(), [])

    # Nobody stays behind.

    FAMILY = """
        subprocess.Popen(["sleep", "1000"])
        subprocess.Popen(["sh", "-c", "trap '' TERM INT; sleep 1000; true"])
        subprocess.Popen(["setsid", "sh", "-c", "sleep 1000; true"])
        say("ready")
    """

    def test_grandchildren_end_with_their_task(self):
        hidden = 'subprocess.Popen(["setsid", "env", "-i", "sleep", "1000"])\n'
        self.run_to_end(["--ps", "1", "--workers", "1", "--grace_seconds", "0.1"], python(textwrap.dedent(self.FAMILY) + hidden))

    def assert_death_leaves_nobody(self, command, *begun):
        launcher = self.launch(["--ps", "1", "--workers", "1"], command)
        launcher.read_until(*begun)
        launcher.signal(signal.SIGKILL)
        launcher.finish()  # returns when nobody holds its pipes any more
        end = time.monotonic() + DEADLINE
        while children():
            self.assertLess(time.monotonic(), end, [pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children()])
            os.waitpid(-1, os.WNOHANG)
            time.sleep(0.01)

    def test_a_killed_launcher_leaves_nobody(self):
        self.assert_death_leaves_nobody(python(textwrap.dedent(self.FAMILY) + "while True: time.sleep(1000)"),
                                        "ps:0     │ ready", "worker:0 │ ready")

    def test_a_killed_launcher_of_launchers_leaves_nobody(self):
        self.assert_death_leaves_nobody([CARILLON, "launch", "--ps", "0", "--workers", "2", "--flags_off", "--", "sh", "-c",
                                         "echo ready; sleep 1000", "sh"],
                                        "ps:0     │ worker:1 │ ready", "worker:0 │ worker:0 │ ready")

    def test_no_files_are_left(self):
        environment = dict(os.environ, TMPDIR=str(self.folder))
        self.run_to_end(["--workers", "1"], ["true"], env=environment, cwd=self.folder)
        self.assertEqual(list(self.folder.iterdir()), [])

    # With programs of ours.

    def test_a_server_can_be_a_task(self):
        launcher = self.run_to_end(["--ps", "1", "--workers", "1", "--flags_off", "--grace_seconds", "0.1"], python(f"""
            cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
            if job == "ps":
                os.execv("{CARILLON}", ["carillon", "server", "--cluster", json.dumps(cluster), "--job", "ps"])
            host, port = cluster["ps"][0].split(":")
            while True:
                try: socket.create_connection((host, int(port))).close()
                except OSError: time.sleep(0.01)
                else: break
        """))
        self.assertIn("carillon server /job:ps/task:0 is ready at", launcher.text)
        self.assertEqual(launcher.row("ps:0")[1], "ended")
        self.assertRegex(launcher.text, r"ps:0 +│ [\d:.]+ I (?!ps:0)", "the task is said twice")

    def test_progress_of_our_programs_is_in_the_table(self):
        launcher = self.run_to_end(["--ps", "0", "--workers", "2", "--flags_off"], ["mnist_mlp", "--steps", "20", "--test_images", "100"])
        for task in ["worker:0", "worker:1"]:
            self.assertEqual(launcher.row(task)[2], "20")
            self.assertRegex(launcher.row(task)[4], r"\d\.\d+")

    def test_a_whole_cluster_trains(self):
        launcher = self.run_to_end(["--ps", "1", "--workers", "2"], ["mnist_replica", "--train_steps", "60"])
        self.assertEqual(launcher.row("ps:0")[1], "exit 0", "the ps ends by itself")
        steps = [int(launcher.row(task)[2]) for task in ["worker:0", "worker:1"]]
        self.assertGreaterEqual(sum(steps), 60)
        self.assertIn("accuracy", launcher.text)


if __name__ == "__main__":
    CARILLON = os.path.abspath(sys.argv.pop(1))
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    unittest.main(verbosity=2)
