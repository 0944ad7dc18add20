"""Our op specs against TensorFlow's registry."""

import json
import subprocess

from harness import compare, dtypes
from tensorflow.python.framework import op_def_registry, tensor_util


def our_specs(program):
    """name -> spec, as `graph_eval --dump-ops` prints them; ops that only passes make (_…) are left out."""
    specs = json.loads(subprocess.run([program, "--dump-ops"], check=True, capture_output=True).stdout)
    return {spec["name"]: spec for spec in specs if not spec["name"].startswith("_")}


def _arg(arg):
    return {
        "name": arg.name,
        "type": dtypes.name_of(arg.type) if arg.type else "",
        "type_attr": arg.type_attr,
        "number_attr": arg.number_attr,
        "type_list_attr": arg.type_list_attr,
        "is_ref": arg.is_ref,
    }


def _value(kind, value):
    """An AttrValue in the form that --dump-ops gives it."""
    if kind.startswith("list("):
        field = {"string": "s", "int": "i", "float": "f", "bool": "b", "type": "type", "shape": "shape", "tensor": "tensor"}[kind[5:-1]]
        return [_single(kind[5:-1], item) for item in getattr(value.list, field)]
    return _single(kind, {"string": value.s, "int": value.i, "float": value.f, "bool": value.b, "type": value.type, "shape": value.shape, "tensor": value.tensor}[kind])


def _single(kind, item):
    if kind == "string":
        return item.decode("latin-1")
    if kind == "type":
        return dtypes.name_of(item)
    if kind == "shape":
        return None if item.unknown_rank else [dim.size for dim in item.dim]
    if kind == "tensor":
        return compare.brief(tensor_util.MakeNdarray(item))
    return item


def compare_op(spec, op_def):
    """Differences between one of our specs and TensorFlow's OpDef, in words."""
    problems = []
    for what, ours, theirs in [("input", spec["inputs"], op_def.input_arg), ("output", spec["outputs"], op_def.output_arg)]:
        theirs = [_arg(arg) for arg in theirs]
        if ours != theirs:
            problems.append(f"{what}s are {ours}, TensorFlow's {theirs}")
    ours = {attr["name"]: attr for attr in spec["attrs"]}
    theirs = {attr.name: attr for attr in op_def.attr}
    if set(ours) != set(theirs):
        problems.append(f"attributes are {sorted(ours)}, TensorFlow's {sorted(theirs)}")
    for name in sorted(set(ours) & set(theirs)):
        problems += [f"attribute {name}: {p}" for p in _compare_attr(ours[name], theirs[name])]
    if spec["stateful"] != op_def.is_stateful:
        problems.append(f"stateful is {spec['stateful']}, TensorFlow's {op_def.is_stateful}")
    return problems


def _compare_attr(ours, theirs):
    if ours["type"] != theirs.type:
        yield f"is a {ours['type']}, TensorFlow's a {theirs.type}"
        return
    minimum = theirs.minimum if theirs.has_minimum else None
    if ours["minimum"] != minimum:
        yield f"minimum is {ours['minimum']}, TensorFlow's {minimum}"
    has_default = theirs.HasField("default_value")
    default = _value(theirs.type, theirs.default_value) if has_default else None
    default = "invalid" if default in ("complex64", "complex128") else default  # no tensor of ours can have it
    if ours["has_default"] != has_default or ours["default"] != default:
        yield f"default is {ours['default'] if ours['has_default'] else 'missing'}, TensorFlow's {default if has_default else 'missing'}"
    if theirs.HasField("allowed_values"):
        kind = "list(type)" if "type" in theirs.type else "list(string)"
        allowed = _value(kind, theirs.allowed_values)
        # Types that no tensor of ours can have are no loss; anything beyond TensorFlow's is.
        extra = sorted(set(ours["allowed"] or []) - set(allowed))
        if ours["allowed"] is None or extra:
            yield f"allows {extra or 'everything'} beyond TensorFlow's {allowed}"
        if kind == "list(string)" and set(ours["allowed"] or []) != set(allowed):
            yield f"allows {ours['allowed']}, TensorFlow's {allowed}"
    elif ours["allowed"] is not None and "string" in theirs.type:
        yield f"allows only {ours['allowed']}, TensorFlow everything"


def check(program):
    """(number of ops, failures as text)."""
    failures = []
    specs = our_specs(program)
    for name, spec in sorted(specs.items()):
        op_def = op_def_registry.get(name)
        problems = ["TensorFlow has no such op"] if op_def is None else compare_op(spec, op_def)
        failures += [f"{name}: {problem}" for problem in problems]
    return len(specs), failures
