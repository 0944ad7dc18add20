"""The notation of the case tables: descriptions of ops, from which cases are generated. See README.md for how to write one."""

import dataclasses
from typing import Any, Callable

import numpy as np

from harness import dtypes, values
from harness.dtypes import *  # noqa: F401,F403  (tables name sets of types)
from harness.values import between, distinct, extreme, nonzero, one_of, positive, unit, usual  # noqa: F401

BOOLS = [False, True]

# What the tables of cases/*.py have described. `family` is the name of the table being read.
descriptions = []
left_out = {}  # op -> why it has no cases
family = None


@dataclasses.dataclass
class Description:
    family: str
    op: str  # for a program: its name
    inputs: dict = dataclasses.field(default_factory=dict)
    attrs: dict = dataclasses.field(default_factory=dict)
    make: Callable | None = None  # (context) -> (inputs, attrs), in place of the two above
    program: Callable | None = None  # (context, tf) -> fetches
    ops: list = dataclasses.field(default_factory=list)  # that the cases count for
    gradient: Any = False  # True, the names of the inputs to differentiate by, or a function (inputs, attrs) that gives either
    gradient_outputs: list | None = None  # indices of the outputs to differentiate; None: all that are floats
    checks: tuple = ("gradients", "own_gradients")  # of the gradient
    bad: list = dataclasses.field(default_factory=list)
    count: int | None = None
    empty: int = 3  # cases with zero-sized inputs
    special: int = 3  # cases with NaN, infinities and signed zeros
    rtol: float | None = None
    atol: float | None = None
    ignore_outputs: tuple = ()  # indices whose values are not compared
    compare: str = "values"  # or "shapes": dtypes and shapes only; or "bits": floats must be the same to the last bit
    vague: bool = True  # also infer shapes with less known of the inputs
    may_fail: bool = False  # TensorFlow may refuse ordinary cases; the codes are then compared
    name: str = ""  # the op's, with @2, @3, … where it is described several times

    def __post_init__(self):
        others = sum(other.op == self.op for other in descriptions)
        self.name = self.name or (f"{self.op}@{others + 1}" if others else self.op)

    def number_of_ordinary_cases(self):
        decks = [len(choices) for choices in self.attrs.values() if isinstance(choices, list)]
        return self.count if self.count is not None else max([12] + decks)


def op(names, inputs=None, attrs=None, **options):
    """Describes an op, or several that take the same cases."""
    for name in [names] if isinstance(names, str) else names:
        descriptions.append(Description(family, name, inputs or {}, attrs or {}, ops=[name], **options))


def generate(names, **options):
    """Decorates a function (context) -> (inputs, attrs) that makes the cases of an op."""

    def decorate(function):
        for name in [names] if isinstance(names, str) else names:
            descriptions.append(Description(family, name, make=function, ops=[name], **options))
        return function

    return decorate


def program(ops=(), **options):
    """Decorates a function (context, tf) -> fetches that builds a graph with TensorFlow's Python. `ops`: what it counts for."""

    def decorate(function):
        description = Description(family, function.__name__, program=function, ops=list(ops), **options)
        description.count = options.get("count", 3)
        description.empty = options.get("empty", 0)
        description.special = options.get("special", 0)
        descriptions.append(description)
        return function

    return decorate


def leave_out(names, why):
    """Says why ops have no cases."""
    for name in names.split():
        left_out[name] = why


def const(dtype, value):
    """An array, for bad inputs and fixed choices."""
    return np.array(value, dtypes.as_numpy(dtype))


def zeros(dtype, *shape):
    return const(dtype, np.full(shape, b"" if dtype == "string" else 0, object))


@dataclasses.dataclass
class t:
    """A tensor input. `dtype`: a type, the name of an attribute that holds one, or a list to draw from. `shape`: see Context.resolve_shape.
    `domain`: which values. `special`: whether NaN and infinities may be put in."""

    dtype: Any
    shape: Any = None
    domain: Callable = usual
    special: bool = True

    def resolve(self, c):
        dtype = c.resolve_dtype(self.dtype)
        shape = c.resolve_shape(self.shape)
        array = np.asarray(self.domain(c.rng, dtype, shape), dtypes.as_numpy(dtype))
        if c.mode == "special" and self.special and dtypes.is_float(dtype):
            array = values.sprinkle(c.rng, array)
        return array


@dataclasses.dataclass
class v:
    """An input with a value of its own: a literal, or a function of the context that gives one."""

    dtype: Any
    value: Any

    def resolve(self, c):
        value = self.value(c) if callable(self.value) else self.value
        return np.array(value, dtypes.as_numpy(c.resolve_dtype(self.dtype)))


@dataclasses.dataclass
class many:
    """A list input: `count` tensors (a number, a range (low, high), or a function of the context), each made from `spec`."""

    count: Any
    spec: Any

    def resolve(self, c):
        count = self.count(c) if callable(self.count) else self.count
        count = c.int(*count) if isinstance(count, tuple) else count
        return [self.spec.resolve(c) for _ in range(count)]


@dataclasses.dataclass
class Variable:
    """A variable that an op changes: its kind ("ref" or "resource") and initial value (None: it has none)."""

    kind: str
    dtype: str
    shape: tuple
    value: np.ndarray | None


@dataclasses.dataclass
class ref:
    """An input that is a reference variable, initialised to `spec`. Its value after the op is compared too."""

    spec: Any
    initialized: bool = True
    kind = "ref"

    def resolve(self, c):
        value = self.spec.resolve(c)
        return Variable(self.kind, dtypes.name_of(value.dtype), value.shape, value if self.initialized else None)


class resource(ref):
    """As ref, but a resource variable."""

    kind = "resource"


# Shapes that depend on another input, for t(shape=…).
def like(other):
    return lambda c: c.shape(other)


def broadcast(other):
    """A shape that broadcasts with the input `other`."""
    return lambda c: c.broadcastable(c.shape(other))


def rank(low, high=None):
    return lambda c: c.any_shape(low, low if high is None else high)


class Context:
    """What the functions in a description see: random choices, and the inputs and attributes of the case by name."""

    def __init__(self, description, mode, rng, decks, overrides=None):
        self.description = description
        self.mode = mode  # "plain", "empty", "special" or "bad"
        self.rng = rng
        self._decks = decks
        self._overrides = overrides or {}
        self._resolved = {}
        self._dims = {}

    def __getitem__(self, name):
        """The input or attribute `name` of this case."""
        if name not in self._resolved:
            self._resolved[name] = None  # a description that asks for itself sees None
            self._resolved[name] = self._resolve(name)
        return self._resolved[name]

    def _resolve(self, name):
        d = self.description
        if name in self._overrides:
            value = self._overrides[name]
            return value.resolve(self) if hasattr(value, "resolve") else value
        if name in d.inputs:
            value = d.inputs[name]
            value = value(self) if callable(value) else value
            return value.resolve(self) if hasattr(value, "resolve") else value
        if name not in d.attrs:
            raise KeyError(f"{d.op}: neither an input nor an attribute is called {name}")
        value = d.attrs[name]
        if isinstance(value, list):
            return self._draw(name, value)
        return value(self) if callable(value) else value

    def _draw(self, name, choices):
        """The next of a shuffled deck of choices, so that each one comes up."""
        if self.mode == "bad":
            return choices[0]
        deck = self._decks.setdefault(name, [])
        if not deck:
            deck.extend(choices[i] for i in np.random.default_rng(len(choices)).permutation(len(choices)))
        return deck.pop()

    def int(self, low, high):
        """A random integer, both ends included."""
        return int(self.rng.integers(low, high, endpoint=True))

    def pick(self, *choices):
        return choices[self.int(0, len(choices) - 1)]

    def chance(self, probability=0.5):
        return bool(self.rng.random() < probability)

    def size(self):
        """A dimension."""
        if self.mode == "empty" and self.chance(0.4):
            return 0
        return self.int(1, 5)

    def dim(self, name):
        """The dimension `name` of this case, the same for all inputs."""
        if name not in self._dims:
            self._dims[name] = self.size()
        return self._dims[name]

    def any_shape(self, low=0, high=4):
        if self.mode == "empty":
            low = max(low, min(1, high))
        return tuple(self.size() for _ in range(self.int(low, high)))

    def broadcastable(self, shape):
        """A shape that broadcasts with `shape`."""
        out = [1 if self.chance(0.3) else (self.size() if size == 1 else size) for size in shape]
        out = out[self.int(0, len(out)) if self.chance(0.3) else 0 :]
        return tuple(([self.size()] if self.chance(0.15) and len(out) == len(shape) < 4 else []) + out)

    def shape(self, name):
        """The shape of the input `name`."""
        value = self[name]
        return tuple(value.shape)

    def rank(self, name):
        return len(self.shape(name))

    def axis(self, name, extra=0):
        """A random axis of the input `name`, counted from either end. `extra`: that many more places, as for ExpandDims."""
        places = self.rank(name) + extra
        return self.int(-places, places - 1)

    def array(self, dtype, shape=None, domain=usual, special=True):
        """A random array; what t() makes."""
        return t(dtype, shape, domain, special).resolve(self)

    def resolve_dtype(self, dtype):
        if isinstance(dtype, list):
            return self.pick(*dtype)
        known = dtype in self.description.attrs or dtype in self._overrides
        return self[dtype] if known else dtype

    def resolve_shape(self, shape):
        """None: any rank up to 4. A string: names of dimensions, shared by the inputs of a case, or numbers. A list or tuple: sizes.
        A function of the context: whatever it gives."""
        shape = shape(self) if callable(shape) else shape
        if shape is None:
            return self.any_shape()
        if isinstance(shape, str):
            return tuple(int(word) if word.isdigit() else self.dim(word) for word in shape.split())
        return tuple(shape)
