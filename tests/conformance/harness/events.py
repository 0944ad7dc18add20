"""An event file that our SummaryWriter wrote (tests/tools/event_probe.cc), read by TensorFlow's own reader; and by TensorBoard's,
where it is installed. TensorFlow computes the same summaries from the graph in the file."""

import importlib.util
import subprocess
import tempfile

import tensorflow as tf

tf1 = tf.compat.v1


def _theirs(graph_def, steps):
    """The summaries that TensorFlow makes of that graph."""
    with tf1.Graph().as_default() as graph:
        tf1.import_graph_def(graph_def, name="")
        with tf1.Session(graph=graph) as session:
            return [tf1.Summary.FromString(session.run("merged:0", {"x:0": step})) for step in steps]


def _tensorboard_tags(path):
    from tensorboard.backend.event_processing import event_file_loader
    return [value.tag for event in event_file_loader.LegacyEventFileLoader(path).Load() for value in event.summary.value]


def check(program):
    """(how many events were compared, the failures)."""
    failures = []
    with tempfile.TemporaryDirectory(prefix="conformance-events-") as folder:
        run = subprocess.run([program, folder], capture_output=True, text=True)
        if run.returncode:
            return 0, [f"exit code {run.returncode}: {run.stderr.strip()}"]
        path = run.stdout.strip()
        events = list(tf1.train.summary_iterator(path))
        on_board = _tensorboard_tags(path) if importlib.util.find_spec("tensorboard") else None
    kinds = [event.WhichOneof("what") for event in events]
    if kinds != ["file_version", "graph_def", *4 * ["summary"]]:
        return len(events), [f"the events are {kinds}"]
    if events[0].file_version != "brain.Event:2" or not all(event.wall_time > 1e9 for event in events):
        failures.append("the version or a time is wrong")
    steps, scalar = events[2:5], events[5]
    if [event.step for event in steps] != [1, 2, 3]:
        failures.append(f"the steps are {[event.step for event in steps]}")
    for event, theirs in zip(steps, _theirs(tf1.GraphDef.FromString(events[1].graph_def), [event.step for event in steps])):
        if event.summary != theirs:
            failures.append(f"step {event.step}: {str(event.summary)[:500]} instead of {str(theirs)[:500]}")
    if (scalar.step, scalar.summary.value[0].tag, scalar.summary.value[0].simple_value) != (4, "accuracy", 0.5):
        failures.append(f"the scalar is {scalar}")
    tags = [value.tag for event in events for value in event.summary.value]
    if on_board not in (None, tags):
        failures.append(f"TensorBoard finds {on_board}, not {tags}")
    return len(events), failures
