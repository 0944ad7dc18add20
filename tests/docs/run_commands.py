"""Holds README.md, CONTRIBUTING.md and docs/*.md against the repository.

* Every command in them succeeds: each line of a ```sh block, and each `command` in the text. Those that other stages of CI run are listed below,
  with the file that runs them, which must do so.
  Blocks of ```bash need TensorFlow: the conformance suite runs those (sessions/scripts.py).
* The first program of README.md is examples/first_program.cc, which other tests compile and run.
* Links to files of the repository lead somewhere.
* The tests that docs/semantics.md names exist, and each of its rows names one.

Usage: run_commands.py [--list]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

# Run elsewhere: the command, the file that runs it, and the words by which it does.
ELSEWHERE = {
    "make": (".ci/run", "make build"),
    "make test": (".ci/run", "make test"),
    "make demo": (".ci/run", "make demo"),
    "make format": (".ci/run", "make format-check"),
    "make install": ("tests/install/test.cmake", "--install"),
    ".ci/run": (".ci/run", "stage"),
    "make asan": (".ci/run", "make asan"),
    "make conformance": (".ci/run", "make conformance"),
    # In short form: what deals with threads.
    "make tsan": (".ci/run", "make tsan TESTS="),
    # Likewise: the same targets, each with its corpus and a fixed number of mutations.
    "make fuzz": ("tests/fuzz/CMakeLists.txt", "--runs ${arg_RUNS}"),
    # CI measures ours alone: figures mean nothing there, and the peers are large.
    "bench/run": (".ci/run", "bench/run --ours"),
    "bench/run roofline": (".ci/run", "roofline"),
    "bench/run ps_link": (".ci/run", "ps_link"),
    "bench/run --markdown": (".ci/run", "bench/run --markdown"),
}


def commands(text):
    """Those of the ```sh blocks, without comments, and those between backticks in the text around."""
    blocks = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.M | re.S)
    for language, body in blocks.findall(text):
        if language == "sh":
            for line in body.replace("\\\n", " ").splitlines():
                line = re.sub(r"(^|\s)#.*", "", line).strip()
                if line:
                    yield line
    for span in re.findall(r"`([^`\n]+)`", blocks.sub("", text)):
        if is_command(span):
            yield span


def is_command(span):
    word, _, rest = span.partition(" ")
    program = ROOT / word
    return word == "make" and bool(rest) or (program.is_file() and os.access(program, os.X_OK))


def run(command, folder):
    """What went wrong, or nothing."""
    environment = dict(os.environ, TMPDIR=folder)
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return f"exit code {result.returncode}\n{result.stdout[-2000:]}" if result.returncode else ""


def check_commands():
    seen, failures = set(), []
    with tempfile.TemporaryDirectory() as folder:
        for page in PAGES:
            for command in commands(page.read_text()):
                where = f"{page.relative_to(ROOT)}: {command}"
                if command in seen:
                    continue
                seen.add(command)
                if command in ELSEWHERE:
                    file, words = ELSEWHERE[command]
                    print(f"{where}\n  run by {file}")
                    if words not in (ROOT / file).read_text():
                        failures.append(f"{where}\n{file} does not run it: it has no `{words}`")
                elif "--list" in sys.argv:
                    print(f"{where}\n  run here")
                else:
                    print(where, flush=True)
                    problem = run(command, folder)
                    if problem:
                        failures.append(f"{where}\n{problem}")
    if not seen:
        failures.append("no commands were found at all")
    return failures


def check_first_program():
    shown = re.search(r"^```cpp\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S).group(1)
    program = (ROOT / "examples/first_program.cc").read_text()
    code = re.sub(r"\A(//[^\n]*\n)+", "", program)
    return [] if shown == code else ["README.md's first program is not examples/first_program.cc"]


def check_links():
    failures = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if not re.match(r"\w+:", target) and not (page.parent / target).exists():
                failures.append(f"{page.relative_to(ROOT)}: the link to {target} leads nowhere")
    return failures


def tests():
    """Suite.Name of those in C++; those in Python, and the functions beside them, by their file."""
    for path in [*(ROOT / "src").rglob("*_test.cc"), *(ROOT / "tests").rglob("*_test.cc")]:
        yield from (f"{suite}.{name}" for suite, name in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", path.read_text(), re.M))
    for path in (ROOT / "tests").rglob("*.py"):
        yield from (f"{path.stem}.{name}" for name in re.findall(r"^ *def (\w+)\(", path.read_text(), re.M))


def check_tests():
    known, failures = set(tests()), []
    rows = re.findall(r"^\| (?!behaviour )(.+) \| (.+) \|$", (ROOT / "docs/semantics.md").read_text(), re.M)
    if not rows:
        failures.append("docs/semantics.md has no table")
    for behaviour, tested_by in rows:
        named = re.findall(r"`([^`]+)`", tested_by)
        if not named and "](" not in tested_by:
            failures.append(f"docs/semantics.md: no test for: {behaviour}")
        failures += [f"docs/semantics.md: there is no test {name}" for name in named if name not in known]
    return failures


def main():
    failures = check_first_program() + check_links() + check_tests() + check_commands()
    for failure in failures:
        print(f"FAILED {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
