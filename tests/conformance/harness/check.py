"""Checks one description: makes its cases, evaluates them on both sides, compares."""

import collections
import dataclasses

import numpy as np
import tensorflow as tf

from harness import cases, compare, engine, notation, oracle, served

CHECKS = ("values", "gradients", "own_gradients", "served")


@dataclasses.dataclass
class Failure:
    check: str
    case: str
    size: int  # elements of the inputs: the smallest failure is shown first
    text: str


@dataclasses.dataclass
class Result:
    family: str
    name: str  # of the description
    ops: list
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # check -> cases
    failures: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class _Item:
    """One request to the engine and how to judge the answer."""

    case: cases.Case
    check: str
    request: engine.Request
    judge: object  # (engine.Answer) -> problems


def _size(case):
    arrays = [a for value in case.inputs.values() for a in (value if isinstance(value, list) else [value])]
    return int(sum(np.prod(a.shape) for a in arrays))


def _show(value):
    if isinstance(value, list):
        return "[" + ", ".join(_show(item) for item in value) + "]"
    if isinstance(value, notation.Variable):
        return f"{value.kind} variable " + ("without value" if value.value is None else compare.brief(value.value))
    return compare.brief(value)


def _reproduction(case):
    lines = [f"  {name} = {_show(value)}" for name, value in case.inputs.items()]
    lines += [f"  {name}: {value}" for name, value in case.attrs.items() if value is not None]
    if case.description.program:
        lines = [f"  {name} = {compare.brief(np.asarray(array))}" for run in case.built.runs[-1:] for name, array in run.feeds.items()]
    return "\n".join(lines)


def _judge_values(case, theirs, their_variants):
    def judge(answer):
        ours = answer.outcome
        problems = compare.codes(theirs, ours)
        if theirs.code:
            return problems
        names = [run.fetches for run in case.built.runs]
        if not ours.code:
            problems += compare.runs(names, theirs, ours, case.description)
        problems += compare.static_shapes(case.built.outputs, theirs.shapes, ours.shapes)
        fetched = {name: array for run, arrays in zip(names, ours.runs) for name, array in zip(run, arrays)}
        for name, shape in zip(case.built.outputs, ours.shapes):
            problems += compare.consistent(name, shape, fetched.get(name))
        for built, expected, got in zip(case.variants, their_variants, answer.variants):
            if isinstance(expected, str) and case.description.may_fail:
                continue
            vague = _judge_variant(built, expected, got)
            vague += [p for name, shape in zip(built.outputs, got.shapes) for p in compare.consistent(name, shape, fetched.get(name))]
            problems += [f"{p}, from {_show_knowledge(built)}" for p in vague]
        return problems

    return judge


def _judge_variant(built, expected, got):
    if isinstance(expected, str):
        return [f"TensorFlow refuses with less known of the inputs: {expected}"]
    if got.code:
        return [f"refused with less known of the inputs: {compare.CODES[got.code]} ({got.message})"]
    return compare.static_shapes(built.outputs, expected, got.shapes)


def _show_knowledge(built):
    words = []
    for node in built.graph_def.node:
        if node.op == "Placeholder":
            shape = tf.TensorShape(node.attr["shape"].shape)
            words.append(node.name + compare.show_shape(None if shape.rank is None else [-1 if s is None else s for s in shape.as_list()]))
        elif node.op == "Const" and "/" not in node.name:
            words.append(f"{node.name}=const")
    return " ".join(words)


def _judge_gradient(case, gradient):
    def judge(answer):
        if answer.outcome.code:
            return compare.codes(gradient.outcome, answer.outcome)
        names = [[f"gradient by {x}" for x, exists in zip(gradient.xs, gradient.exists) if exists]]
        last = lambda outcome: oracle.Outcome(runs=outcome.runs[-1:])
        return compare.runs(names, last(gradient.outcome), last(answer.outcome), case.description, scaled=True)

    return judge


def _judge_own_gradient(case, gradient):
    def judge(answer):
        if answer.outcome.code:
            return compare.codes(gradient.outcome, answer.outcome)
        values = iter(gradient.outcome.runs[-1])
        expected = [next(values) if exists else None for exists in gradient.exists]
        return [p for x, a, b in zip(gradient.xs, expected, answer.gradients) for p in compare.arrays(f"gradient by {x}", a, b, case.description, scaled=True)]

    return judge


def _honesty(case, outcome):
    """What TensorFlow's answer says against the description itself."""
    if case.mode == "bad" and not outcome.code:
        return "described as bad, but TensorFlow accepts it"
    if case.mode == "plain" and outcome.code and not case.description.may_fail:
        return f"TensorFlow refuses an ordinary case: {compare.CODES[outcome.code]} ({compare.first_line(outcome.message)})"
    return None


def _check_served(case, server, graph, built, theirs, result, scaled=False):
    """The same runs on our server, through TensorFlow's client: values, codes and the node that an error names."""
    result.counts["served"] += 1
    ours = served.evaluate(server, graph, built.runs)
    if isinstance(ours, str):
        problems = [ours]
    else:
        problems = compare.codes(theirs, ours) + compare.nodes(theirs, ours)
        if not problems and not theirs.code:
            problems = compare.runs([run.fetches for run in built.runs], theirs, ours, case.description, scaled)
    if problems:
        text = "\n".join(f"  {p}" for p in problems) + "\n" + _reproduction(case)
        result.failures.append(Failure("served", case.name, _size(case), text))


def _items(case, checks, server, result):
    """What to ask the engine for a case. TensorFlow is asked here, and so is the server."""
    graph, theirs = oracle.evaluate(case)
    complaint = _honesty(case, theirs)
    if complaint:
        result.failures.append(Failure("description", case.name, _size(case), f"{complaint}\n{_reproduction(case)}"))
        return
    if "served" in checks and graph is not None:
        _check_served(case, server, graph, case.built, theirs, result)
    if "values" in checks:
        variants = [] if theirs.code else case.variants
        their_variants = [oracle.shapes_of_variant(variant) for variant in variants]
        yield _Item(case, "values", engine.Request(case.built, variants), _judge_values(case, theirs, their_variants))
        yield _Item(case, "plain", engine.Request(case.built, plain=True), _judge_values(case, theirs, []))
    d = case.description
    wanted = [check for check in ("gradients", "own_gradients") if check in checks and check in d.checks]
    if "served" in checks and "gradients" in d.checks:
        wanted.append("served")
    if theirs.code or case.mode not in ("plain", "empty") or not wanted or not (d.gradient or d.program):
        return
    try:
        gradient = oracle.differentiate(case, graph)
    except (tf.errors.OpError, ValueError, TypeError, LookupError) as error:
        result.failures.append(Failure("description", case.name, _size(case), f"TensorFlow cannot differentiate it: {error}\n{_reproduction(case)}"))
        return
    if gradient is None:
        return
    if "served" in wanted:
        _check_served(case, server, graph, gradient.backward, gradient.outcome, result, scaled=True)
    if "gradients" in wanted:
        yield _Item(case, "gradients", engine.Request(gradient.backward), _judge_gradient(case, gradient))
        yield _Item(case, "plain", engine.Request(gradient.backward, plain=True), _judge_gradient(case, gradient))
    if "own_gradients" in wanted:
        names = {"ys": gradient.ys, "grad_ys": gradient.grad_ys, "xs": gradient.xs}
        yield _Item(case, "own_gradients", engine.Request(gradient.forward, gradients=names), _judge_own_gradient(case, gradient))


def check(description, program, server, seed, checks, only=None, note=lambda case: None):
    """The result of all cases of a description. `note` is told of each case before TensorFlow is."""
    result = Result(description.family, description.name, description.ops)
    items = []
    for case in cases.make_cases(description, seed, only):
        note(case.name)
        items += _items(case, checks, server, result)
    seen = set()  # what fails alike with the fast and the plain kernels is told once
    for item, answer in zip(items, engine.evaluate(program, [item.request for item in items])):
        result.counts[item.check] += 1
        problems = [answer] if isinstance(answer, str) else item.judge(answer)
        problems = [p for p in problems if item.check != "plain" or (item.case.name, p) not in seen]
        seen.update((item.case.name, p) for p in problems)
        if problems:
            text = "\n".join(f"  {p}" for p in problems) + "\n" + _reproduction(item.case)
            result.failures.append(Failure(item.check, item.case.name, _size(item.case), text))
    result.failures.sort(key=lambda failure: failure.size)
    return result
