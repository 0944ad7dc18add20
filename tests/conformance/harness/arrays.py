"""What several of the tables cases/array_*.py share."""

import numpy as np

from harness.notation import const, zeros

FLOAT_INPUT = zeros("float", 2, 3)  # for cases whose other inputs are bad


def with_ones(c):
    """A shape, some of whose dimensions are 1."""
    return tuple(1 if c.chance() else n for n in c.any_shape(0, 4))


def nd_indices(c, dtype, shape, depth, rows):
    """Rows of indices into the first `depth` dimensions of `shape`."""
    columns = [c.rng.integers(0, max(n, 1), rows) for n in shape[:depth]]
    return const(dtype, np.stack(columns, -1) if columns else np.zeros(tuple(rows) + (0,), int))
