"""Presses Ctrl-C in the middle of a long run: the program must end in order, with its table and its JSON line.

Usage: interrupt_example.py PROGRAM [ARGUMENT…]
"""

import json
import signal
import subprocess
import sys


def main():
    command = [*sys.argv[1:], "--steps", "100000000", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        process.stderr.readline()  # the first line of progress: training goes on
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    print(output)
    assert process.returncode == 0, f"exit code {process.returncode}"
    assert "Stopped early" in output
    report = json.loads(output.splitlines()[-1])
    assert 0 < report["steps"] < 100000000


if __name__ == "__main__":
    main()
