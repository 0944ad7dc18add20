"""Trains one of the networks of local_tensorflow.py for a few steps and prints one line as soon as the first is done.

Usage: first_step_tensorflow.py FOLDER NETWORK STEPS THREADS      (FOLDER holds local_tensorflow.py)
"""

import sys

sys.path.insert(0, sys.argv[1])
network, steps = sys.argv[2], int(sys.argv[3])
sys.argv = ["local_tensorflow.py", sys.argv[4]]

import local_tensorflow as peer  # noqa: E402


def run(step, n, w=0):
    step()
    print("first step", flush=True)
    for _ in range(steps - 1):
        step()
    return 0


peer.med = run
case = next(case for case in peer.CASES if case[0] == network)
peer.v1(*case, False)
