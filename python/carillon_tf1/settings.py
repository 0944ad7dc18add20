"""What `carillon tfrun` was asked for, from the environment that it sets."""

import os
import shlex
import sys

TOOL = os.environ.get("CARILLON_TOOL", "carillon")  # the program
SERVER_FLAGS = shlex.split(os.environ.get("CARILLON_SERVER_FLAGS", ""))  # for each `carillon server`
LOCAL_SESSIONS = bool(os.environ.get("CARILLON_LOCAL_SESSIONS"))  # sessions without a target run on a server, too
TENSORFLOW_SERVERS = bool(os.environ.get("CARILLON_TENSORFLOW_SERVERS"))  # tf.train.Server stays TensorFlow's

_said = set()


def say_once(text):
    """A line for whoever watches the script; the same one is not repeated."""
    if text not in _said:
        _said.add(text)
        print(f"carillon tfrun: {text}", file=sys.stderr, flush=True)
