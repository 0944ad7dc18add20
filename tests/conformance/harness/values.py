"""Arrays with random elements. A domain says which: a function (rng, dtype name, shape) -> array."""

import numpy as np

from harness import dtypes

SPECIALS = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0]
STRINGS = [b"", b"a", b"carillon", b"\xff\x00\xfe", "größe".encode(), b"12.5", b"x" * 40]


def between(low, high):
    """Uniform in [low, high], both included for integers."""

    def domain(rng, dtype, shape):
        if dtypes.is_float(dtype):
            return rng.uniform(low, high, shape).astype(dtypes.as_numpy(dtype))
        return rng.integers(int(np.ceil(low)), int(high), shape, endpoint=True).astype(dtypes.as_numpy(dtype))

    return domain


def one_of(*choices):
    """Each element drawn from `choices`."""

    def domain(rng, dtype, shape):
        picks = rng.integers(0, len(choices), shape)
        out = np.empty(shape, dtypes.as_numpy(dtype))
        out[...] = np.array(choices, dtypes.as_numpy(dtype))[picks]
        return out

    return domain


def usual(rng, dtype, shape):
    """What an input is filled with when its description names no domain."""
    if dtype == "string":
        return one_of(*STRINGS)(rng, dtype, shape)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtypes.is_float(dtype):
        return (rng.standard_normal(shape) * 2).astype(dtypes.as_numpy(dtype))
    return between(0 if dtype.startswith("u") else -9, 9)(rng, dtype, shape)


def nonzero(rng, dtype, shape):
    """Away from zero, with either sign where the type has one."""
    out = between(0.5, 4)(rng, dtype, shape)
    if not dtype.startswith("u"):
        out = np.where(rng.integers(0, 2, shape) == 1, out, -out).astype(out.dtype)
    return out


def distinct(rng, dtype, shape):
    """No two elements equal, so that maxima, sorts and their gradients are unambiguous (as far as the type has values)."""
    size = int(np.prod(shape, dtype=np.int64))
    start = 0 if dtype.startswith("u") else -(size // 2)
    return (rng.permutation(size) + start).reshape(shape).astype(dtypes.as_numpy(dtype))


def extreme(rng, dtype, shape):
    """Integers at the ends of their range, for ops that wrap around."""
    info = np.iinfo(dtypes.as_numpy(dtype))
    return one_of(info.min, info.max, info.max - 1, 0, 1)(rng, dtype, shape)


positive = between(0.1, 4)
unit = between(-0.95, 0.95)


def sprinkle(rng, array):
    """Puts NaN, infinities and signed zeros in place of about a third of the elements of a float array."""
    out = np.array(array)
    mask = rng.random(out.shape) < 0.35
    out[mask] = np.array(SPECIALS, out.dtype)[rng.integers(0, len(SPECIALS), int(mask.sum()))]
    return out
