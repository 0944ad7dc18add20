"""Files: reading, writing, finding."""

import atexit
import pathlib
import shutil
import tempfile
import zlib

import tensorflow as tf

from harness.notation import *

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="conformance-files-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
for name in ["a.txt", "b.txt", "ab.csv", "sub/c.txt", "sub/deep/d.txt", "other/c.txt", "[x]"]:
    (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_bytes(name.encode() * 3)
(FOLDER / "empty").write_bytes(b"")


def path(name):
    return const("string", str(FOLDER / name))


op("ReadFile", dict(filename=lambda c: path(c.pick("a.txt", "empty", "sub/deep/d.txt"))), count=4, empty=0, special=0,
   bad=[dict(filename=path("missing")), dict(filename=path("sub")), dict(filename=const("string", [str(FOLDER / "a.txt")]))])
op("MatchingFiles",
   dict(pattern=lambda c: const("string", c.pick(
       str(FOLDER / "*.txt"), [str(FOLDER / "?.txt"), str(FOLDER / "*/c.txt")], str(FOLDER / "*" / "*"), [], str(FOLDER / "none*"),
       str(FOLDER / "a.txt"), str(FOLDER / "[ab].txt"), str(FOLDER / "sub"), str(FOLDER / "missing" / "x"), str(FOLDER / "\\[x\\]"),
       [str(FOLDER / "a*"), str(FOLDER / "a.txt")], str(FOLDER / "su*" / "de*" / "*.txt"), str(FOLDER / "[!a].txt")))),
   count=30, empty=0, special=0, bad=[dict(pattern=const("string", [["x"]]))])


@program(ops=["WriteFile"], count=3)
def write_then_read(c, tf):
    # Out of sight of what MatchingFiles looks for.
    name = str(FOLDER / "sub/deep/written" / c.pick("out.txt", "new/folder/out.txt"))
    write = tf.io.write_file(name, c.feed(c.array("string", ())))
    c.run(targets=[write])
    c.run([tf.io.read_file(name), tf.io.matching_files(name + "*")])


op("WriteFile", dict(filename=path("a.txt/x"), contents=const("string", "x")), count=0, empty=0, special=0,
   bad=[dict(filename=path("a.txt/x")), dict(filename=path("sub")), dict(contents=const("string", ["x"]))])


def records(name, values, compression=""):
    with tf.io.TFRecordWriter(str(FOLDER / name), tf.io.TFRecordOptions(compression_type=compression)) as writer:
        for value in values:
            writer.write(value)
    return str(FOLDER / name)


def file_of(name, content):
    (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_bytes(content)
    return str(FOLDER / name)


LINES = [file_of("records/lines", b"one\ntwo\r\n\nfour"), str(FOLDER / "empty"), file_of("records/more", b"five\nsix\n")]
RECORDS = [records("records/tf", [b"one", b"", b"three" * 9]), records("records/none", []), records("records/two", [b"x", b"y"])]
PACKED = {kind: records("records/" + kind, [b"a", b"bb", b"ccc"], kind) for kind in ("ZLIB", "GZIP")}
CUT = file_of("records/cut", (FOLDER / "records/tf").read_bytes()[:-3])
CORRUPT = file_of("records/corrupt", (FOLDER / "records/tf").read_bytes()[:32] + b"?" + (FOLDER / "records/tf").read_bytes()[33:])
BYTES = file_of("records/bytes", bytes(range(65, 88)))
PACKED_BYTES = file_of("records/packed_bytes", zlib.compress(bytes(range(65, 88))))
MISSING = str(FOLDER / "missing")


class R:
    """A reader, a closed queue of file names, and the ops on both."""

    def __init__(self, c, tf, kind, files, old=False, **attrs):
        if old:
            # Only graphs of that time may have them.
            past = tf.compat.v1.GraphDef()
            past.versions.producer = 21
            tf.graph_util.import_graph_def(past)
        self.c, self.old, self.raw = c, old, tf.raw_ops
        self.reader = self.op(kind)(**attrs)
        self.queue = self.op("FIFOQueue")(component_types=[tf.string])
        enqueue = self.op("QueueEnqueueMany")(handle=self.queue, components=[tf.constant(files, tf.string)])
        with tf.control_dependencies([enqueue]):
            c.run([], [self.op("QueueClose")(handle=self.queue)])

    def op(self, name):
        return getattr(self.raw, name if self.old else name + "V2")

    def read(self, times=1, most=None):
        """Each with the counts afterwards."""
        if most is None:
            record = self.op("ReaderRead")(reader_handle=self.reader, queue_handle=self.queue)
        else:
            record = self.op("ReaderReadUpTo")(reader_handle=self.reader, queue_handle=self.queue, num_records=most)
        counts = [self.on("ReaderNumRecordsProduced"), self.on("ReaderNumWorkUnitsCompleted"), self.op("QueueSize")(handle=self.queue)]
        for _ in range(times):
            self.c.run(list(record))
            self.c.run(counts)

    def on(self, name, **arguments):
        return self.op(name)(reader_handle=self.reader, **arguments)


def reads(name, kind, files, times, most=None, old=False, fails=False, count=1, **attrs):
    """Reads so many times, and once more, when nothing is left, or something is wrong."""

    def run(c, tf):
        chosen = {key: c.pick(*value) if isinstance(value, list) else value for key, value in attrs.items()}
        R(c, tf, kind, files, old, **chosen).read(times + (1 if fails else 0), most)

    run.__name__ = name
    suffix = "" if old else "V2"
    ops = [kind, "ReaderRead" if most is None else "ReaderReadUpTo", "ReaderNumRecordsProduced", "ReaderNumWorkUnitsCompleted"]
    program(ops=[op + suffix for op in ops], count=count, may_fail=fails)(run)


for old in (False, True):
    era = "_of_old" if old else ""
    reads("read_whole_files" + era, "WholeFileReader", LINES, 3, old=old)
    reads("read_names" + era, "IdentityReader", ["a", "", "b"], 3, old=old)
    reads("read_lines" + era, "TextLineReader", LINES, 6, old=old)
    reads("read_many_lines" + era, "TextLineReader", LINES, 3, most=3, old=old)
    reads("read_records" + era, "TFRecordReader", RECORDS, 5, old=old)
leave_out("FixedLengthRecordReader", "TensorFlow's kernel asks for an attribute that only FixedLengthRecordReaderV2 has; its kernel is that one's")

reads("read_fixed", "FixedLengthRecordReader", [BYTES, BYTES], 6, record_bytes=5, header_bytes=2, footer_bytes=1, hop_bytes=3)
reads("read_whole_files_to_the_end", "WholeFileReader", LINES, 3, fails=True)
reads("read_many_whole_files", "WholeFileReader", LINES, 3, most=2)
reads("read_names_to_the_end", "IdentityReader", ["a"], 1, fails=True)
reads("read_lines_to_the_end", "TextLineReader", LINES, 6, fails=True)
reads("read_lines_below_a_header", "TextLineReader", LINES, 2, skip_header_lines=[1, 2], count=2)
reads("read_lines_below_a_long_header", "TextLineReader", LINES, 0, skip_header_lines=9, fails=True)
reads("read_no_lines", "TextLineReader", LINES, 2, most=0)
reads("read_many_records", "TFRecordReader", RECORDS, 3, most=2)
reads("read_more_records_than_there_are", "TFRecordReader", RECORDS, 2, most=100)
reads("read_records_to_the_end", "TFRecordReader", RECORDS, 5, fails=True)
for kind, name in PACKED.items():
    reads("read_records_packed_with_" + kind, "TFRecordReader", [name, name], 6, compression_type=kind)
    reads("read_records_not_unpacked_" + kind, "TFRecordReader", [name, *RECORDS], 0, compression_type=["", "UNKNOWN"], count=2, fails=True)
reads("read_unpacked_records", "TFRecordReader", RECORDS, 0, compression_type="ZLIB", fails=True)
reads("read_a_record_cut_short", "TFRecordReader", [CUT], 2, fails=True)
reads("read_many_of_records_cut_short", "TFRecordReader", [CUT], 0, most=5, fails=True)
reads("read_a_corrupt_record", "TFRecordReader", [CORRUPT], 1, fails=True)
reads("read_text_as_records", "TFRecordReader", [LINES[2], RECORDS[0]], 1)
reads("read_fixed_hops", "FixedLengthRecordReader", [BYTES, str(FOLDER / "empty"), BYTES], 6, record_bytes=[1, 3, 5], hop_bytes=[0, 1, 2, 5], footer_bytes=[0, 4], count=8)
reads("read_fixed_packed", "FixedLengthRecordReader", [PACKED_BYTES, PACKED_BYTES], 6, encoding="ZLIB", record_bytes=[3, 5], hop_bytes=[0, 2, 5],
      header_bytes=[0, 2], footer_bytes=[0, 3], count=6)
reads("read_fixed_to_the_end", "FixedLengthRecordReader", [BYTES], 4, record_bytes=5, fails=True)
reads("read_fixed_of_an_unknown_encoding", "FixedLengthRecordReader", [BYTES], 4, record_bytes=5, encoding="UNKNOWN")
reads("read_fixed_without_its_header", "FixedLengthRecordReader", [LINES[2], BYTES], 0, record_bytes=5, header_bytes=20, fails=True)
for name in ("record_bytes", "header_bytes", "footer_bytes", "hop_bytes"):
    reads("read_fixed_with_negative_" + name, "FixedLengthRecordReader", [BYTES], 0, **dict(dict(record_bytes=5), **{name: -1}), fails=True)
reads("read_lines_below_a_negative_header", "TextLineReader", LINES, 0, skip_header_lines=-1, fails=True)
for kind, attrs in dict(WholeFile={}, TextLine={}, TFRecord={}, FixedLengthRecord=dict(record_bytes=3)).items():
    reads("read_a_missing_file_with_" + kind, kind + "Reader", [MISSING], 0, fails=True, **attrs)


def state_of(started, finished, produced, current=b""):
    varint = lambda n: bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])
    return b"\x08" + varint(started) + b"\x10" + varint(finished) + b"\x18" + varint(produced) + b'"' + varint(len(current)) + current


for old in (False, True):
    suffix = "" if old else "V2"

    @program(ops=[op + suffix for op in ("ReaderSerializeState", "ReaderRestoreState", "ReaderReset", "WholeFileReader", "IdentityReader")], count=2)
    def states(c, tf, old=old):
        r = R(c, tf, c.pick("WholeFileReader", "IdentityReader"), LINES, old)
        r.read(2)
        c.run([r.on("ReaderSerializeState")])
        c.run([], [r.on("ReaderRestoreState", state=tf.constant(state_of(7, 7, 300, b"file")))])
        c.run([r.on("ReaderSerializeState"), r.on("ReaderNumRecordsProduced")])
        r.read(1)
        c.run([r.on("ReaderSerializeState")])
        c.run([], [r.on("ReaderReset")])
        c.run([r.on("ReaderSerializeState"), r.on("ReaderNumWorkUnitsCompleted")])

    @program(ops=["ReaderReset" + suffix])
    def reset_in_the_middle(c, tf, old=old):
        r = R(c, tf, "TextLineReader", LINES, old)
        r.read(2)
        c.run([], [r.on("ReaderReset")])
        r.read(2)


for number, state in enumerate([state_of(2, 1, 3, b"x"), state_of(0, 0, (1 << 64) - 1), state_of((1 << 64) - 1, (1 << 64) - 1, 0), b"\xff\xff"]):

    @program(ops=["ReaderRestoreStateV2"], count=1, may_fail=True)
    def no_state(c, tf, state=state):
        c.run([], [R(c, tf, "WholeFileReader", LINES).on("ReaderRestoreState", state=state)])


@program(ops=["ReaderRestoreStateV2", "ReaderSerializeStateV2"], count=4, may_fail=True)
def readers_without_state(c, tf):
    r = R(c, tf, c.pick("TextLineReader", "TFRecordReader"), LINES)
    c.run(*c.pick(([r.on("ReaderSerializeState")],), ([], [r.on("ReaderRestoreState", state=b"")])))


@program(ops=["ReaderReadV2"], count=3, may_fail=True)
def no_queue_of_names(c, tf):
    queue = tf.queue.FIFOQueue(3, *c.pick(([tf.int32],), ([tf.string, tf.string],), ([tf.string], [[2]])))
    c.run([], [queue.enqueue([tf.zeros([] if not queue.shapes[0].rank else queue.shapes[0], dtype) for dtype in queue.dtypes])])
    c.run(list(tf.raw_ops.ReaderReadV2(reader_handle=tf.raw_ops.IdentityReaderV2(), queue_handle=queue.queue_ref)))
