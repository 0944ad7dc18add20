"""Runs a script as the main program, and tells its servers how it ended."""

import atexit
import importlib.util
import os
import sys
import types

from carillon_tf1 import attached, imports


def main(arguments):
    """Runs arguments[0] with the others as its own. Ends as the script does: exit code, exception, signal."""
    if importlib.util.find_spec("tensorflow") is None:
        sys.exit(f"carillon tfrun: {sys.executable} has no TensorFlow. Install it there (pip install tensorflow), or set CARILLON_PYTHON to a Python that has it.")
    script = arguments[0]
    sys.argv = list(arguments)
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    imports.install()
    # Registered first, so it runs last: after the script's own functions, and after its threads have ended.
    atexit.register(attached.end_all)
    _run(_compiled(script), _new_main(script))
    attached.succeeded()


def _new_main(script):
    module = types.ModuleType("__main__")
    module.__file__ = script
    sys.modules["__main__"] = module
    return module


def _compiled(script):
    with open(script, "rb") as file:
        source = file.read()
    try:
        return compile(source, script, "exec")
    except SyntaxError as error:
        _print_exception(error, None)
        if "Missing parentheses in call to 'print'" in str(error):
            print("carillon tfrun: this script is written in Python 2; `2to3 -w SCRIPT` turns it into Python 3.", file=sys.stderr)
        sys.exit(1)


def _run(code, module):
    try:
        exec(code, module.__dict__)
    except SystemExit as end:
        if not end.code:
            attached.succeeded()
        raise
    except KeyboardInterrupt:
        raise  # Python ends itself with the signal
    except BaseException as error:
        _print_exception(error, error.__traceback__.tb_next)  # without the frame of this function
        sys.exit(1)


def _print_exception(error, traceback):
    sys.excepthook(type(error), error.with_traceback(traceback), traceback)
