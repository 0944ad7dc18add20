"""GraphDefs that apply one op to given inputs, and what to run in them."""

import dataclasses

import numpy as np
import tensorflow as tf

from harness import dtypes, notation
from tensorflow.python.framework import op_def_registry

AttrValue = tf.compat.v1.AttrValue


@dataclasses.dataclass
class Run:
    feeds: dict  # "x:0" -> array
    fetches: list  # "y:0"
    targets: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Built:
    graph_def: object
    runs: list  # one after the other, in one session
    outputs: list  # whose static shapes are compared
    main: int = -1  # which of the runs is the one to differentiate
    differentiable: tuple = ((), ())  # of a program: names of ys and xs


class Vagueness:
    """How much a graph says of its inputs: at level 1 small integer inputs are constants and some dimensions unknown, at level 2 also
    some ranks, and some integer inputs are fed."""

    def __init__(self, rng, level):
        self.rng = rng
        self.level = level

    def is_const(self, array):
        small = array.dtype.kind in "iub" and array.size <= 64
        return small and (self.level == 1 or self.rng.random() < 0.5)

    def shape(self, shape):
        if self.level == 2 and self.rng.random() < 0.3:
            return tf.TensorShape(None)
        return tf.TensorShape([None if self.rng.random() < 0.35 else size for size in shape])


def to_attr(kind, value):
    """An AttrValue of an OpDef's attribute kind, such as "list(int)"."""
    if kind.startswith("list("):
        element = kind[5:-1]
        out = AttrValue()
        out.list.SetInParent()
        for item in value:
            single = to_attr(element, item)
            field = {"string": "s", "int": "i", "float": "f", "bool": "b", "type": "type", "shape": "shape", "tensor": "tensor", "func": "func"}[element]
            target = getattr(out.list, field)
            if field in ("shape", "tensor", "func"):
                target.add().CopyFrom(getattr(single, field))
            else:
                target.append(getattr(single, field))
        return out
    if kind == "string":
        return AttrValue(s=value if isinstance(value, bytes) else value.encode())
    if kind == "int":
        return AttrValue(i=int(value))
    if kind == "float":
        return AttrValue(f=float(value))
    if kind == "bool":
        return AttrValue(b=bool(value))
    if kind == "type":
        return AttrValue(type=dtypes.as_tf(value).as_datatype_enum)
    if kind == "shape":
        return AttrValue(shape=tf.TensorShape(value).as_proto())
    if kind == "tensor":
        return AttrValue(tensor=tensor_proto(np.asarray(value)))
    raise ValueError(f"attributes of kind {kind} are not supported")


def tensor_proto(array):
    return tf.make_tensor_proto(array, dtype=tf.as_dtype(array.dtype), shape=array.shape)


class _Builder:
    def __init__(self, vagueness):
        self.graph = tf.compat.v1.GraphDef()
        self.graph.versions.producer = tf.version.GRAPH_DEF_VERSION
        self.vagueness = vagueness
        self.feeds = {}
        self.initialisers = []  # node names
        self.reads = []  # "read:0"

    def node(self, name, op, inputs=(), **attrs):
        node = self.graph.node.add(name=name, op=op)
        node.input.extend(inputs)
        for key, value in attrs.items():
            node.attr[key].CopyFrom(value)
        return name

    def tensor(self, name, array):
        """A placeholder that is fed, or a constant where the vagueness asks for one."""
        dtype = AttrValue(type=tf.as_dtype(array.dtype).as_datatype_enum)
        if self.vagueness and self.vagueness.is_const(array):
            return self.node(name, "Const", dtype=dtype, value=AttrValue(tensor=tensor_proto(array)))
        shape = self.vagueness.shape(array.shape) if self.vagueness else tf.TensorShape(array.shape)
        self.feeds[f"{name}:0"] = array
        return self.node(name, "Placeholder", dtype=dtype, shape=AttrValue(shape=shape.as_proto()))

    def variable(self, name, variable):
        """A variable; its initialiser and a node that reads it are noted."""
        dtype = to_attr("type", variable.dtype)
        shape = to_attr("shape", list(variable.shape))
        is_ref = variable.kind == "ref"
        self.node(name, "VariableV2" if is_ref else "VarHandleOp", dtype=dtype, shape=shape, shared_name=AttrValue(s=name.encode()))
        if variable.value is not None:
            self.node(f"{name}/initial", "Const", dtype=dtype, value=AttrValue(tensor=tensor_proto(variable.value)))
            if is_ref:
                self.node(f"{name}/assign", "Assign", [name, f"{name}/initial"], T=dtype)
            else:
                self.node(f"{name}/assign", "AssignVariableOp", [name, f"{name}/initial"], dtype=dtype)
            self.initialisers.append(f"{name}/assign")
        if is_ref:
            self.node(f"{name}/read", "Identity", [name], T=dtype)
        else:
            self.node(f"{name}/read", "ReadVariableOp", [name], dtype=dtype)
        self.reads.append(f"{name}/read:0")
        return name

    def argument(self, name, value):
        if isinstance(value, notation.Variable):
            return self.variable(name, value)
        return self.tensor(name, value)


def _dtype_of(value):
    return value.dtype if isinstance(value, notation.Variable) else dtypes.name_of(value.dtype)


def _fetchable_outputs(op_def, node):
    """The names of the outputs of `node`, without resource handles and variants, which no session hands out."""
    defaults = {attr.name: attr.default_value for attr in op_def.attr}
    value = lambda name: node.attr[name] if name in node.attr else defaults[name]
    types = []
    for arg in op_def.output_arg:
        if arg.type_list_attr:
            types += value(arg.type_list_attr).list.type
        else:
            dtype = value(arg.type_attr).type if arg.type_attr else arg.type
            types += [dtype] * (value(arg.number_attr).i if arg.number_attr else 1)
    return [f"{node.name}:{i}" for i, dtype in enumerate(types) if dtype not in (tf.resource.as_datatype_enum, tf.variant.as_datatype_enum)]


def build(op, inputs, attrs, vagueness=None):
    """The graph of a single op, named "op", on `inputs` (name -> array, list of arrays, or Variable)."""
    op_def = op_def_registry.get(op)
    if op_def is None:
        raise ValueError(f"TensorFlow has no op called {op}")
    unknown = set(inputs) - {arg.name for arg in op_def.input_arg} | set(attrs) - {attr.name for attr in op_def.attr}
    if unknown:
        raise ValueError(f"{op} has no input or attribute called {', '.join(sorted(unknown))}")

    b = _Builder(vagueness)
    names, given = [], {}
    for arg in op_def.input_arg:
        if arg.name not in inputs:
            raise ValueError(f"{op}: the input {arg.name} is missing")
        value = inputs[arg.name]
        if isinstance(value, list):
            names += [b.argument(f"{arg.name}_{i}", item) for i, item in enumerate(value)]
            if arg.number_attr:
                given[arg.number_attr] = len(value)
            if arg.type_list_attr:
                given[arg.type_list_attr] = [_dtype_of(item) for item in value]
            elif arg.type_attr and value:
                given[arg.type_attr] = _dtype_of(value[0])
        else:
            names.append(b.argument(arg.name, value))
            if arg.type_attr:
                given[arg.type_attr] = _dtype_of(value)
    given.update({name: value for name, value in attrs.items() if value is not None})

    b.node("op", op, names, **{attr.name: to_attr(attr.type, given[attr.name]) for attr in op_def.attr if attr.name in given})
    outputs = _fetchable_outputs(op_def, b.graph.node[-1])
    runs = [Run({}, [], b.initialisers)] if b.initialisers else []
    main = len(runs)
    runs.append(Run(b.feeds, outputs, [] if outputs else ["op"]))
    if b.reads:
        runs.append(Run({}, b.reads))
    return Built(b.graph, runs, outputs, main)
