#include "carillon/tensor.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "base/strings.h"
#include "base/throw.h"
#include "tensor/buffer.h"
#include "tensor/bytes_of_tensor.h"
#include "tensor/dispatch.h"
#include "tensor/object.h"

namespace carillon {

static void ThrowNoMemory(DType dtype, const Shape& shape) {
  Throw(ResourceExhausted("no memory for a ", DTypeName(dtype), " tensor of shape ",
                          shape.ToString()));
}

Tensor Tensor::TryAllocate(DType dtype, const Shape& shape, Allocator* allocator) {
  Tensor t;
  Buffer* buffer = Buffer::Allocate(dtype, shape.num_elements(), allocator);
  if (buffer == nullptr) return t;
  t.buffer_ = buffer;
  t.data_ = buffer->data();
  t.dtype_ = dtype;
  t.shape_ = shape;
  return t;
}

Tensor::Tensor(DType dtype, const Shape& shape) {
  if (DTypeSize(dtype) == 0) Throw(InvalidArgument("a tensor needs a valid dtype"));
  *this = TryAllocate(dtype, shape, HostAllocator());
  if (!has_value()) ThrowNoMemory(dtype, shape);
}

Tensor Tensor::View(DType dtype, const Shape& shape, Buffer* buffer, void* data) {
  Tensor t;
  buffer->Ref();
  t.buffer_ = buffer;
  t.data_ = data;
  t.dtype_ = dtype;
  t.shape_ = shape;
  return t;
}

Tensor::Tensor(const Tensor& other)
    : buffer_(other.buffer_), data_(other.data_), dtype_(other.dtype_), shape_(other.shape_) {
  if (buffer_ != nullptr) buffer_->Ref();
}

Tensor::Tensor(Tensor&& other) noexcept
    : buffer_(std::exchange(other.buffer_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      dtype_(std::exchange(other.dtype_, DType::kInvalid)),
      shape_(other.shape_) {}

Tensor& Tensor::operator=(const Tensor& other) {
  if (other.buffer_ != nullptr) other.buffer_->Ref();
  if (buffer_ != nullptr) buffer_->Unref();
  buffer_ = other.buffer_;
  data_ = other.data_;
  dtype_ = other.dtype_;
  shape_ = other.shape_;
  return *this;
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  if (buffer_ != nullptr) buffer_->Unref();
  buffer_ = std::exchange(other.buffer_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  dtype_ = std::exchange(other.dtype_, DType::kInvalid);
  shape_ = other.shape_;
  return *this;
}

Tensor::~Tensor() {
  if (buffer_ != nullptr) buffer_->Unref();
}

Tensor Tensor::Reshaped(const Shape& shape) const {
  if (shape.num_elements() != num_elements()) {
    Throw(InvalidArgument("a tensor of shape ", shape_.ToString(), " cannot become ",
                          shape.ToString(), ": the number of elements differs"));
  }
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

Tensor Tensor::Bitcast(DType dtype, const Shape& shape) const {
  if (!IsPlainData(dtype_) || !IsPlainData(dtype) || BytesOfTensor(dtype, shape) != num_bytes()) {
    Throw(InvalidArgument("the bytes of a ", DTypeName(dtype_), " tensor of shape ",
                          shape_.ToString(), " cannot be read as ", DTypeName(dtype), " of shape ",
                          shape.ToString()));
  }
  Tensor t = *this;
  t.dtype_ = dtype;
  t.shape_ = shape;
  return t;
}

Tensor Tensor::Slice(int64_t begin, int64_t end) const {
  if (rank() == 0 || begin < 0 || begin > end || end > dim(0)) {
    Throw(InvalidArgument("rows ", begin, " to ", end, " are not in a tensor of shape ",
                          shape_.ToString()));
  }
  Tensor t = *this;
  t.shape_.set_dim(0, end - begin);
  const size_t row_bytes = dim(0) == 0 ? 0 : num_bytes() / static_cast<size_t>(dim(0));
  t.data_ = static_cast<char*>(data_) + static_cast<size_t>(begin) * row_bytes;
  return t;
}

Tensor Tensor::Clone() const {
  if (!has_value()) return Tensor();
  Tensor t = TryClone(HostAllocator());
  if (!t.has_value()) ThrowNoMemory(dtype_, shape_);
  return t;
}

Tensor Tensor::TryClone(Allocator* allocator) const {
  if (!has_value()) return Tensor();
  Tensor t = TryAllocate(dtype_, shape_, allocator);
  if (!t.has_value()) return t;
  if (IsPlainData(dtype_)) {
    if (num_bytes() > 0) std::memcpy(t.data_, data_, num_bytes());
  } else {
    DispatchAnyType(
        dtype_, [&]<typename T>() { std::copy_n(data<T>(), num_elements(), t.mutable_data<T>()); });
  }
  return t;
}

bool Tensor::IsUnshared() const { return buffer_ != nullptr && buffer_->IsUnshared(); }

bool Tensor::IsTransient() const { return buffer_ != nullptr && buffer_->is_transient(); }

void Tensor::ThrowWrongType(DType wanted) const {
  Throw(
      InvalidArgument("a tensor of dtype ", DTypeName(dtype_), " was read as ", DTypeName(wanted)));
}

void Tensor::CheckScalar() const {
  if (num_elements() != 1 || !has_value()) {
    Throw(InvalidArgument("a tensor of shape ", shape_.ToString(), " is not one value"));
  }
}

void Tensor::ThrowWrongCount(size_t values, const Shape& shape) {
  Throw(InvalidArgument(values, " values do not fill a tensor of shape ", shape.ToString()));
}

namespace {

template <typename T>
std::string ElementToString(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return StrCat("\"", absl::CHexEscape(value), "\"");
  } else if constexpr (std::is_same_v<T, ResourceHandle>) {
    return StrCat("<resource ", value.container, "/", value.name, ">");
  } else if constexpr (std::is_same_v<T, Variant>) {
    return value.value == nullptr ? "<variant>" : value.value->DebugString();
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    return StrCat(static_cast<float>(value));
  } else {
    return StrCat(+value);
  }
}

}  // namespace

std::string Tensor::ToString(int max_elements) const {
  if (!has_value()) return "<no tensor>";
  std::string out = StrCat(DTypeName(dtype_), shape_.ToString(), " {");
  DispatchAnyType(dtype_, [&]<typename T>() {
    const int64_t shown = std::min<int64_t>(max_elements, num_elements());
    for (int64_t i = 0; i < shown; ++i) {
      StrAppend(&out, i == 0 ? "" : ", ", ElementToString(data<T>()[i]));
    }
    if (shown < num_elements()) StrAppend(&out, ", …");
  });
  return StrCat(out, "}");
}

}  // namespace carillon
