"""A ps and a worker on two machines, or what looks like it: network namespaces, joined by a slow link (tools/slow_link.py). Training gives
what it gives on one machine, and its values go over the link.

Usage: link_test.py FOLDER [unittest's arguments]      (FOLDER has carillon and mnist_replica)

Where there can be no such link the test is skipped, and says why.
"""

import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tools"), str(HERE.parent.parent / "tools")]

from addresses import free_addresses  # noqa: E402
from slow_link import SlowLink, Unavailable  # noqa: E402

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
STEPS = 40
PARAMETERS = 784 * 100 + 100 + 100 * 10 + 10
HANG = 90  # seconds
PORT = 2222


class SlowLinkTest(unittest.TestCase):
    def start(self, command):
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def server(self, job, addresses, prefix=()):
        """A server of one task, once it is ready."""
        server = self.start([*prefix, FOLDER / "carillon", "server", "--cluster", f"ps|{addresses[0]},worker|{addresses[1]}", "--job", job,
                             "--transport", "grpc", "--insecure"])
        said = ""
        while "is ready at" not in said:
            line = server.stdout.readline()
            self.assertTrue(line, f"the server of {job} has ended: {said}")
            said += line
        return server

    def client(self, addresses, steps, side=()):
        return self.start([*side, FOLDER / "mnist_replica", "--job_name", "worker", "--existing_servers", "--ps_hosts", addresses[0],
                           "--worker_hosts", addresses[1], "--train_steps", steps])

    def train(self, addresses, ps_side=(), worker_side=()):
        """The steps that it took, and the cross entropy of the trained network."""
        self.server("ps", addresses, ps_side)
        self.server("worker", addresses, worker_side)
        worker = self.client(addresses, STEPS, worker_side)
        said, _ = worker.communicate(timeout=HANG)
        self.assertEqual(worker.returncode, 0, said)
        result = re.search(r"after (\d+) steps of all workers: validation cross entropy (\S+),", said)
        self.assertTrue(result, said)
        return int(result.group(1)), float(result.group(2))

    def bytes_received(self, link, side):
        shown = subprocess.run(link.command(side, "ip", "-s", "link", "show", "wire"), stdout=subprocess.PIPE, text=True, check=True).stdout
        return int(re.search(r"RX:.*\n\s*(\d+)", shown).group(1))

    def link(self):
        """And the addresses of a ps and a worker on its sides."""
        try:
            link = self.enterContext(SlowLink(megabits=100))
        except Unavailable as error:
            self.skipTest(f"no slow link here: {error}")
        return link, [f"{link.address[side]}:{PORT}" for side in ("a", "b")]

    def test_a_link_that_is_cut_ends_the_step_and_names_the_task(self):
        link, addresses = self.link()
        self.server("ps", addresses, link.command("a"))
        worker = self.server("worker", addresses, link.command("b"))
        client = self.client(addresses, 1_000_000, link.command("b"))
        self.assertIn("connected to /job:ps", worker.stdout.readline())
        while self.bytes_received(link, "a") < PARAMETERS * 4:  # until it trains
            self.assertIsNone(client.poll())
        link.cut()
        said, _ = client.communicate(timeout=HANG)
        self.assertGreater(client.returncode, 0, said)
        self.assertRegex(said, "error: .*/job:ps/replica:0/task:0.* no sign of life")

    def test_training_over_a_slow_link_gives_the_same(self):
        link, addresses = self.link()
        steps, cross_entropy = self.train(addresses, link.command("a"), link.command("b"))
        for side in ("a", "b"):  # gradients, variables
            self.assertGreater(self.bytes_received(link, side), STEPS * PARAMETERS * 4)
        same_steps, expected = self.train(free_addresses(2))
        self.assertEqual(steps, same_steps)
        self.assertAlmostEqual(cross_entropy / expected, 1, places=5)


if __name__ == "__main__":
    unittest.main()
