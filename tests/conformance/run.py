#!/usr/bin/env python3
"""Holds Carillon against TensorFlow, op by op: values, error codes, static shapes, gradients, steps and whole
programs on our server driven by TensorFlow's own client, our own client on a server of TensorFlow's, event
files, op specs and message descriptors.

Cases are generated from the tables in cases/*.py with a fixed seed. TensorFlow (pinned in requirements.txt) is installed into build/venv
on the first run; with CARILLON_PYTHON=/path/to/python that interpreter is used instead. Ends with a table; exit code 1 on any failure.

  run.py                                  everything
  run.py --family math --family nn        two tables
  run.py --op Conv2D --seed 7             one op, other random cases
  run.py --op Conv2D --case 4             one case; where an op is described several times, --op Conv2D@2
  run.py --check own_gradients            our own Gradients() only
  run.py --check sessions --scenario saving/round_trip
"""

import argparse
import contextlib
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CHECKS = ["values", "gradients", "own_gradients", "served", "sessions", "client", "events", "specs", "descriptors"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", help="a table of cases/, or several: array for all of array_*.py (may be repeated; default: all)")
    parser.add_argument("--op", action="append", help="an op or program of the tables (may be repeated; default: all)")
    parser.add_argument("--scenario", action="append", help="a file or scenario of sessions/ (may be repeated; default: all)")
    parser.add_argument("--case", type=int, help="only the case with this number")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random cases (default 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once (default: one a core)")
    parser.add_argument("--check", action="append", choices=CHECKS, help="what to check (may be repeated; default: all)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the build folder, with tests/graph_eval in it")
    parser.add_argument("--show", type=int, default=3, help="failures of one op that are printed (default 3)")
    return parser.parse_args()


def has_tensorflow():
    """Whether this interpreter has the pinned version."""
    try:
        return f"tensorflow=={importlib.metadata.version('tensorflow')}" in (HERE / "requirements.txt").read_text().split()
    except importlib.metadata.PackageNotFoundError:
        return False


def use_tensorflow():
    """Goes on in the interpreter that has TensorFlow, with the environment that it needs."""
    if os.environ.get("CARILLON_CONFORMANCE") == "1":
        return
    python = sys.executable
    if not has_tensorflow():
        command = [ROOT / "tools/venv", ROOT / "build/venv", HERE / "requirements.txt"]
        python = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    environment = dict(os.environ, CARILLON_CONFORMANCE="1", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
    os.execve(python, [python, __file__, *sys.argv[1:]], environment)


@contextlib.contextmanager
def quiet():
    """TensorFlow's library greets on the error stream when it is loaded."""
    saved, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)


def main():
    arguments = parse_arguments()
    checks = arguments.check or CHECKS
    program = arguments.build / "tests/graph_eval"
    if not program.exists():
        sys.exit(f"run.py: {program} is missing; run make first")
    use_tensorflow()

    with quiet():
        import tensorflow  # noqa: F401
    from harness import cases, client, descriptors, events, harness_test, notation, pool, report, scenarios, specs

    started = time.monotonic()
    print(f"seed {arguments.seed}", flush=True)
    descriptions = cases.read_tables(HERE / "cases")
    chosen = [
        d for d in descriptions
        if (not arguments.family or any(f"{d.family}_".startswith(f"{family}_") for family in arguments.family)) and (not arguments.op or {d.op, d.name, *d.ops} & set(arguments.op))
    ]
    if not chosen:
        sys.exit("run.py: no table describes that")
    everything = not (arguments.family or arguments.op)

    if everything and harness_test.run():
        sys.exit("run.py: the harness fails its own tests")
    outcome = report.Report(arguments.show)
    if "specs" in checks and everything:
        outcome.add_specs(*specs.check(program))
    if "descriptors" in checks and everything:
        outcome.add_descriptors(descriptors.check(ROOT / "src"))
    if "sessions" in checks and everything:
        plays = scenarios.read(HERE / "sessions")
        wanted = set(arguments.scenario or [])
        plays = [play for play in plays if not wanted or {play.group, play.name, f"{play.group}/{play.name}"} & wanted]
        if not plays:
            sys.exit("run.py: there is no such scenario")
        for result in scenarios.run(plays, arguments.jobs, arguments.build / "bin/carillon"):
            outcome.add_scenario(result)
    if "client" in checks and everything:
        outcome.add_client(*client.check(arguments.build / "tests/client_probe", arguments.build / "bin/carillon"))
    of_cases = [check for check in checks if check in ("values", "gradients", "own_gradients", "served")]
    if of_cases:
        settings = dict(program=program, seed=arguments.seed, checks=of_cases, only=arguments.case)
        for result in pool.run(chosen, arguments.jobs, arguments.build / "bin/carillon", settings):
            outcome.add(result)
    # Last: it starts TensorFlow's threads in this process, which must have none when it forks.
    if "events" in checks and everything:
        outcome.add_events(*events.check(arguments.build / "tests/event_probe"))
    if everything and "values" in checks:
        outcome.add_coverage(specs.our_specs(program), descriptions, notation.left_out)
    outcome.print_table(time.monotonic() - started)
    sys.exit(1 if outcome.failed else 0)


if __name__ == "__main__":
    main()
