#!/usr/bin/env python3
"""Write the seeds of the file formats into tests/fuzz/corpus: small whole files of each kind, from which the fuzzers
start. (The requests beside them are those of a TensorFlow client, recorded on their way to a server, with the number of their
method in master_fuzz.cc before them; connections named recorded_* are those of gRPC's own clients.)"""
import gzip
import pathlib
import struct
import zlib

CORPUS = pathlib.Path(__file__).parent / "corpus"


def put(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data):
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(number, value):
    return varint(number << 3) + varint(value & (1 << 64) - 1)


def tensor(dtype, dims, values):
    shape = b"".join(field(2, number(1, dim)) for dim in dims)
    return number(1, dtype) + field(2, shape) + values


def example(**features):
    entries = b""
    for key, (kind, content) in features.items():
        entries += field(1, field(1, key.encode()) + field(2, field(kind, content)))
    return field(1, entries)


def mat_element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def mat_matrix(name, array_class, kind, dims, content):
    return mat_element(14, mat_element(6, struct.pack("<II", array_class, 0)) +
                       mat_element(5, struct.pack(f"<{len(dims)}i", *dims)) + mat_element(1, name) +
                       mat_element(kind, content))


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def header(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call(stream, method, more=b"", flags=4, kind=b"application/grpc"):
    return frame(1, flags, stream, b"\x83\x86" + header(b":path", method) + header(b":authority", b"a") +
                 header(b"content-type", kind) + header(b"te", b"trailers") + more)


def message(content, packed=0):
    return bytes([packed]) + struct.pack(">I", len(content)) + content


def put_connections():
    """The first byte: the size of the pieces by which the bytes come (http2_fuzz.cc)."""
    hello, data, end = frame(4, 0, 0), 0, 1
    whole = {
        "echo": call(1, b"/f/Echo") + frame(data, end, 1, message(b"hello")),
        "empty": call(1, b"/f/Echo", flags=5) + call(3, b"/f/Echo") + frame(data, end, 3, message(b"")),
        "stream": call(1, b"/f/Stream", header(b"k-bin", b"YWI=") + header(b"k", b"v")) + frame(data, 0, 1, message(b"one") + message(b"tw")[:6]) +
                  frame(data, 0, 1, b"o") + frame(data, 8, 1, b"\3" + message(b"three") + bytes(3)) + frame(data, end, 1),
        "mingled": call(1, b"/f/Stream") + call(3, b"/f/Lazy") + frame(data, 0, 3, message(b"a") * 9) + frame(data, 0, 1, message(b"b")) +
                   frame(data, end, 3) + call(5, b"/f/Early") + frame(data, 0, 5, message(b"c") * 2) + frame(data, end, 1),
        "gzip": call(1, b"/f/Echo", header(b"grpc-encoding", b"gzip")) + frame(data, end, 1, message(gzip.compress(b"x" * 99, mtime=0), 1)),
        "deflate": call(1, b"/f/Stream", header(b"grpc-encoding", b"deflate")) + frame(data, end, 1, message(zlib.compress(b"x" * 99), 1)),
        "broken": call(1, b"/f/Breaking") + frame(data, 0, 1, message(b"x")) + call(3, b"/f/Never") + call(5, b"/f/Nothing"),
        "reset": call(1, b"/f/Lazy") + frame(data, 0, 1, message(b"x") + b"\0\0\0\0") + frame(3, 0, 1, struct.pack(">I", 8)),
        "timeout": call(1, b"/f/Lazy", header(b"grpc-timeout", b"10n")) + frame(data, 0, 1, message(b"x")) + frame(6, 0, 0, b"12345678"),
        "settings": frame(4, 0, 0, struct.pack(">HIHI", 4, 10, 5, 16384)) + call(1, b"/f/Echo") + frame(data, end, 1, message(b"hello")) +
                    frame(8, 0, 1, struct.pack(">I", 5)) + frame(8, 0, 1, struct.pack(">I", 1000)),
        "continued": frame(1, 0, 1, b"\x83\x86" + header(b":path", b"/f/Echo")) +
                     frame(9, 4, 1, header(b"content-type", b"application/grpc")) + frame(data, end, 1, message(b"hello")),
        "trailers": call(1, b"/f/Echo") + frame(data, 0, 1, message(b"hello")) + frame(1, 5, 1, header(b"t", b"1")),
        "begun_twice": call(1, b"/f/Stream") + call(1, b"/f/Stream"),
        "no_grpc": call(1, b"/f/Echo", kind=b"text/html") + frame(data, end, 1, b"<html>"),
        "large": call(1, b"/f/Echo") + frame(data, 0, 1, message(b"x" * 31000)[:20000]) + frame(data, end, 1, b"x" * 11005),
        "too_large": call(1, b"/f/Echo") + frame(data, 0, 1, struct.pack(">BI", 0, 1 << 20) + b"x"),
        "too_much": b"".join(call(i, b"/f/Lazy") + frame(data, 0, i, message(b"x" * 9000)[:-1]) for i in range(1, 11, 2)),
        "go_away": call(1, b"/f/Lazy") + frame(7, 0, 0, bytes(8)) + frame(data, end, 1, message(b"x")) + frame(2, 0, 1, bytes(5)),
    }
    for name, frames in whole.items():
        put("http2_fuzz", name, b"\0" + hello + frames)
    put("http2_fuzz", "in_pieces", b"\7" + hello + whole["mingled"])
    put("http2_fuzz", "http1", b"\x80GET / HTTP/1.1\r\n\r\n")


def main():
    put("record_fuzz", "two", record(b"first") + record(b"the second one"))
    put("record_fuzz", "empty_record", record(b""))
    images = struct.pack(">IIII", 0x803, 2, 4, 4) + bytes(range(32))
    labels = struct.pack(">II", 0x801, 5) + bytes([0, 1, 2, 3, 9])
    put("idx_fuzz", "images", images)
    put("idx_fuzz", "labels", labels)
    put("idx_fuzz", "images.gz", gzip.compress(images, mtime=0))
    put("idx_fuzz", "labels.gz", gzip.compress(labels, mtime=0))
    pixels = bytes(i % 7 for i in range(3072))
    put("cifar_fuzz", "ten", b"\0" + b"\3" + pixels)
    put("cifar_fuzz", "hundred", b"\1" + b"\3\4" + pixels)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    x = mat_matrix(b"X", 9, 2, (2, 2, 3, 2), bytes(range(24)))
    y = mat_matrix(b"y", 6, 9, (2, 1), struct.pack("<2d", 1, 10))
    put("mat_fuzz", "plain", header + x + y)
    packed = lambda element: struct.pack("<II", 15, len(zlib.compress(element))) + zlib.compress(element)
    put("mat_fuzz", "packed", header + packed(x) + packed(y))
    floats = struct.pack("<6f", 1, 2, 3, 4, 5, 6)
    put("tensor_fuzz", "content", tensor(1, (2, 3), field(4, floats)))
    put("tensor_fuzz", "list", tensor(1, (2, 3), field(5, floats)))
    put("tensor_fuzz", "short_list", tensor(9, (4,), field(10, varint(7))))
    put("tensor_fuzz", "strings", tensor(7, (3,), field(8, b"a") + field(8, b"") + field(8, b"a longer string than that")))
    put("tensor_fuzz", "packed_strings", tensor(7, (2,), field(4, b"\1\2abb")))
    put("tensor_fuzz", "bools", tensor(10, (3,), field(4, b"\0\1\2")))
    put("tensor_fuzz", "halfs", tensor(19, (2,), field(13, varint(0x3C00) + varint(0xFFFF))))
    # Field 1 again, as eight bytes: another field, that nobody knows.
    put("tensor_fuzz", "fixed_dtype", number(1, 19) + varint(1 << 3 | 1) + b"\5\x80\x78\xff\xcb\x70PP" + number(10, 3))
    put("tensor_fuzz", "huge", tensor(1, (1 << 60,), field(5, floats)))
    whole = example(label=(3, field(1, b"\7")), image=(1, field(1, b"\1\2\3")), floats=(2, field(1, floats)),
                    words=(1, field(1, b"one") + field(1, b"two")), numbers=(3, field(1, b"\1\2\3")))
    put("example_fuzz", "example", whole)
    put("example_fuzz", "unpacked", example(label=(3, number(1, 3))))
    put("example_fuzz", "tensor", tensor(1, (2, 3), field(4, floats)))
    put("example_fuzz", "line", b'1.5,"a ""b"" c"')
    # src/proto/task.proto: a header as field 1, its tensors as field 2.
    program = (field(1, field(1, b"/job:ps/replica:0/task:0/device:CPU:0") + field(2, b"a graph") + field(3, b"\0\2") + field(4, b"\1")) +
               field(2, field(1, b"edge 0") + field(2, b"/job:worker/replica:0/task:1")) + number(3, 1))
    long = lambda key, value: varint(key << 3 | 1) + struct.pack("<Q", value)
    scalar = field(2, tensor(1, (), field(5, floats[:4])))
    messages = {
        "register": field(1, number(1, 1) + long(2, 7) + field(4, b"session") + field(10, program)),
        "start": field(1, number(1, 2) + long(2, 7) + long(3, 8) + field(9, b"\0\2") + number(11, 1)) + scalar + scalar,
        "abort": field(1, number(1, 3) + long(3, 8) + number(7, 10) + field(8, b"no")),
        "end_session": field(1, number(1, 4) + field(4, b"session")),
        "registered": field(1, number(1, 5) + long(2, 7)),
        "done": field(1, number(1, 6) + long(3, 8) + field(9, b"\1") + field(12, b"times")) + field(2, tensor(1, (2, 3), field(4, floats))),
        "deliver": field(1, number(1, 7) + long(3, 8) + field(5, b"edge 0;3")) + field(2, tensor(1, (2, 3), field(4, floats))),
        "dead": field(1, number(1, 7) + long(3, 8) + field(5, b"edge 1") + number(6, 1)),
    }
    for name, message in messages.items():
        put("task_fuzz", name, message)
    put("task_fuzz", "all", b"".join(messages.values()))
    put_connections()
    bmp = struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 54 + 16, 0, 0, 54, 40, 2, 2, 1, 24, 0, 16, 0, 0, 0, 0) + bytes(16)
    put("image_fuzz", "bmp", bmp)
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(range(6)) for _ in range(2))
    put("image_fuzz", "png", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)) +
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


if __name__ == "__main__":
    main()
