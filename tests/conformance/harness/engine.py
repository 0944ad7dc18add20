"""Evaluates cases with our engine: writes a batch for build/tests/graph_eval and reads what it answers.

A file holds records, one a case. A record is a number of parts (uint32, little-endian), then each part as its size (uint64) and bytes. The
first part is JSON; wherever it speaks of a blob it gives the number of a later part. graph_eval answers each record in turn, so that the
case after the last answer is the one that brought it down.

Request:  {"graph": blob, "runs": [{"feeds": {"x:0": blob}, "fetches": ["y:0"], "targets": ["op"]}], "outputs": ["y:0"],
           "variants": [{"graph": blob, "outputs": ["op:0"]}], "plain": false, "gradients": {"ys": […], "grad_ys": […], "xs": […]}}
Answer:   {"code": 0, "message": "", "runs": [[blob, …]], "shapes": [[2, -1], null], "variants": [{"code", "message", "shapes"}],
           "gradients": [blob or null]}
With "plain" only the reference kernels are used and the graph runs as it was built. With "gradients" the engine differentiates the graph
itself and fetches the result in the last run.
"""

import dataclasses
import json
import pathlib
import struct
import subprocess
import tempfile

import tensorflow as tf

from harness import graphs
from harness.oracle import Outcome

TIMEOUT_SECONDS = 300


@dataclasses.dataclass
class Request:
    built: graphs.Built
    variants: list = dataclasses.field(default_factory=list)
    gradients: dict | None = None
    plain: bool = False  # reference kernels, no rewriting


@dataclasses.dataclass
class Answer:
    outcome: Outcome
    variants: list = dataclasses.field(default_factory=list)  # Outcomes with shapes only
    gradients: list | None = None


def _pack(header, blobs):
    parts = [json.dumps(header).encode(), *blobs]
    return struct.pack("<I", len(parts)) + b"".join(struct.pack("<Q", len(part)) + part for part in parts)


def _unpack(data):
    """Yields the parts of each whole record; what a crash left unfinished is dropped."""
    at = 0
    while at + 4 <= len(data):
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
        parts = []
        for _ in range(count):
            if at + 8 > len(data):
                return
            (size,) = struct.unpack_from("<Q", data, at)
            at += 8
            if at + size > len(data):
                return
            parts.append(data[at : at + size])
            at += size
        yield parts


def _encode(request):
    blobs = []

    def blob(data):
        blobs.append(data)
        return len(blobs)

    runs = [
        {"feeds": {name: blob(graphs.tensor_proto(array).SerializeToString()) for name, array in run.feeds.items()}, "fetches": run.fetches, "targets": run.targets}
        for run in request.built.runs
    ]
    header = {
        "graph": blob(request.built.graph_def.SerializeToString()),
        "runs": runs,
        "outputs": request.built.outputs,
        "plain": request.plain,
        "variants": [{"graph": blob(variant.graph_def.SerializeToString()), "outputs": variant.outputs} for variant in request.variants],
    }
    if request.gradients:
        header["gradients"] = request.gradients
    return _pack(header, blobs)


def _decode(parts):
    header = json.loads(parts[0])

    def tensor(blob):
        if blob is None:
            return None
        proto = graphs.AttrValue().tensor
        proto.ParseFromString(parts[blob])
        return tf.make_ndarray(proto)

    outcome = Outcome(header["code"], header["message"], [[tensor(b) for b in run] for run in header["runs"]], header["shapes"])
    variants = [Outcome(variant["code"], variant["message"], shapes=variant["shapes"]) for variant in header["variants"]]
    gradients = header.get("gradients")
    return Answer(outcome, variants, None if gradients is None else [tensor(b) for b in gradients])


def evaluate(program, requests):
    """An Answer for each request; where the program crashed or hung, the text that says so."""
    answers = []
    while len(answers) < len(requests):
        answers += _evaluate_until_crash(program, requests[len(answers) :])
    return answers


def _evaluate_until_crash(program, requests):
    with tempfile.TemporaryDirectory() as folder:
        batch, results = pathlib.Path(folder, "batch"), pathlib.Path(folder, "results")
        batch.write_bytes(b"".join(_encode(request) for request in requests))
        results.touch()
        try:
            process = subprocess.run([program, batch, results], capture_output=True, timeout=TIMEOUT_SECONDS)
            end = f"graph_eval ended with code {process.returncode}: {process.stderr.decode(errors='replace')[-2000:].strip()}"
        except subprocess.TimeoutExpired:
            end = f"graph_eval did not answer within {TIMEOUT_SECONDS} s"
        answers = [_decode(parts) for parts in _unpack(results.read_bytes())]
    return answers if len(answers) == len(requests) else [*answers, end]
