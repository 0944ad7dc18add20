"""Evaluates cases with TensorFlow's local session."""

import dataclasses

import numpy as np
import tensorflow as tf

from harness import dtypes, graphs, notation

tf1 = tf.compat.v1
# Programs are written as for TensorFlow 1.x: Switch and Merge, reference variables.
tf1.disable_control_flow_v2()
tf1.disable_resource_variables()
INVALID_ARGUMENT = 3


@dataclasses.dataclass
class Outcome:
    """What became of a case: an error, or the fetched values of each run and the static shapes of the outputs."""

    code: int = 0
    message: str = ""
    runs: list = dataclasses.field(default_factory=list)  # a list of arrays each; None for a gradient that does not exist
    shapes: list = dataclasses.field(default_factory=list)  # lists of sizes, -1 where unknown; None for an unknown rank
    node: str | None = None  # that the error names, as TensorFlow's client understands it


def _config():
    config = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1, operation_timeout_in_ms=60000)
    # The kernels themselves are the oracle, not what graph rewriting makes of them.
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config


CONFIG = _config()


def to_outcome(error):
    if isinstance(error, tf.errors.OpError):
        return Outcome(error.error_code, error.message, node=error.node_def.name if error.node_def else None)
    return Outcome(INVALID_ARGUMENT, str(error))  # the importer's errors arrive as ValueError


def as_array(value, dtype):
    """A fetched value as an array of the tensor's type (scalars of strings arrive as bytes)."""
    if dtype == tf.string:
        out = np.empty(np.shape(value), object)
        out[...] = value
        return out
    return np.asarray(value, dtype.as_numpy_dtype)


def static_shape(tensor):
    return None if tensor.shape.rank is None else [-1 if size is None else size for size in tensor.shape.as_list()]


def import_graph(built):
    graph = tf1.Graph()
    with graph.as_default():
        tf1.import_graph_def(built.graph_def, name="")
    return graph


def run_all(graph, runs, target="", config=CONFIG):
    """Runs one after the other in a new session; the arrays of each."""
    results = []
    with tf1.Session(target, graph=graph, config=config) as session:
        for run in runs:
            fetched, _ = session.run([run.fetches, run.targets], run.feeds)
            results.append([as_array(value, graph.get_tensor_by_name(name).dtype.base_dtype) for name, value in zip(run.fetches, fetched)])
    return results


class ProgramContext(notation.Context):
    """What a program sees, besides the random choices: feeds, runs and what to differentiate."""

    def __init__(self, description, mode, rng):
        super().__init__(description, mode, rng, {})
        self.runs = []
        self.feeds = {}
        self.differentiable = ((), ())

    def feed(self, value, shape="full", name=None):
        """A placeholder that later runs feed with `value`. `shape`: what is known of it; all by default."""
        value = np.asarray(value)
        placeholder = tf1.placeholder(tf.as_dtype(value.dtype), value.shape if isinstance(shape, str) else shape, name=name)
        self.feeds[placeholder.name] = value
        return placeholder

    def run(self, fetches=(), targets=()):
        """Adds a run; runs come one after the other, in one session. Targets are operations."""
        self.runs.append(graphs.Run(dict(self.feeds), [tensor.name for tensor in fetches], [target.name for target in targets]))

    def gradient(self, ys, xs):
        """Asks for the gradient of ys by xs as a case of its own."""
        self.differentiable = ([y.name for y in ys], [x.name for x in xs])


def build_program(case):
    """Builds the graph of a program; sets case.built."""
    c = ProgramContext(case.description, case.mode, case.rng)
    graph = tf1.Graph()
    with graph.as_default():
        fetches = case.description.program(c, tf1)
        if fetches is not None:
            c.run(fetches)
    outputs = list(dict.fromkeys(name for run in c.runs for name in run.fetches))
    case.built = graphs.Built(graph.as_graph_def(), c.runs, outputs, len(c.runs) - 1, c.differentiable)
    return graph


def evaluate(case):
    """(graph, outcome) of a case; the graph is None when TensorFlow refuses it."""
    graph = None
    try:
        graph = build_program(case) if case.built is None else import_graph(case.built)
        outcome = Outcome(runs=run_all(graph, case.built.runs))
        outcome.shapes = [static_shape(graph.get_tensor_by_name(name)) for name in case.built.outputs]
        return graph, outcome
    except (tf.errors.OpError, ValueError) as error:
        if case.built is None:
            raise
        return graph, to_outcome(error)


def shapes_of_variant(built):
    """The static shapes of a variant's outputs, or the message of the error."""
    try:
        graph = import_graph(built)
        return [static_shape(graph.get_tensor_by_name(name)) for name in built.outputs]
    except (tf.errors.OpError, ValueError) as error:
        return str(error)


def is_differentiable(tensor):
    return dtypes.is_float(dtypes.name_of(tensor.dtype))


def _ys_and_xs(case, graph):
    """Names of what to differentiate, and by what."""
    d = case.description
    if d.program:
        return case.built.differentiable
    ys = case.built.outputs if d.gradient_outputs is None else [f"op:{i}" for i in d.gradient_outputs]
    wanted = d.gradient(case.inputs, case.attrs) if callable(d.gradient) else d.gradient
    wanted = list(case.inputs) if wanted is True else wanted or []
    xs = []
    for name in wanted:
        value = case.inputs[name]
        if isinstance(value, list):
            xs += [f"{name}_{i}:0" for i in range(len(value))]
        elif not isinstance(value, notation.Variable):
            xs.append(f"{name}:0")
    keep = lambda name: is_differentiable(graph.get_tensor_by_name(name))
    return [y for y in ys if keep(y)], [x for x in xs if keep(x)]


@dataclasses.dataclass
class GradientCase:
    forward: graphs.Built  # the graph without gradients, fed as the runs say
    backward: graphs.Built  # with the gradients as TensorFlow builds them
    ys: list
    grad_ys: list
    xs: list
    exists: list  # for each x whether it has a gradient
    outcome: Outcome


def differentiate(case, graph):
    """The gradient of a case that evaluates; None when nothing in it can be differentiated."""
    ys, xs = _ys_and_xs(case, graph)
    if not ys or not xs:
        return None
    before, main = case.built.runs[: case.built.main], case.built.runs[case.built.main]
    feeds = dict(main.feeds)
    tensors = lambda names: [graph.get_tensor_by_name(name) for name in names]
    with graph.as_default():
        grad_ys = []
        for value in run_all(graph, [*before, graphs.Run(feeds, ys)])[-1]:
            placeholder = tf1.placeholder(tf.as_dtype(value.dtype), value.shape, name="grad_y")
            feeds[placeholder.name] = notation.usual(case.rng, dtypes.name_of(value.dtype), value.shape)
            grad_ys.append(placeholder.name)
        forward = graphs.Built(graph.as_graph_def(), [*before, graphs.Run(feeds, [])], [])
        gradients = tf1.gradients(tensors(ys), tensors(xs), tensors(grad_ys))
        gradients = [None if g is None else tf.convert_to_tensor(g) for g in gradients]
    fetches = [g.name for g in gradients if g is not None]
    backward = graphs.Built(graph.as_graph_def(), [*before, graphs.Run(feeds, fetches)], fetches)
    outcome = Outcome(runs=run_all(graph, backward.runs), shapes=[static_shape(tensor) for tensor in tensors(fetches)])
    return GradientCase(forward, backward, ys, grad_ys, xs, [g is not None for g in gradients], outcome)
