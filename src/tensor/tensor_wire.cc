#include "tensor/tensor_wire.h"

#include <algorithm>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "proto/tensor.pb.h"
#include "tensor/bytes_of_tensor.h"
#include "tensor/object.h"
#include "tensor/tensor_proto.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using WireFormat = google::protobuf::internal::WireFormatLite;
using tensorflow::TensorProto;

// Memory below this is copied into the message: a piece of its own costs more.
constexpr size_t kLeastSharedBytes = 4096;
// A piece of this size is not added to: growing would copy it.
constexpr size_t kFullPiece = 64 << 10;

// A few dimensions, with names at that. Headers are read while others wait.
constexpr uint32_t kMostShapeBytes = 64 << 10;

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

// The tag of the next field; 0 at the end, and only there: protobuf takes 0 for a tag, too.
StatusOr<uint32_t> ReadTag(CodedInputStream* in) {
  const int start = in->CurrentPosition();
  const uint32_t tag = in->ReadTag();
  if (tag == 0 && (in->CurrentPosition() != start || in->BytesUntilLimit() != 0))
    return Malformed();
  return tag;
}

// Reads dtype and shape into `header`, and the tag of what follows, such as another shape; 0:
// nothing.
StatusOr<uint32_t> ReadHeader(CodedInputStream* in, TensorProto* header) {
  for (;;) {
    CARILLON_ASSIGN_OR_RETURN(const uint32_t tag, ReadTag(in));
    const int field = WireFormat::GetTagFieldNumber(tag);
    const WireFormat::WireType type = WireFormat::GetTagWireType(tag);
    if (field == TensorProto::kDtypeFieldNumber && type == WireFormat::WIRETYPE_VARINT) {
      uint64_t dtype = 0;
      if (!in->ReadVarint64(&dtype)) return Malformed();
      header->set_dtype(static_cast<tensorflow::DataType>(dtype));
    } else if (field == TensorProto::kTensorShapeFieldNumber &&
               type == WireFormat::WIRETYPE_LENGTH_DELIMITED && !header->has_tensor_shape()) {
      uint32_t length = 0;
      if (!in->ReadVarint32(&length) || in->BytesUntilLimit() < static_cast<int64_t>(length) ||
          length > kMostShapeBytes)
        return Malformed();
      const CodedInputStream::Limit inner = in->PushLimit(static_cast<int>(length));
      if (!header->mutable_tensor_shape()->MergeFromCodedStream(in) || in->BytesUntilLimit() != 0)
        return Malformed();
      in->PopLimit(inner);
    } else if (field == TensorProto::kVersionNumberFieldNumber &&
               type != WireFormat::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormat::SkipField(in, tag)) return Malformed();
    } else {
      return tag;
    }
  }
}

// Whether a field is the raw content of the tensor; that of strings and handles is something else.
bool IsContent(uint32_t tag, const TensorProto& header) {
  return WireFormat::GetTagFieldNumber(tag) == TensorProto::kTensorContentFieldNumber &&
         WireFormat::GetTagWireType(tag) == WireFormat::WIRETYPE_LENGTH_DELIMITED &&
         header.dtype() != tensorflow::DT_STRING && header.dtype() != tensorflow::DT_RESOURCE;
}

struct ContentForm {
  DType dtype;
  Shape shape;
  uint32_t bytes;
};

// Of the content that follows, for a tensor whose dtype and shape are in `header`.
StatusOr<ContentForm> ReadContentForm(CodedInputStream* in, const TensorProto& header) {
  uint32_t length = 0;
  if (!in->ReadVarint32(&length) || in->BytesUntilLimit() < static_cast<int64_t>(length))
    return Malformed();
  const auto dtype = static_cast<DType>(header.dtype());
  CARILLON_ASSIGN_OR_RETURN(const PartialShape partial,
                            PartialShapeFromProto(header.tensor_shape()));
  Shape shape;
  if (!partial.AsShape(&shape) || !IsPlainData(dtype) || BytesOfTensor(dtype, shape) != length) {
    return InvalidArgument("a tensor of dtype ", header.dtype(), " and shape ", partial.ToString(),
                           " has ", length, " bytes of content");
  }
  return ContentForm{dtype, shape, length};
}

// Any byte but 0 and 1 would be undefined behaviour as a bool.
bool IsSharedAsItIs(DType dtype) { return dtype != DType::kBool; }

StatusOr<Tensor> ReadContent(CodedInputStream* in, const TensorProto& header, Allocator* allocator,
                             std::span<const Tensor>* contents) {
  CARILLON_ASSIGN_OR_RETURN(const ContentForm form, ReadContentForm(in, header));
  const auto length = static_cast<int>(form.bytes);
  const Tensor* const next = contents == nullptr || contents->empty() ? nullptr : contents->data();
  const void* here = nullptr;
  int available = 0;
  if (next != nullptr && length > 0 && form.bytes == next->num_bytes() &&
      IsSharedAsItIs(form.dtype) && in->GetDirectBufferPointer(&here, &available) &&
      here == next->raw_data()) {
    in->Skip(length);
    *contents = contents->subspan(1);
    return Tensor::View(form.dtype, form.shape, next->buffer(), const_cast<void*>(here));
  }
  Tensor tensor = Tensor::TryAllocate(form.dtype, form.shape, allocator);
  if (!tensor.has_value()) return ResourceExhausted("no memory for a tensor of ", length, " bytes");
  if (!in->ReadRaw(tensor.mutable_raw_data(), length)) return Malformed();
  if (!IsSharedAsItIs(form.dtype)) {
    auto* elements = static_cast<uint8_t*>(tensor.mutable_raw_data());
    std::transform(elements, elements + length, elements, [](uint8_t b) { return b != 0; });
  }
  return tensor;
}

constexpr uint32_t kTextTag =
    WireFormat::MakeTag(TensorProto::kStringValFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED);

// The strings of a tensor, of which the first one follows, each straight into its place.
StatusOr<Tensor> ReadTexts(CodedInputStream* in, const TensorProto& header, Allocator* allocator) {
  CARILLON_RETURN_IF_ERROR(CheckRoomOutside(allocator, 1, in->BytesUntilLimit()));
  CARILLON_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(header, allocator));
  auto* const texts = tensor.mutable_data<std::string>();
  const int64_t count = tensor.num_elements();
  int64_t given = 0;
  for (uint32_t tag = kTextTag; tag != 0;) {
    if (tag != kTextTag) return Malformed();
    if (given == count)
      return InvalidArgument("a tensor proto of shape ", tensor.shape().ToString(),
                             " has more values than elements");
    uint32_t length = 0;
    if (!in->ReadVarint32(&length) || in->BytesUntilLimit() < static_cast<int64_t>(length) ||
        !in->ReadString(&texts[given++], static_cast<int>(length)))
      return Malformed();
    CARILLON_ASSIGN_OR_RETURN(tag, ReadTag(in));
  }
  // The last one may stand for many.
  const std::string& last = texts[given - 1];
  CARILLON_RETURN_IF_ERROR(
      CheckRoomOutside(allocator, count - given, static_cast<int64_t>(last.size())));
  std::fill(texts + given, texts + count, last);
  CARILLON_RETURN_IF_ERROR(ChargeText(tensor));
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

size_t FieldSize(size_t length) { return 1 + VarintSize(length) + length; }

// Of the strings of a tensor as fields.
size_t TextFieldsSize(const Tensor& tensor) {
  size_t size = 0;
  for (const std::string& text : tensor.values<std::string>()) size += FieldSize(text.size());
  return size;
}

// Dtype, shape and typed values; for plain data all but the bytes of the content.
std::string HeaderOf(const Tensor& tensor) {
  TensorProto proto;
  if (tensor.dtype() == DType::kResource) {
    TensorToProto(tensor, &proto);
  } else {
    proto.set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
    ShapeToProto(tensor.shape(), proto.mutable_tensor_shape());
  }
  std::string header;
  if (tensor.dtype() == DType::kString) {
    // Written here, for strings to be copied once.
    header.reserve(proto.ByteSizeLong() + TextFieldsSize(tensor));
    proto.AppendToString(&header);
    for (const std::string& text : tensor.values<std::string>()) {
      AppendVarint(kTextTag, &header);
      AppendVarint(text.size(), &header);
      header.append(text);
    }
    return header;
  }
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
                            std::span<const Tensor>* contents) {
  if (bytes < 0 || (in->BytesUntilLimit() >= 0 && in->BytesUntilLimit() < bytes))
    return Malformed();
  const CodedInputStream::Limit limit = in->PushLimit(bytes);
  const auto read = [&]() -> StatusOr<Tensor> {
    TensorProto header;
    CARILLON_ASSIGN_OR_RETURN(const uint32_t tag, ReadHeader(in, &header));
    if (IsContent(tag, header)) {
      CARILLON_ASSIGN_OR_RETURN(Tensor tensor, ReadContent(in, header, allocator, contents));
      // Nothing else may follow: a second content, or values besides.
      if (in->BytesUntilLimit() != 0) return Malformed();
      return tensor;
    }
    if (tag == kTextTag && header.dtype() == tensorflow::DT_STRING) {
      CARILLON_ASSIGN_OR_RETURN(Tensor tensor, ReadTexts(in, header, allocator));
      if (in->BytesUntilLimit() != 0) return Malformed();
      return tensor;
    }
    if (tag != 0) {
      // Typed values, or fields in an order of their own: parse what is left as a whole.
      std::string rest;
      AppendVarint(tag, &rest);
      const int left = in->BytesUntilLimit();
      if (left < 0) return Malformed();
      const size_t begin = rest.size();
      rest.resize(begin + static_cast<size_t>(left));
      if (!in->ReadRaw(rest.data() + begin, left) || !header.MergeFromString(rest))
        return Malformed();
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

Tensor AllocateForContent(CodedInputStream* in, int bytes, size_t most, Allocator* allocator) {
  if (bytes < 0) return {};
  const CodedInputStream::Limit limit = in->PushLimit(bytes);
  TensorProto header;
  const StatusOr<uint32_t> tag = ReadHeader(in, &header);
  if (!tag.ok() || !IsContent(*tag, header)) return {};
  const StatusOr<ContentForm> form = ReadContentForm(in, header);
  if (!form.ok() || !IsSharedAsItIs(form->dtype) || form->bytes > most ||
      in->BytesUntilLimit() != static_cast<int>(form->bytes))
    return {};
  in->PopLimit(limit);
  return Tensor::TryAllocate(form->dtype, form->shape, allocator);
}

std::string* MessagePieces::Tail() {
  if (pieces_.empty() || pieces_.back().tensor.has_value() ||
      pieces_.back().bytes.size() >= kFullPiece)
    pieces_.emplace_back();
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

void MessagePieces::AddFields(std::string bytes) {
  size_ += bytes.size();
  pieces_.emplace_back().bytes = std::move(bytes);
}

int64_t MessagePieces::OwnBytes(const Tensor& tensor) {
  constexpr int64_t kHandle = 256;  // as a message of its own, besides its names
  auto bytes = static_cast<int64_t>(2 * sizeof(Piece)) + 64 + 16 * tensor.rank();
  if (tensor.dtype() == DType::kString) {
    bytes += static_cast<int64_t>(TextFieldsSize(tensor));
  } else if (tensor.dtype() == DType::kResource) {
    for (const ResourceHandle& handle : tensor.values<ResourceHandle>())
      bytes += kHandle + 3 * static_cast<int64_t>(handle.container.size() + handle.name.size());
  } else if (const size_t content = ContentSize(tensor); content < kLeastSharedBytes) {
    bytes += static_cast<int64_t>(content);
  }
  return bytes;
}

void MessagePieces::AddTensor(int field, const Tensor& tensor) {
  AddNamedTensor(field, {}, tensor);
}

void MessagePieces::AddNamedTensor(int field, std::string_view name, const Tensor& tensor) {
  std::string header = HeaderOf(tensor);
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
  if (header.size() >= kFullPiece) {  // which has no content
    size_ += out->size() - before;
    return AddFields(std::move(header));
  }
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
