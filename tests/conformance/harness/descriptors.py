"""Our .proto files against the descriptors that TensorFlow's wheel carries, field by field."""

import importlib
import pathlib
import subprocess
import tempfile

import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool

PACKAGE = "tensorflow"


def _our_files(source):
    """FileDescriptorProtos of src/proto/*.proto."""
    protos = sorted(path.relative_to(source) for path in (source / "proto").glob("*.proto"))
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", "-I", source, f"--descriptor_set_out={out.name}", *protos], check=True, cwd=source)
        return descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes()).file


def _load_wheel():
    """Imports every module of generated messages in the wheel; their descriptors are then in the default pool."""
    root = pathlib.Path(tf.__file__).parent
    for path in sorted(root.glob("core/**/*_pb2.py")):
        try:
            importlib.import_module("tensorflow." + ".".join(path.relative_to(root).with_suffix("").parts))
        except (ImportError, TypeError):
            pass  # needs something that the wheel does not carry


def _type_name(name, package):
    """A message's or enum's name without the package's, since packages differ in where they put a file."""
    return name.removeprefix(".").removeprefix(package).removeprefix(".")


def _describe(field, package):
    proto = descriptor_pb2.FieldDescriptorProto
    label = proto.Label.Name(field.label).removeprefix("LABEL_").lower()
    kind = proto.Type.Name(field.type).removeprefix("TYPE_").lower()
    return f"{label} {kind} {_type_name(field.type_name, package)}".strip() + f" = {field.number}"


def _to_proto(descriptor, proto):
    descriptor.CopyToProto(proto)
    return proto


class _Comparison:
    def __init__(self):
        self.messages = 0
        self.fields = 0
        self.unknown = []  # messages that the wheel does not carry
        self.failures = []

    def message(self, name, ours, package):
        pool = descriptor_pool.Default()
        try:
            theirs = _to_proto(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"), descriptor_pb2.DescriptorProto())
        except KeyError:
            self.unknown.append(name)
            return
        self.messages += 1
        their_fields = {field.name: field for field in theirs.field}
        for field in ours.field:
            self.fields += 1
            other = their_fields.get(field.name)
            if other is None:
                self.failures.append(f"{name}.{field.name}: TensorFlow's message has no such field")
                continue
            if _describe(field, package) != _describe(other, PACKAGE):
                self.failures.append(f"{name}.{field.name}: ours is {_describe(field, package)}, TensorFlow's {_describe(other, PACKAGE)}")
            oneof = ours.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None
            their_oneof = theirs.oneof_decl[other.oneof_index].name if other.HasField("oneof_index") else None
            if oneof != their_oneof:
                self.failures.append(f"{name}.{field.name}: in the oneof {oneof}, TensorFlow's in {their_oneof}")
        for nested in ours.nested_type:
            self.message(f"{name}.{nested.name}", nested, package)
        for enum in ours.enum_type:
            self.enum(f"{name}.{enum.name}", enum)

    def enum(self, name, ours):
        try:
            theirs = _to_proto(descriptor_pool.Default().FindEnumTypeByName(f"{PACKAGE}.{name}"), descriptor_pb2.EnumDescriptorProto())
        except KeyError:
            self.unknown.append(name)
            return
        values = {value.name: value.number for value in theirs.value}
        for value in ours.value:
            if values.get(value.name) != value.number:
                self.failures.append(f"{name}.{value.name}: ours is {value.number}, TensorFlow's {values.get(value.name)}")


def check(source):
    """The comparison of all messages of our files in TensorFlow's package."""
    _load_wheel()
    comparison = _Comparison()
    for file in _our_files(source):
        if file.package != PACKAGE:
            continue
        for message in file.message_type:
            comparison.message(message.name, message, file.package)
        for enum in file.enum_type:
            comparison.enum(enum.name, enum)
    return comparison
