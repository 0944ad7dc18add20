"""Kills, freezes and restarts the tasks of a training job in every phase. Nobody may hang, each survivor says what happened, and
asynchronous workers go on.

Usage: faults_test.py FOLDER [unittest's arguments]      (FOLDER has mnist_replica)

The deadlines only catch hangs: they are far longer than anything takes.
"""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))

from addresses import free_addresses  # noqa: E402

PROGRAM = pathlib.Path(sys.argv.pop(1)) / "mnist_replica"
HANG = 90  # seconds
FOR_EVER = 10_000_000  # steps


class Task:
    """One process of the job; what it says goes to a file."""

    def __init__(self, command, log):
        self.log = log
        with open(log, "wb") as file:
            self.process = subprocess.Popen([str(word) for word in command], stdout=file, stderr=subprocess.STDOUT)

    def text(self):
        return self.log.read_text(errors="replace")

    def wait_for(self, pattern):
        """Until the task has said it."""
        end = time.monotonic() + HANG
        while not re.search(pattern, self.text()):
            assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self.text()}"
            assert time.monotonic() < end, f"it has not said {pattern!r}: {self.text()}"
            time.sleep(0.02)

    def code(self):
        """Its exit code, once it has ended."""
        try:
            return self.process.wait(HANG)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it hangs: {self.text()}") from None

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Faults(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.addresses = free_addresses(3)
        self.count = 0

    def start(self, job, task=0, steps=FOR_EVER, **flags):
        self.count += 1
        flags = {"connect_seconds": 20, "grace_seconds": 2, **flags}
        command = [PROGRAM, "--job_name", job, "--task_index", task, "--ps_hosts", self.addresses[0],
                   "--worker_hosts", ",".join(self.addresses[1:]), "--train_steps", steps]
        for name, value in flags.items():
            command += [f"--{name}", value]
        one = Task(command, self.folder / f"{self.count}.log")
        self.addCleanup(one.kill)
        return one

    def start_job(self, steps=FOR_EVER):
        """A ps and two workers in the middle of training."""
        tasks = self.start("ps"), self.start("worker", 0, steps), self.start("worker", 1, steps)
        for worker in tasks[1:]:
            worker.wait_for(r"connected to /job:ps")
        tasks[0].wait_for(r"connected to /job:worker/replica:0/task:0")
        tasks[0].wait_for(r"connected to /job:worker/replica:0/task:1")
        time.sleep(0.3)  # some steps
        return tasks

    def assert_fails(self, task, *patterns):
        self.assertNotEqual(task.code(), 0, task.text())
        self.assertGreater(task.process.returncode, 0, "it has crashed: " + task.text())
        for pattern in patterns:
            self.assertRegex(task.text(), pattern)

    # Before there is a session.

    def test_a_ps_that_never_comes_is_named(self):
        worker = self.start("worker", 0, connect_seconds=2)
        self.assert_fails(worker, r"error: .*/job:ps/replica:0/task:0 at " + self.addresses[0] + r" is not there; tried for \d+ s")

    def test_a_ps_may_come_late(self):
        chief, other = self.start("worker", 0, 200), self.start("worker", 1, 200)
        time.sleep(1)
        ps = self.start("ps")
        self.assertEqual([task.code() for task in (chief, other, ps)], [0, 0, 0])

    def test_workers_wait_for_the_chief(self):
        ps, other = self.start("ps"), self.start("worker", 1, 200)
        other.wait_for(r"connected to /job:ps")
        chief = self.start("worker", 0, 200)
        self.assertEqual([task.code() for task in (chief, other, ps)], [0, 0, 0])

    # During initialisation.

    def test_a_chief_that_dies_before_it_has_initialised_may_come_back(self):
        ps, other = self.start("ps"), self.start("worker", 1, 200)
        other.wait_for(r"connected to /job:ps")
        self.start("worker", 0, 200).kill()
        chief = self.start("worker", 0, 200)
        self.assertEqual([task.code() for task in (chief, other, ps)], [0, 0, 0])

    def test_a_ps_that_dies_while_a_worker_waits_for_the_chief(self):
        ps, other = self.start("ps"), self.start("worker", 1)
        other.wait_for(r"connected to /job:ps")
        ps.kill()
        self.assert_fails(other, r"error: .*/job:ps/replica:0/task:0")

    # In the middle of training.

    def test_a_ps_that_dies_ends_all_workers(self):
        ps, *workers = self.start_job()
        ps.kill()
        for worker in workers:
            self.assert_fails(worker, r"error: .*/job:ps/replica:0/task:0")

    def test_a_ps_that_freezes_ends_all_workers(self):
        ps, *workers = self.start_job()
        ps.send(signal.SIGSTOP)
        for worker in workers:
            self.assert_fails(worker, r"error: .*/job:ps/replica:0/task:0.* no sign of life")
        ps.send(signal.SIGCONT)
        self.assertEqual(ps.code(), 0)  # it has lost everybody

    def test_a_job_that_stands_still_as_a_whole_goes_on(self):
        # As with Ctrl-Z and fg, or when the machine is paused.
        tasks = self.start_job(steps=6000)
        for task in tasks:
            task.send(signal.SIGSTOP)
        time.sleep(5)  # longer than any one of them could be silent
        for task in tasks:
            task.send(signal.SIGCONT)
        self.assertEqual([task.code() for task in tasks], [0, 0, 0], "\n".join(task.text() for task in tasks))

    def test_a_worker_that_dies_is_not_waited_for(self):
        ps, chief, other = self.start_job(steps=4000)
        other.kill()
        self.assertEqual(chief.code(), 0, chief.text())
        self.assertEqual(ps.code(), 0, ps.text())
        self.assertRegex(ps.text(), r"/job:worker/replica:0/task:1 .*is gone")
        self.assertRegex(ps.text(), r"1 are done, 1 were lost")
        self.assertRegex(chief.text(), r"those with 0 took no part, or have not finished")

    def test_a_worker_that_freezes_holds_nobody_up(self):
        ps, chief, other = self.start_job(steps=6000)
        other.send(signal.SIGSTOP)
        self.assertEqual(chief.code(), 0, chief.text())
        ps.wait_for(r"/job:worker/replica:0/task:1 .*no sign of life")
        other.send(signal.SIGCONT)
        other.code()  # it ends: with an error, or because it is back in time

    def test_a_worker_that_is_restarted_finds_the_model(self):
        ps, chief, other = self.start_job(steps=6000)
        other.kill()
        again = self.start("worker", 1, 6000)
        self.assertEqual([task.code() for task in (chief, again, ps)], [0, 0, 0])

    def test_a_chief_that_is_restarted_finds_the_model(self):
        ps, chief, other = self.start_job(steps=6000)
        chief.kill()
        again = self.start("worker", 0, 6000)
        self.assertEqual([task.code() for task in (again, other, ps)], [0, 0, 0])
        self.assertRegex(again.text(), r"validation cross entropy")

    def test_a_ps_that_is_restarted_has_forgotten_the_model(self):
        ps, *workers = self.start_job()
        ps.kill()
        again = self.start("ps")
        for worker in workers:
            self.assert_fails(worker, r"error: ")
        # It serves the next ones, and ends with them.
        workers = [self.start("worker", task, 200) for task in range(2)]
        self.assertEqual([task.code() for task in (*workers, again)], [0, 0, 0])

    # At the end.

    def test_a_worker_that_dies_at_the_end_is_said_to_be_missing(self):
        ps, chief, other = self.start_job(steps=3000)
        other.send(signal.SIGSTOP)  # it cannot hand in what it did
        chief.wait_for(r"validation cross entropy")
        other.kill()
        self.assertEqual(chief.code(), 0, chief.text())
        self.assertEqual(ps.code(), 0, ps.text())

    def test_a_ps_that_is_told_to_stop_stops(self):
        ps = self.start("ps")
        time.sleep(0.3)
        ps.send(signal.SIGTERM)
        self.assertEqual(ps.code(), -signal.SIGTERM)  # the program has no handler of its own


if __name__ == "__main__":
    unittest.main(verbosity=2)
