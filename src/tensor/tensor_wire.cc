#include "tensor/tensor_wire.h"

#include <algorithm>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "proto/tensor.pb.h"
#include "tensor/object.h"
#include "tensor/tensor_proto.h"

namespace carillon {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using WireFormat = google::protobuf::internal::WireFormatLite;
using tensorflow::TensorProto;

// Memory below this is copied into the message: a piece of its own costs more.
constexpr size_t kLeastSharedBytes = 4096;

Status Malformed() { return InvalidArgument("a tensor in the message is malformed"); }

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

void AppendTag(int field, WireFormat::WireType type, std::string* out) {
  AppendVarint(WireFormat::MakeTag(field, type), out);
}

size_t VarintSize(uint64_t value) { return CodedOutputStream::VarintSize64(value); }

// The raw content of a tensor whose dtype and shape are in `header`.
StatusOr<Tensor> ReadContent(CodedInputStream* in, const TensorProto& header, Allocator* allocator,
                             const Tensor* content) {
  uint32_t length = 0;
  if (!in->ReadVarint32(&length) || in->BytesUntilLimit() < static_cast<int64_t>(length))
    return Malformed();
  const auto dtype = static_cast<DType>(header.dtype());
  CARILLON_ASSIGN_OR_RETURN(const PartialShape partial,
                            PartialShapeFromProto(header.tensor_shape()));
  Shape shape;
  if (!partial.AsShape(&shape) || !IsPlainData(dtype) ||
      static_cast<uint64_t>(shape.num_elements()) * DTypeSize(dtype) != length) {
    return InvalidArgument("a tensor of dtype ", header.dtype(), " and shape ", partial.ToString(),
                           " has ", length, " bytes of content");
  }
  const void* here = nullptr;
  int available = 0;
  if (content != nullptr && length > 0 && length == content->num_bytes() && dtype != DType::kBool &&
      in->GetDirectBufferPointer(&here, &available) && here == content->raw_data()) {
    in->Skip(static_cast<int>(length));
    return Tensor::View(dtype, shape, content->buffer(), const_cast<void*>(here));
  }
  Tensor tensor = Tensor::TryAllocate(dtype, shape, allocator);
  if (!tensor.has_value()) return ResourceExhausted("no memory for a tensor of ", length, " bytes");
  if (!in->ReadRaw(tensor.mutable_raw_data(), static_cast<int>(length))) return Malformed();
  if (dtype == DType::kBool) {  // any byte but 0 and 1 would be undefined behaviour as a bool
    auto* elements = static_cast<uint8_t*>(tensor.mutable_raw_data());
    std::transform(elements, elements + length, elements, [](uint8_t b) { return b != 0; });
  }
  return tensor;
}

// A handle of a resource: its container and name. Which resource that is, its reader must find out.
StatusOr<Tensor> HandleFromProto(const TensorProto& proto, Allocator* allocator) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape partial,
                            PartialShapeFromProto(proto.tensor_shape()));
  Shape shape;
  if (!partial.AsShape(&shape) || shape.num_elements() != 1)
    return InvalidArgument("a tensor of handles has shape ", partial.ToString(),
                           ", but can only be read when it holds one");
  tensorflow::ResourceHandleProto handle;
  if (proto.resource_handle_val_size() == 1) {
    handle = proto.resource_handle_val(0);
  } else {
    // As TensorFlow's client packs it: the length, then the message.
    const std::string& content = proto.tensor_content();
    CodedInputStream in(reinterpret_cast<const uint8_t*>(content.data()),
                        static_cast<int>(content.size()));
    uint32_t length = 0;
    if (!in.ReadVarint32(&length) ||
        length != content.size() - static_cast<size_t>(in.CurrentPosition()) ||
        !handle.ParseFromString(content.substr(content.size() - length))) {
      return Malformed();
    }
  }
  Tensor tensor = Tensor::TryAllocate(DType::kResource, shape, allocator);
  if (!tensor.has_value()) return ResourceExhausted("no memory for a handle");
  tensor.mutable_data<ResourceHandle>()[0] = {nullptr, handle.container(), handle.name()};
  return tensor;
}

// Dtype, shape and typed values; for plain data all but the bytes of the content.
std::string HeaderOf(const Tensor& tensor) {
  TensorProto proto;
  if (IsPlainData(tensor.dtype())) {
    proto.set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
    ShapeToProto(tensor.shape(), proto.mutable_tensor_shape());
  } else {
    TensorToProto(tensor, &proto);
  }
  std::string header;
  proto.AppendToString(&header);
  if (IsPlainData(tensor.dtype()) && tensor.num_bytes() > 0) {
    AppendTag(TensorProto::kTensorContentFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED,
              &header);
    AppendVarint(tensor.num_bytes(), &header);
  }
  return header;
}

size_t ContentSize(const Tensor& tensor) {
  return IsPlainData(tensor.dtype()) ? tensor.num_bytes() : 0;
}

}  // namespace

StatusOr<Tensor> ReadTensor(CodedInputStream* in, int bytes, Allocator* allocator,
                            const Tensor* content) {
  if (bytes < 0 || (in->BytesUntilLimit() >= 0 && in->BytesUntilLimit() < bytes))
    return Malformed();
  const CodedInputStream::Limit limit = in->PushLimit(bytes);
  TensorProto header;
  const auto read = [&]() -> StatusOr<Tensor> {
    while (const uint32_t tag = in->ReadTag()) {
      const int field = WireFormat::GetTagFieldNumber(tag);
      const WireFormat::WireType type = WireFormat::GetTagWireType(tag);
      const bool delimited = type == WireFormat::WIRETYPE_LENGTH_DELIMITED;
      if (field == TensorProto::kDtypeFieldNumber && type == WireFormat::WIRETYPE_VARINT) {
        uint64_t dtype = 0;
        if (!in->ReadVarint64(&dtype)) return Malformed();
        header.set_dtype(static_cast<tensorflow::DataType>(dtype));
      } else if (field == TensorProto::kTensorShapeFieldNumber && delimited) {
        uint32_t length = 0;
        if (!in->ReadVarint32(&length) || in->BytesUntilLimit() < static_cast<int64_t>(length))
          return Malformed();
        const CodedInputStream::Limit inner = in->PushLimit(static_cast<int>(length));
        if (!header.mutable_tensor_shape()->MergeFromCodedStream(in) ||
            in->BytesUntilLimit() != 0) {
          return Malformed();
        }
        in->PopLimit(inner);
      } else if (field == TensorProto::kTensorContentFieldNumber && delimited &&
                 header.dtype() != tensorflow::DT_STRING &&
                 header.dtype() != tensorflow::DT_RESOURCE) {
        CARILLON_ASSIGN_OR_RETURN(Tensor tensor, ReadContent(in, header, allocator, content));
        // Nothing else may follow: a second content, or values besides.
        if (in->BytesUntilLimit() != 0) return Malformed();
        return tensor;
      } else if (field == TensorProto::kVersionNumberFieldNumber && !delimited) {
        if (!WireFormat::SkipField(in, tag)) return Malformed();
      } else {
        // Typed values, or fields in an order of their own: parse what is left as a whole.
        std::string rest;
        AppendVarint(tag, &rest);
        const int left = in->BytesUntilLimit();
        std::string tail;
        if (left < 0 || !in->ReadString(&tail, left)) return Malformed();
        if (!header.MergeFromString(rest + tail)) return Malformed();
        break;
      }
    }
    if (in->BytesUntilLimit() != 0) return Malformed();
    if (header.dtype() == tensorflow::DT_RESOURCE) return HandleFromProto(header, allocator);
    return TensorFromProto(header, allocator);
  };
  StatusOr<Tensor> tensor = read();
  const bool is_passed = tensor.ok() || (absl::IsResourceExhausted(tensor.status()) &&
                                         in->Skip(in->BytesUntilLimit()));
  if (is_passed) in->PopLimit(limit);
  return tensor;
}

std::string* MessagePieces::Tail() {
  if (pieces_.empty() || pieces_.back().tensor.has_value()) pieces_.emplace_back();
  return &pieces_.back().bytes;
}

void MessagePieces::AddInt(int field, int64_t value) {
  if (value == 0) return;
  std::string* out = Tail();
  const size_t before = out->size();
  AppendTag(field, WireFormat::WIRETYPE_VARINT, out);
  AppendVarint(static_cast<uint64_t>(value), out);
  size_ += out->size() - before;
}

void MessagePieces::AddString(int field, std::string_view value) {
  if (value.empty()) return;
  std::string* out = Tail();
  const size_t before = out->size();
  AppendTag(field, WireFormat::WIRETYPE_LENGTH_DELIMITED, out);
  AppendVarint(value.size(), out);
  out->append(value);
  size_ += out->size() - before;
}

void MessagePieces::AddTensor(int field, const Tensor& tensor) {
  AddNamedTensor(field, {}, tensor);
}

void MessagePieces::AddNamedTensor(int field, std::string_view name, const Tensor& tensor) {
  const std::string header = HeaderOf(tensor);
  const size_t content = ContentSize(tensor);
  const size_t proto_size = header.size() + content;
  std::string* out = Tail();
  const size_t before = out->size();
  AppendTag(field, WireFormat::WIRETYPE_LENGTH_DELIMITED, out);
  if (!name.empty()) {
    constexpr int kName = 1, kTensor = 2;  // of NamedTensorProto
    AppendVarint(
        1 + VarintSize(name.size()) + name.size() + 1 + VarintSize(proto_size) + proto_size, out);
    AppendTag(kName, WireFormat::WIRETYPE_LENGTH_DELIMITED, out);
    AppendVarint(name.size(), out);
    out->append(name);
    AppendTag(kTensor, WireFormat::WIRETYPE_LENGTH_DELIMITED, out);
  }
  AppendVarint(proto_size, out);
  out->append(header);
  const bool shared = content >= kLeastSharedBytes;
  if (!shared && content > 0) out->append(static_cast<const char*>(tensor.raw_data()), content);
  size_ += out->size() - before;
  if (shared) {
    pieces_.push_back({.tensor = tensor});
    size_ += content;
  }
}

std::string MessagePieces::Flatten() const {
  std::string all;
  all.reserve(size_);
  for (const Piece& piece : pieces_) all.append(piece.view());
  return all;
}

}  // namespace carillon
