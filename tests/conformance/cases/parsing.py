"""Records and text that hold values."""

import numpy as np
import tensorflow as tf

from harness.notation import *

RAW = ["half", "float", "double", "int32", "uint16", "uint8", "int16", "int8", "int64", "bool", "bfloat16"]


def raw_bytes(rng, dtype, shape):
    """Strings of one length, whole numbers of every type."""
    size = 8 * int(rng.integers(0, 4))
    out = np.empty(shape, object)
    for i in np.ndindex(*shape):
        out[i] = bytes(rng.integers(0, 2, size, np.uint8))
    return out


op("DecodeRaw", dict(bytes=t("string", None, raw_bytes)), dict(out_type=RAW, little_endian=[True, False]), count=22,
   bad=[dict(bytes=const("string", [b"abc"]), out_type="int32"), dict(bytes=const("string", [b"abcd", b"ab"]), out_type="uint8")])
op("DecodePaddedRaw", dict(input_bytes=t("string", None, raw_bytes), fixed_length=v("int32", lambda c: 8 * c.int(1, 4))), dict(out_type=[d for d in RAW if d not in ("bool", "half")], little_endian=[True, False]), count=20,
   bad=[dict(fixed_length=const("int32", 0)), dict(fixed_length=const("int32", -4)), dict(fixed_length=const("int32", 7), out_type="int32"), dict(fixed_length=const("int32", [8]))])

LINES = [b"1,2.5,x", b' 3 ,-1e3,"a ""quoted"", field"', b"7,,", b",4,\r", b'"8","9","y\nz"', b"\n5,6,w", b"NA,NA,NA", b'10,0x1F,"",']
DEFAULTS = [const("int32", [5]), const("float", [1.5]), const("string", ["d"])]


def lines(n):
    return lambda rng, dtype, shape: np.array([LINES[rng.integers(n)] for _ in range(int(np.prod(shape)))] or [], object).reshape(shape)


op("DecodeCSV", dict(records=t("string", None, lines(7)), record_defaults=DEFAULTS), dict(OUT_TYPE=[["int32", "float", "string"]], na_value="NA"), count=12, may_fail=True, bad=[
    dict(records=const("string", [x])) for x in [b"1,2", b"1,2,3,4", b"", b"1,2,a\"b", b'1,2,"a', b'1,2,"a"b', b"x,2,3", b"1.5,2,3", b"1,2\n,3"]] + [
    dict(records=const("string", [",2,3"]), record_defaults=[zeros("int32", 0), DEFAULTS[1], DEFAULTS[2]]),
    dict(record_defaults=[zeros("int32", 2), DEFAULTS[1], DEFAULTS[2]]), dict(field_delim=""), dict(field_delim=",,"), dict(select_cols=[0, 1]), dict(select_cols=[0, 2, 1]), dict(select_cols=[-1, 1, 2])])
op("DecodeCSV", dict(records=const("string", [b"a|b|c|d", b"1|2||4", b'"q"|2|3|4']), record_defaults=[DEFAULTS[2], DEFAULTS[2]]),
   dict(OUT_TYPE=[["string", "string"]], field_delim="|", use_quote_delim=[True, False], select_cols=[[0, 2], [1, 3], [2, 3]]), count=6, empty=0, special=0, bad=[dict(select_cols=[1, 9])])
op("DecodeCSV", dict(records=const("string", [b"1,2,3,4,", b"9223372036854775807,1e300,,,"]), record_defaults=[const("int64", [1]), const("double", [2]), DEFAULTS[2], DEFAULTS[2], DEFAULTS[2]]),
   dict(OUT_TYPE=[["int64", "double", "string", "string", "string"]]), count=1, empty=0, special=0, bad=[dict(records=const("string", [b"9223372036854775808,1,2,3,"]))])

op("SerializeTensor", dict(tensor=t("T")), dict(T=ALL_TYPES))


def serialized(c):
    return const("string", tf.make_tensor_proto(c.array(c["out_type"], c.any_shape(0, 3))).SerializeToString())


op("ParseTensor", dict(serialized=serialized), dict(out_type=ALL_TYPES), empty=0, special=0, vague=False, bad=[
    dict(serialized=const("string", b"\xff")), dict(serialized=const("string", [b""])), dict(serialized=const("string", tf.make_tensor_proto(1.0).SerializeToString()), out_type="int32"),
    dict(serialized=const("string", b"\x08\x01\x12\x04\x12\x02\x08\x05\x22\x03abc"), out_type="float")])
op("DecodeJSONExample", dict(json_examples=const("string", ['{"features": {"feature": {"a": {"int64List": {"value": ["1", 2]}}}}}', "{}", '{"features": {"feature": {"b": {"bytesList": {"value": ["aGVsbG8="]}}}}}'])),
   count=1, empty=0, special=0, bad=[dict(json_examples=const("string", ["{"])), dict(json_examples=const("string", ['{"x": 1}']))])


def example(c, **features):
    """A serialized Example. Values are lists of floats, integers or bytes."""
    made = tf.train.Example()
    for name, values in features.items():
        if values is None:
            continue
        feature = made.features.feature[name]
        if not len(values):
            feature.float_list.SetInParent() if name.startswith("f") else feature.int64_list.SetInParent() if name.startswith("i") else feature.bytes_list.SetInParent()
        elif isinstance(values[0], float):
            feature.float_list.value.extend(values)
        elif isinstance(values[0], int):
            feature.int64_list.value.extend(values)
        else:
            feature.bytes_list.value.extend(values)
    return made.SerializeToString()


def random_example(c):
    floats = lambda n: [float(x) for x in c.rng.standard_normal(n)]
    integers = lambda n: [int(x) for x in c.rng.integers(-5, 5, n)]
    texts = lambda n: [bytes(c.rng.integers(97, 123, 3, np.uint8)) for _ in range(n)]
    maybe = lambda x: None if c.chance(0.3) else x
    return example(c, f2=floats(6), i1=maybe(integers(1)), s=maybe(texts(2)), fv=maybe(floats(2 * c.int(0, 3))), iv=maybe(integers(c.int(0, 4))), fp=maybe(floats(c.int(0, 4))), st=maybe(texts(c.int(0, 3))), ir=maybe(integers(c.int(0, 3))))


DENSE = dict(f2=("float", [2, 3], zeros("float", 0)), i1=("int64", [], const("int64", 7)), s=("string", [2], const("string", ["x", "y"])), fv=("float", [None, 2], const("float", -1)), iv=("int64", [None], const("int64", 0)))
DENSE_ATTRS = dict(Tdense=[d for d, _, _ in DENSE.values()], dense_shapes=[s for _, s, _ in DENSE.values()])
KEYS = list(DENSE)
BAD_EXAMPLES = [b"\xff", example(None), example(None, f2=[1.0]), example(None, f2=[1] * 6), example(None, f2=[1.0] * 6, s=[b"one"]), example(None, f2=[1.0] * 6, fv=[1.0]), example(None, f2=[1.0] * 6, fp=[b"x"])]


def parse_inputs(c, shape):
    array = np.empty(shape, object)
    for i in np.ndindex(*shape):
        array[i] = random_example(c)
    return array


@generate("ParseExample", attrs={}, count=8, empty=2, special=0, bad=[dict(serialized=const("string", [x])) for x in BAD_EXAMPLES] + [dict(names=const("string", ["a"] * 9)), dict(serialized=const("string", b""))])
def parse_example(c):
    n = 0 if c.mode == "empty" else c.int(1, 4)
    return dict(
        serialized=parse_inputs(c, (n,)), names=const("string", []),
        sparse_keys=[const("string", "fp"), const("string", "st")], dense_keys=[const("string", key) for key in KEYS], dense_defaults=[d for _, _, d in DENSE.values()],
    ), dict(Nsparse=2, Ndense=len(KEYS), sparse_types=["float", "string"], **DENSE_ATTRS)


@generate("ParseExampleV2", attrs={}, count=10, empty=2, special=0, bad=[dict(serialized=const("string", [x])) for x in BAD_EXAMPLES] + [dict(dense_keys=const("string", ["a"])), dict(serialized=const("string", [[b""]]))])
def parse_example_v2(c):
    shape = (0,) if c.mode == "empty" else c.pick((), (1,), (4,))
    return dict(
        serialized=parse_inputs(c, shape), names=const("string", []),
        sparse_keys=const("string", ["fp", "st"]), dense_keys=const("string", KEYS), ragged_keys=const("string", ["ir"]), dense_defaults=[d for _, _, d in DENSE.values()],
    ), dict(num_sparse=2, sparse_types=["float", "string"], ragged_value_types=["int64"], ragged_split_types=[c.pick("int32", "int64")], **DENSE_ATTRS)


@generate("ParseSingleExample", attrs={}, count=8, empty=0, special=0, bad=[dict(serialized=const("string", x)) for x in BAD_EXAMPLES] + [dict(serialized=const("string", [b""])), dict(num_sparse=1)])
def parse_single_example(c):
    return dict(serialized=parse_inputs(c, ()), dense_defaults=[d for _, _, d in DENSE.values()]), dict(
        num_sparse=2, sparse_keys=["fp", "st"], dense_keys=KEYS, sparse_types=["float", "string"], **DENSE_ATTRS)
