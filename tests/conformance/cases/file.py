"""Files: reading, writing, finding."""

import atexit
import pathlib
import shutil
import tempfile

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
