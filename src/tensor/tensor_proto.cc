#include "tensor/tensor_proto.h"

#include <algorithm>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <string_view>
#include <vector>

#include "proto/tensor.pb.h"
#include "tensor/dispatch.h"
#include "tensor/object.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

// The typed list of a TensorProto that holds elements of type T, and how one of its values becomes
// a T.
template <typename T>
const auto& ListOf(const tensorflow::TensorProto& proto) {
  if constexpr (std::is_same_v<T, float>)
    return proto.float_val();
  else if constexpr (std::is_same_v<T, double>)
    return proto.double_val();
  else if constexpr (std::is_same_v<T, std::string>)
    return proto.string_val();
  else if constexpr (std::is_same_v<T, int64_t>)
    return proto.int64_val();
  else if constexpr (std::is_same_v<T, bool>)
    return proto.bool_val();
  else if constexpr (std::is_same_v<T, uint32_t>)
    return proto.uint32_val();
  else if constexpr (std::is_same_v<T, uint64_t>)
    return proto.uint64_val();
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>)
    return proto.half_val();
  else
    return proto.int_val();
}

template <typename T, typename V>
T FromListValue(const V& value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    T result;
    result.bits = static_cast<uint16_t>(value);
    return result;
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
Status FillFromList(const tensorflow::TensorProto& proto, Tensor* tensor) {
  const auto& list = ListOf<T>(proto);
  const int64_t n = tensor->num_elements();
  const int64_t given = list.size();
  if (given > n) {
    return InvalidArgument("a tensor proto of shape ", tensor->shape().ToString(), " has ", given,
                           " values");
  }
  T* out = tensor->mutable_data<T>();
  for (int64_t i = 0; i < given; ++i) out[i] = FromListValue<T>(list.Get(static_cast<int>(i)));
  std::fill(out + given, out + n, given == 0 ? T() : T(out[given - 1]));
  return absl::OkStatus();
}

// Strings as TensorFlow's C++ client packs them: all lengths as varints, then all bytes.
Status FillFromLengthsAndBytes(std::string_view content, Tensor* tensor) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(content.data()),
                                            static_cast<int>(content.size()));
  std::vector<uint32_t> lengths(static_cast<size_t>(tensor->num_elements()));
  uint64_t total = 0;
  for (uint32_t& length : lengths) {
    if (!in.ReadVarint32(&length)) return InvalidArgument("a string tensor is cut off");
    total += length;
  }
  const auto start = static_cast<size_t>(in.CurrentPosition());
  if (total != content.size() - start) {
    return InvalidArgument("a string tensor of shape ", tensor->shape().ToString(), " has ",
                           content.size() - start, " bytes of text, but its lengths add up to ",
                           total);
  }
  content.remove_prefix(start);
  std::string* text = tensor->mutable_data<std::string>();
  for (const uint32_t length : lengths) {
    *text++ = std::string(content.substr(0, length));
    content.remove_prefix(length);
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<PartialShape> PartialShapeFromProto(const tensorflow::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return PartialShape();
  std::vector<int64_t> dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  PartialShape shape;
  if (!PartialShape::TryMake(dims, &shape)) {
    return InvalidArgument("a shape has ", dims.size(), " dimensions or one below -1: at most ",
                           kMaxRank, " dimensions, each -1 or more");
  }
  return shape;
}

void ShapeToProto(const PartialShape& shape, tensorflow::TensorShapeProto* proto) {
  proto->Clear();
  if (!shape.has_rank()) proto->set_unknown_rank(true);
  for (const int64_t size : shape.dims()) proto->add_dim()->set_size(size);
}

StatusOr<Tensor> TensorFromProto(const tensorflow::TensorProto& proto, Allocator* allocator,
                                 size_t max_bytes) {
  const auto dtype = static_cast<DType>(proto.dtype());
  if (DTypeSize(dtype) == 0 || dtype == DType::kResource || dtype == DType::kVariant) {
    return InvalidArgument("a tensor proto has dtype ", proto.dtype(), ", which cannot be read");
  }
  CARILLON_ASSIGN_OR_RETURN(const PartialShape partial,
                            PartialShapeFromProto(proto.tensor_shape()));
  Shape shape;
  if (!partial.AsShape(&shape))
    return InvalidArgument("a tensor proto has the shape ", partial.ToString(),
                           ", which is no full shape");
  if (static_cast<size_t>(shape.num_elements()) > max_bytes / DTypeSize(dtype)) {
    return ResourceExhausted("a tensor proto of shape ", shape.ToString(),
                             " needs more than the limit of ", max_bytes, " bytes");
  }
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * DTypeSize(dtype);
  const std::string& content = proto.tensor_content();
  if (!content.empty() && IsPlainData(dtype) && content.size() != bytes) {
    return InvalidArgument("a ", DTypeName(dtype), " tensor proto of shape ", shape.ToString(),
                           " has ", content.size(), " bytes of content");
  }
  if (!content.empty() && dtype == DType::kString &&
      content.size() < static_cast<size_t>(shape.num_elements())) {
    return InvalidArgument("a string tensor of shape ", shape.ToString(), " is cut off");
  }
  Tensor tensor = Tensor::TryAllocate(dtype, shape, allocator);
  if (!tensor.has_value()) return ResourceExhausted("no memory for a tensor of ", bytes, " bytes");
  if (!content.empty() && dtype == DType::kString) {
    CARILLON_RETURN_IF_ERROR(FillFromLengthsAndBytes(content, &tensor));
    CARILLON_RETURN_IF_ERROR(ChargeText(tensor));
    return tensor;
  }
  if (!content.empty()) {
    if (dtype == DType::kBool) {  // any byte but 0 and 1 would be undefined behaviour as a bool
      std::ranges::transform(content, tensor.mutable_data<bool>(), [](char c) { return c != 0; });
    } else {
      std::memcpy(tensor.mutable_raw_data(), content.data(), bytes);
    }
    return tensor;
  }
  Status status;
  DispatchPlain(dtype, [&]<typename T>() { status = FillFromList<T>(proto, &tensor); });
  if (dtype == DType::kString) {
    // The last value may stand for many.
    if (const int given = proto.string_val_size(); given > 0) {
      CARILLON_RETURN_IF_ERROR(
          CheckRoomOutside(allocator, tensor.num_elements() - given + 1,
                           static_cast<int64_t>(proto.string_val(given - 1).size())));
    }
    status = FillFromList<std::string>(proto, &tensor);
    if (status.ok()) status = ChargeText(tensor);
  }
  CARILLON_RETURN_IF_ERROR(status);
  return tensor;
}

void TensorToProto(const Tensor& tensor, tensorflow::TensorProto* proto) {
  proto->Clear();
  proto->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  ShapeToProto(tensor.shape(), proto->mutable_tensor_shape());
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.values<std::string>()) proto->add_string_val(text);
  } else if (tensor.dtype() == DType::kResource) {
    for (const ResourceHandle& handle : tensor.values<ResourceHandle>()) {
      tensorflow::ResourceHandleProto* value = proto->add_resource_handle_val();
      value->set_container(handle.container);
      value->set_name(handle.name);
    }
  } else if (IsPlainData(tensor.dtype())) {
    proto->set_tensor_content(tensor.raw_data(), tensor.num_bytes());
  }
}

}  // namespace carillon
