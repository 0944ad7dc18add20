"""Holds what our engine answers against what TensorFlow does. Each function gives the list of differences, in words."""

import numpy as np

from harness import dtypes

CODES = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED "
    "FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"
).split()


def brief(array, limit=12):
    """Type, shape and first elements."""
    if array is None:
        return "none"
    flat = array.ravel()[:limit].tolist()
    text = ", ".join(repr(x) if isinstance(x, (bytes, bool)) else f"{x:.9g}" if isinstance(x, float) else str(x) for x in flat)
    return f"{dtypes.name_of(array.dtype)}{list(array.shape)} {{{text}{', …' if array.size > limit else ''}}}"


def _tolerance(dtype, description):
    """Relative and absolute; a description may widen those of its op, though not for doubles."""
    if description.compare == "bits":
        return 0, 0
    rtol, atol = dtypes.TOLERANCE[dtype]
    if dtype == "double":
        return rtol, atol
    return max(rtol, description.rtol or 0), max(atol, description.atol or 0)


def arrays(what, theirs, ours, description, values=True, scaled=False):
    """`scaled`: small elements may differ by as much as large ones do, since both are sums of large terms."""
    if theirs is None or ours is None:
        return [] if theirs is ours else [f"{what}: TensorFlow's is {brief(theirs)}, ours {brief(ours)}"]
    if theirs.dtype != ours.dtype or theirs.shape != ours.shape:
        return [f"{what}: TensorFlow's is {brief(theirs)}, ours {brief(ours)}"]
    if not values or theirs.size == 0:
        return []
    dtype = dtypes.name_of(theirs.dtype)
    if dtypes.is_float(dtype):
        a, b = theirs.astype(np.float64), ours.astype(np.float64)
        rtol, atol = _tolerance(dtype, description)
        if scaled:
            atol += dtypes.SCALED_TOLERANCE[dtype] * np.abs(a, where=np.isfinite(a), out=np.zeros_like(a)).max()
        with np.errstate(invalid="ignore", over="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(a)))
    else:
        same = np.asarray(theirs == ours)
    if same.all():
        return []
    at = np.unravel_index(int(np.argmax(~same)), theirs.shape)
    where = f"[{','.join(str(int(i)) for i in at)}]"
    wrong = int((~same).sum())
    return [
        f"{what}: {wrong} of {theirs.size} elements differ, first at {where}: TensorFlow has {theirs[at]!r}, we have {ours[at]!r}\n"
        f"    TensorFlow {brief(theirs)}\n    ours       {brief(ours)}"
    ]


def first_line(message):
    """The line of an error that says what is wrong; TensorFlow's come with a preamble about where."""
    preamble = ("Graph execution error", "Detected at node", "Node:")
    lines = [line for line in message.splitlines() if line.strip() and not line.startswith(preamble)]
    return lines[0][:300] if lines else message


def codes(theirs, ours):
    """Whether both succeed, or fail with the same code."""
    if theirs.code == ours.code:
        return []
    words = lambda outcome: CODES[outcome.code] + (f" ({first_line(outcome.message)})" if outcome.message else "")
    return [f"TensorFlow says {words(theirs)}\n    we say {words(ours)}"]


def nodes(theirs, ours):
    """Where TensorFlow's client finds the op that failed, it must find the same one in our error."""
    if theirs.code and theirs.node and theirs.node != ours.node:
        return [f"TensorFlow's error is of node {theirs.node!r}, ours of {ours.node!r}: {ours.message}"]
    return []


def runs(names, theirs, ours, description, scaled=False):
    if [len(run) for run in theirs.runs] != [len(run) for run in ours.runs]:
        return [f"TensorFlow gives {[len(run) for run in theirs.runs]} tensors in its runs, we give {[len(run) for run in ours.runs]}"]
    problems = []
    for run_names, run_theirs, run_ours in zip(names, theirs.runs, ours.runs):
        for i, (name, a, b) in enumerate(zip(run_names, run_theirs, run_ours)):
            ignored = name.startswith("op:") and i in description.ignore_outputs
            problems += arrays(name, a, b, description, description.compare != "shapes" and not ignored, scaled)
    return problems


def show_shape(shape):
    return "<unknown>" if shape is None else "[" + ",".join("?" if size < 0 else str(size) for size in shape) + "]"


def static_shapes(names, theirs, ours):
    """Ours must say all that TensorFlow's say, and may say more."""
    problems = []
    for name, a, b in zip(names, theirs, ours):
        less = a is not None and (b is None or len(a) != len(b) or any(x >= 0 and x != y for x, y in zip(a, b)))
        if less:
            problems.append(f"static shape of {name}: TensorFlow infers {show_shape(a)}, we infer {show_shape(b)}")
    return problems


def consistent(name, shape, array):
    """A static shape must fit the value that came out."""
    if array is None:
        return []
    fits = shape is None or (len(shape) == array.ndim and all(x < 0 or x == y for x, y in zip(shape, array.shape)))
    return [] if fits else [f"static shape of {name}: we infer {show_shape(shape)}, the value has {list(array.shape)}"]
