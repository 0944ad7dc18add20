"""Failures as they come, and the table at the end."""

import collections
import textwrap

LINES_OF_TRACEBACK = 14

def _wrap(start, names):
    return textwrap.fill(start + ", ".join(sorted(names)), 120, subsequent_indent="    ", break_long_words=False)


class Report:
    def __init__(self, show):
        self.show = show  # failures printed for one op
        self.results = []
        self.scenarios = []
        self.other_failures = collections.Counter()  # what -> number
        self.notes = []

    @property
    def failed(self):
        return any(result.failures for result in self.results) or any(s.problem for s in self.scenarios) or any(self.other_failures.values())

    def add(self, result):
        self.results.append(result)
        for failure in result.failures[: self.show]:
            print(f"FAILED {result.family}: {failure.case} ({failure.check})\n{failure.text}\n", flush=True)
        if len(result.failures) > self.show:
            print(f"       {result.name}: {len(result.failures) - self.show} more failures\n", flush=True)

    def _add_failures(self, what, failures):
        self.other_failures[what] += len(failures)
        for failure in failures:
            print(f"FAILED {what}: {failure}", flush=True)

    def add_specs(self, count, failures):
        self._add_failures("op specs", failures)
        self.notes.append(f"op specs: {count} compared with TensorFlow's registry")

    def add_client(self, count, failures):
        self._add_failures("client", failures)
        self.notes.append(f"client: {count} lines of our client in its process, on our server and on TensorFlow's compared")

    def add_events(self, count, failures):
        self._add_failures("events", failures)
        self.notes.append(f"events: {count} of an event file of ours read by TensorFlow, and compared with its own")

    def add_descriptors(self, comparison):
        self._add_failures("descriptors", comparison.failures)
        self.notes.append(f"descriptors: {comparison.messages} messages, {comparison.fields} fields compared with the wheel's")
        if comparison.unknown:
            self.notes.append(f"descriptors: not in the wheel, so not compared: {', '.join(comparison.unknown)}")

    def add_coverage(self, specs, descriptions, left_out):
        """Every op of our specs has a case or a reason."""
        covered = {op for d in descriptions for op in d.ops}
        for what, ops in [("no table describes", set(specs) - covered - set(left_out)), ("described, but no op of ours", covered - set(specs))]:
            self.other_failures["coverage"] += len(ops)
            if ops:
                print(_wrap(f"FAILED coverage: {what}: ", ops))
        by_reason = collections.defaultdict(list)
        for op, why in left_out.items():
            if op in specs and op not in covered:
                by_reason[why].append(op)
        for why, ops in by_reason.items():
            self.notes.append(_wrap(f"left out ({why}): ", ops))

    def add_scenario(self, result):
        self.scenarios.append(result)
        if result.problem:
            lines = result.problem.strip().splitlines()[-LINES_OF_TRACEBACK:]
            print(f"FAILED sessions: {result.group}/{result.name} after {result.seconds:.1f} s\n" + textwrap.indent("\n".join(lines), "  ") + "\n", flush=True)

    def _print_scenarios(self):
        groups = collections.defaultdict(list)
        for result in self.scenarios:
            groups[result.group].append(result)
        print(f"\n{'sessions':<14}{'passed':>14}{'failed':>14}")
        for group, results in sorted(groups.items()):
            failed = [result.name for result in results if result.problem]
            print(f"{group:<14}{len(results) - len(failed):>14}{len(failed):>14}")
            for what, names in [("passed", {result.name for result in results} - set(failed)), ("failed", failed)]:
                if names:
                    print(textwrap.indent(_wrap(f"{what}: ", names), "  "))

    def print_table(self, seconds):
        rows = collections.defaultdict(collections.Counter)
        ops = collections.defaultdict(set)
        failing = collections.defaultdict(set)
        for result in self.results:
            for family in (result.family, "total"):
                ops[family].update(result.ops)
                if result.failures:
                    failing[family].update(result.ops or [result.name])
                rows[family]["failures"] += len(result.failures)
                rows[family].update(result.counts)
        for family, row in rows.items():
            row.update({"ops": len(ops[family]), "failing ops": len(failing[family])})
        columns = ["ops", "values", "gradients", "own_gradients", "plain", "served", "failing ops", "failures"]
        if rows:
            total = rows.pop("total")
            print(f"\n{'family':<16}" + "".join(f"{column:>14}" for column in columns))
            for family, row in [*sorted(rows.items()), ("total", total)]:
                print(f"{family:<16}" + "".join(f"{row[column]:>14}" for column in columns))
            if failing["total"]:
                print(_wrap("failing: ", failing["total"]))
        if self.scenarios:
            self._print_scenarios()
        for note in self.notes:
            print(note)
        for what, count in self.other_failures.items():
            if count:
                print(f"{what}: {count} failures")
        print(f"{'FAILED' if self.failed else 'passed'} in {seconds:.0f} s")
