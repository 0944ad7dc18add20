"""Two network namespaces joined by a link of a given rate, for tests and benchmarks of tasks on different machines.

    with SlowLink(megabits=400) as link:
        process = subprocess.Popen(link.command("b", "iperf", "-s"))      # listens on link.address["b"]

Each namespace is held by a process that ends with its standard input: whatever happens to the program that made them, nothing stays behind.
Without root a user namespace is made around both, where the system allows that. Unavailable says why there can be no link.
"""

import os
import shutil
import subprocess

TOOLS = ["unshare", "nsenter", "ip", "tc"]
QUEUE = "20ms"  # what a side sends beyond the rate waits so long at most; more is dropped
BURST = "128kb"  # goes through at once; room for what the kernel segments late, so that packets pass whole


class Unavailable(Exception):
    """Namespaces or a limited link cannot be made here."""


class SlowLink:
    """A veth pair between the sides "a" and "b", both directions limited."""

    def __init__(self, megabits):
        self.megabits = megabits
        self.address = {"a": "10.77.0.1", "b": "10.77.0.2"}
        self._holders = {}

    def __enter__(self):
        missing = [tool for tool in TOOLS if shutil.which(tool) is None]
        if missing:
            raise Unavailable(f"there is no {', '.join(missing)} (packages util-linux and iproute2)")
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for holder in self._holders.values():
            holder.communicate()  # which closes its input
        self._holders.clear()

    def command(self, side, *words):
        """What runs the command `words` on a side."""
        return [*self._enter(side), *(str(word) for word in words)]

    def set_rate(self, megabits):
        """Limits both directions anew; None: not at all."""
        for side in self.address:
            if self.megabits is not None:
                self._run(side, "tc", "qdisc", "del", "dev", "wire", "root")
            if megabits is not None:
                self._run(side, "tc", "qdisc", "add", "dev", "wire", "root", "tbf", "rate", f"{megabits}mbit", "burst", BURST, "latency", QUEUE)
        self.megabits = megabits

    def cut(self):
        """Nothing comes through from now on, and nobody is told."""
        self._run("a", "ip", "link", "set", "wire", "down")

    def _make(self):
        megabits, self.megabits = self.megabits, None
        self._hold("a", ["unshare", "--net"])
        self._hold("b", [*self._enter("a"), "unshare", "--net"])
        peer = str(self._holders["b"].pid)
        self._run("a", "ip", "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", peer)
        for side, address in self.address.items():
            self._run(side, "ip", "address", "add", f"{address}/24", "dev", "wire")
            for device in ("lo", "wire"):
                self._run(side, "ip", "link", "set", device, "up")
        self.set_rate(megabits)

    def _hold(self, side, unshare):
        if side == "a" and os.geteuid() != 0:
            unshare = [*unshare, "--user", "--map-root-user"]
        # The holder says when it is in its namespace.
        holder = subprocess.Popen([*unshare, "sh", "-c", "echo there; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self._holders[side] = holder
        if holder.stdout.readline() != "there\n":
            raise Unavailable(f"no network namespace can be made: {holder.stderr.read().strip()}")

    def _enter(self, side):
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self._holders[side].pid), *user, "--net"]

    def _run(self, side, *words):
        done = subprocess.run(self.command(side, *words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Unavailable(f"{' '.join(words)}: {done.stdout.strip()}")
