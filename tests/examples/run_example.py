"""Runs an example program for a few steps and checks what it prints.

Usage: run_example.py PROGRAM [ARGUMENT…]

The program must succeed, show a table, and end with one line of JSON that has exactly the keys that scripts rely on.
"""

import json
import math
import subprocess
import sys

KEYS = ["steps", "seconds", "steps_per_second", "examples_per_second", "loss", "accuracy", "peak_rss_mb"]


def main():
    command = [*sys.argv[1:], "--json"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(result.stdout)
    assert result.returncode == 0, f"exit code {result.returncode}"
    lines = result.stdout.splitlines()
    assert any("test accuracy" in line for line in lines[:-1]), "there is no closing table"
    report = json.loads(lines[-1])
    assert list(report) == KEYS, f"the keys are {list(report)}"
    for key, value in report.items():
        assert isinstance(value, (int, float)) and math.isfinite(value), f"{key} is {value}"
    steps = int(command[command.index("--steps") + 1])
    assert report["steps"] == steps, f"{report['steps']} steps were done, not {steps}"
    assert report["steps_per_second"] > 0 and report["examples_per_second"] > report["steps_per_second"]
    assert 0 <= report["accuracy"] <= 1
    help_text = subprocess.run([sys.argv[1], "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for word in ["--steps", "--learning_rate", "--data_dir", "--json"]:
        assert word in help_text, f"--help does not mention {word}"


if __name__ == "__main__":
    main()
