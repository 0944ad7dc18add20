"""Strings: joining, cutting, converting, hashing, matching."""

import numpy as np

from harness.notation import *

TEXTS = [b"", b"a", b"hello", b" two words ", b"a,,b,c", "größe".encode(), "ΑΒΓ δ".encode(), b"\xff\xfe\x80", b"\t\n x\v", b"Mixed CASE 123", b"x" * 70, bytes(range(1, 256)), b"aXbXXc"]


def texts(rng, dtype, shape):
    out = np.empty(shape, object)
    for i in np.ndindex(*shape):
        out[i] = TEXTS[rng.integers(len(TEXTS))]
    return out


S = t("string", None, texts)


def strings(shape):
    return t("string", shape, texts)


op("StringJoin", dict(inputs=lambda c: [c.array("string", c.pick((), (2, 3)), texts) for _ in range(c.int(1, 4))]), dict(separator=["", ", "]), empty=0,
   bad=[dict(inputs=[const("string", ["a", "b"]), const("string", ["a"])])])
op("StringStrip", dict(input=S))
op(["StringLower", "StringUpper"], dict(input=S), dict(encoding=["", "utf-8"]), bad=[dict(encoding="latin-1")])
op("StringLength", dict(input=S), dict(unit=["BYTE", "UTF8_CHAR"]))
op("StringSplit", dict(input=strings("n"), delimiter=lambda c: const("string", c.pick("", ",", " ,", "X"))), dict(skip_empty=[True, False]),
   bad=[dict(input=const("string", "a")), dict(delimiter=const("string", ["a"]))])
op("StringSplitV2", dict(input=strings("n"), sep=lambda c: const("string", c.pick("", ",", " ", "XX"))), dict(maxsplit=[-1, 0, 1, 2, -7]), count=20,
   bad=[dict(input=const("string", "a")), dict(sep=const("string", ["a"]))])


def cut(c):
    shape = c.pick((), (3,), (2, 3))
    text = c.array("string", shape, lambda rng, d, s: texts(rng, d, s))
    positions = c.pick((), shape, (2, 1)) if len(shape) == 2 else c.pick((), shape)
    shortest = min((len(x.decode(errors="ignore")) for x in np.ravel(text)), default=0)
    dtype = c.pick("int32", "int64")
    pos = c.array(dtype, positions, between(-shortest, shortest))
    return dict(input=text, pos=pos, len=c.array(dtype, positions, between(0, 6))), dict(unit=c.pick("BYTE", "UTF8_CHAR"), T=dtype)


@generate("Substr", attrs={}, count=30, empty=0, special=0, may_fail=True, bad=[
    dict(input=const("string", "hello"), pos=const("int32", 6), len=const("int32", 1), T="int32"),
    dict(input=const("string", "hello"), pos=const("int32", -6), len=const("int32", 1), T="int32"),
    dict(input=const("string", "größe"), pos=const("int64", 6), len=const("int64", 1), T="int64", unit="UTF8_CHAR"),
    dict(input=const("string", ["a", "b"]), pos=const("int32", 0), len=const("int32", [1, 1]), T="int32"),
    dict(input=const("string", ["a", "b"]), pos=const("int32", [0, 0, 0]), len=const("int32", [1, 1, 1]), T="int32"),
    dict(input=const("string", [["a", "b"]]), pos=const("int32", [[[0]]]), len=const("int32", [[[1]]]), T="int32")])
def substr(c):
    return cut(c)


op("AsString", dict(input=t("T")), dict(T=NUMBERS + ["bool", "string"], width=[None, 12, 0], fill=[None, "", "0", "-", " ", "+"]))
op("AsString", dict(input=t("T")), dict(T=ALL_FLOATS, precision=[-1, 0, 3, 12], scientific=[True, False], width=[-1, 20], fill=["", "#"]), count=20)
op("AsString", dict(input=t("T")), dict(T=ALL_FLOATS, precision=[-1, 3], shortest=True), bad=[
    dict(scientific=True), dict(fill="x"), dict(fill="00"), dict(input=zeros("int32", 2), T="int32"), dict(input=zeros("int32", 2), T="int32", shortest=False, precision=2)])

FLOATS = ["1.5", " 1.5 ", "\t1\n", "1e400", "-1e400", "1e-400", "0x1p3", "0x1F", "-0x10", "0X1.8P1", "inf", "-Inf", "INFINITY", "nan", "-NaN", "+1.5", ".5", "5.", "1E+5", "0" * 40 + "1", "3.4028236e38",
          "1e-46", "1.17549e-38", "-0", "1.7976931348623159e308", "123456789.123456789", "16777217", "9007199254740993", "0.1"]
INTEGERS = ["1", " 7 ", "+12", "007", "127", "2147483647"]
op("StringToNumber", dict(string_tensor=const("string", FLOATS)), dict(out_type=["float", "double"]), count=2, empty=0, special=0,
   bad=[dict(string_tensor=const("string", [x])) for x in ["", " ", "0x", "1.5f", "+ 1", ".", "1e", "1_0", "1\0", "1 2", "-", "--1", "+-1", "1d", "0x-1", "nan(", "infi", "e5"]])
op("StringToNumber", dict(string_tensor=const("string", INTEGERS)), dict(out_type=["int32", "int64", "uint32", "uint64"]), count=4, empty=0, special=0,
   bad=[dict(string_tensor=const("string", [x]), out_type=d) for x in ["", " ", "1.0", "0x1", "1e3", "18446744073709551616", "- 1", "1\0", "+", "1_"] for d in ("int32", "uint64")]
   + [dict(string_tensor=const("string", ["2147483648"])), dict(string_tensor=const("string", ["-1"]), out_type="uint32"), dict(string_tensor=const("string", ["-0"]), out_type="uint64")])

LENGTHS = [b"a" * n for n in range(20)] + [bytes((i * 7) % 256 for i in range(n)) for n in (24, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 191, 192, 193, 256, 1000)]
for name, field in [("StringToHashBucketFast", "input"), ("StringToHashBucket", "string_tensor"), ("StringToHashBucketStrong", "input")]:
    key = dict(key=[[1, 2], [-5, 2**62]]) if name.endswith("Strong") else {}
    op(name, {field: const("string", LENGTHS)}, dict(num_buckets=[2**62, 1, 1000, 2**31 + 7], **key), count=4, empty=0, special=0, bad=[dict(num_buckets=0)])
    op(name, {field: S}, dict(num_buckets=[97], **key), bad=[dict(key=[1])] if key else [])

op("ReduceJoin", dict(inputs=S, reduction_indices=lambda c: const("int32", c.rng.permutation(c.rank("inputs"))[: c.int(0, c.rank("inputs"))])),
   dict(keep_dims=[True, False], separator=["", "-"]),
   bad=[dict(inputs=zeros("string", 2, 2), reduction_indices=const("int32", x)) for x in ([0, 0], [2], -3, [[0]])])
op("UnsortedSegmentJoin", dict(inputs=strings("n m"), segment_ids=t("Tindices", lambda c: c.pick("n", "n m"), between(0, 2)), num_segments=v("Tnumsegments", lambda c: c.int(3, 5))),
   dict(Tindices=INDEX, Tnumsegments=INDEX, separator=["", ", "]),
   bad=[dict(inputs=const("string", ["a"]), segment_ids=const("int32", x), num_segments=const("int32", n), Tindices="int32", Tnumsegments="int32")
        for x, n in [([-1], 2), ([2], 2), ([0, 0], 2), ([0], -1), ([0], [1])]] + [dict(inputs=const("string", "a"), segment_ids=const("int32", 0), num_segments=const("int32", 1), Tindices="int32", Tnumsegments="int32")])

PATTERNS = ["a", "[a-c]+", "(.)(.)", "", "^.", "\\d", "(?i)MIXED", "\\s+$", "X*"]
REWRITES = ["", "-", "<\\0>", "\\\\"]
op("RegexReplace", dict(input=S, pattern=lambda c: const("string", c.pick(*PATTERNS)), rewrite=lambda c: const("string", c.pick(*REWRITES))), dict(replace_global=[True, False]), count=30,
   bad=[dict(pattern=const("string", "(a")), dict(pattern=const("string", ["a"])), dict(rewrite=const("string", ["a"]))])
op("StaticRegexReplace", dict(input=S), dict(pattern=PATTERNS, rewrite=REWRITES, replace_global=[True, False]), count=20, bad=[dict(pattern="(a")])
op("RegexFullMatch", dict(input=S, pattern=lambda c: const("string", c.pick(".*", "a", "h.*o", "(?s).*", "\\PN*"))), bad=[dict(pattern=const("string", "(a")), dict(pattern=const("string", ["a"]))])
op("StaticRegexFullMatch", dict(input=S), dict(pattern=[".*", "a", "h.*o", "(?s).*", "[^ ]*"]), bad=[dict(pattern="a)")])
op("EncodeBase64", dict(input=S), dict(pad=[True, False]))
op("DecodeBase64", dict(input=const("string", ["", "YQ", "YQ==", "YWI", "YWI=", "YWJj", "__79", "-_8", "YR"])), count=1, empty=0, special=0,
   bad=[dict(input=const("string", [x])) for x in ["YQ=", "YWJj=", "//79", "Y", "Y Q", "YQ==YQ==", "=", "====", "YWJjZA==\n"]])
