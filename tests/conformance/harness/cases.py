"""From descriptions to cases: which inputs and attributes, and the GraphDef that applies the op to them."""

import dataclasses
import importlib.util
import pathlib
import zlib
from typing import Any

import numpy as np

from harness import graphs, notation

MODES = ("plain", "empty", "special", "bad")


@dataclasses.dataclass
class Case:
    description: notation.Description
    index: int
    mode: str
    rng: np.random.Generator
    inputs: dict = dataclasses.field(default_factory=dict)
    attrs: dict = dataclasses.field(default_factory=dict)
    overrides: dict | None = None
    built: Any = None  # graphs.Built; for a program only once TensorFlow has built it
    variants: list = dataclasses.field(default_factory=list)  # the same op with less known of its inputs: graphs.Built

    @property
    def name(self):
        return f"{self.description.name}#{self.index}"


def read_tables(folder, families=None):
    """Runs every table of the folder; their descriptions are then in notation.descriptions."""
    for path in sorted(pathlib.Path(folder).glob("*.py")):
        if families and path.stem not in families:
            continue
        notation.family = path.stem
        spec = importlib.util.spec_from_file_location(f"cases.{path.stem}", path)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return notation.descriptions


def _schedule(description):
    """The mode of each case, and the overrides of the bad ones."""
    d = description
    yield from (("plain", None) for _ in range(d.number_of_ordinary_cases()))
    yield from (("empty", None) for _ in range(d.empty))
    yield from (("special", None) for _ in range(d.special))
    yield from (("bad", overrides) for overrides in d.bad)


def _has_empty_input(inputs):
    arrays = [a for value in inputs.values() for a in (value if isinstance(value, list) else [value])]
    return any(0 in a.shape for a in arrays)


def _resolve(description, mode, rng, decks, overrides):
    """Inputs and attributes of one case."""
    for _ in range(20):
        c = notation.Context(description, mode, rng, decks, overrides)
        if description.make:
            inputs, attrs = description.make(c)
            for name, value in (overrides or {}).items():
                (inputs if name in inputs else attrs)[name] = value
            inputs = {name: value.resolve(c) if hasattr(value, "resolve") else value for name, value in inputs.items()}
        else:
            inputs = {name: c[name] for name in description.inputs}
            attrs = {name: c[name] for name in description.attrs}
            attrs.update({name: c[name] for name in overrides or {} if name not in inputs})
        if mode != "empty" or _has_empty_input(inputs):
            break
    return inputs, attrs


def make_cases(description, seed, only=None):
    """The cases of a description. `only`: the index of a single one."""
    decks = {}
    for index, (mode, overrides) in enumerate(_schedule(description)):
        rng = np.random.default_rng([seed, zlib.crc32(description.name.encode()), index])
        case = Case(description, index, mode, rng, overrides=overrides)
        if description.program is None:
            case.inputs, case.attrs = _resolve(description, mode, rng, decks, overrides)
            case.built = graphs.build(description.op, case.inputs, case.attrs)
            if mode != "bad" and description.vague:
                case.variants = [graphs.build(description.op, case.inputs, case.attrs, graphs.Vagueness(rng, level)) for level in (1, 2)]
        if only is None or only == index:
            yield case
