// Tensor: a typed, shaped, reference-counted block of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "carillon/dtype.h"
#include "carillon/shape.h"

namespace carillon {

class Allocator;
class Buffer;

// Copying a Tensor shares its memory; Clone() copies the elements. Elements lie in row-major order.
// Concurrent reads are safe; whoever writes must know that nobody else holds the memory
// (IsUnshared) or that sharing is meant.
class Tensor {
 public:
  Tensor() = default;  // holds nothing: dtype kInvalid
  // Uninitialised elements (strings: empty). Throws Error(ResourceExhausted) when the memory cannot
  // be had.
  Tensor(DType dtype, const Shape& shape);
  // Allocates from `allocator`, which must outlive the tensor's memory. Never throws: on failure
  // the result holds nothing.
  static Tensor TryAllocate(DType dtype, const Shape& shape, Allocator* allocator);
  // A view of `bytes` that start at `data` inside `buffer`, which it keeps alive.
  static Tensor View(DType dtype, const Shape& shape, Buffer* buffer, void* data);

  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  template <typename T>
  static Tensor Scalar(const T& value);
  static Tensor Scalar(const char* value) { return Scalar(std::string(value)); }
  template <typename T>
  static Tensor FromVector(const std::vector<T>& values);  // one dimension
  // Throws Error(InvalidArgument) when the number of values does not fit the shape.
  template <typename T>
  static Tensor FromVector(const std::vector<T>& values, const Shape& shape);
  template <typename T>
  static Tensor Full(const Shape& shape, const T& value);

  bool has_value() const { return dtype_ != DType::kInvalid; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int i) const { return shape_.dim(i); }
  int64_t num_elements() const { return shape_.num_elements(); }
  size_t num_bytes() const { return static_cast<size_t>(num_elements()) * DTypeSize(dtype_); }

  // The elements. Throw Error(InvalidArgument) when T is not the dtype.
  template <typename T>
  const T* data() const {
    CheckType(kDTypeOf<T>);
    return static_cast<const T*>(data_);
  }
  template <typename T>
  T* mutable_data() {
    CheckType(kDTypeOf<T>);
    return static_cast<T*>(data_);
  }
  template <typename T>
  std::span<const T> values() const {
    return {data<T>(), static_cast<size_t>(num_elements())};
  }
  template <typename T>
  std::span<T> mutable_values() {
    return {mutable_data<T>(), static_cast<size_t>(num_elements())};
  }
  // The value of a tensor with exactly one element. Throws Error(InvalidArgument) otherwise.
  template <typename T>
  const T& scalar() const {
    CheckScalar();
    return data<T>()[0];
  }
  const void* raw_data() const { return data_; }
  void* mutable_raw_data() { return data_; }

  // The same memory under another shape or element type. Throw Error(InvalidArgument) when the
  // sizes differ.
  Tensor Reshaped(const Shape& shape) const;
  Tensor Bitcast(DType dtype, const Shape& shape) const;
  // Rows begin … end-1 of the first dimension; shares the memory. Throws Error(InvalidArgument)
  // when out of range.
  Tensor Slice(int64_t begin, int64_t end) const;
  Tensor Clone() const;
  // The same from `allocator`; holds nothing when that has no room.
  Tensor TryClone(Allocator* allocator) const;

  // True when no other Tensor refers to the memory, so that it may be overwritten or kept.
  bool IsUnshared() const;
  // True when the memory belongs to a step and is reused after it: keep a Clone(), not the tensor.
  bool IsTransient() const;
  Buffer* buffer() const { return buffer_; }

  // Dtype, shape and the first elements, for messages.
  std::string ToString(int max_elements = 8) const;

 private:
  void CheckType(DType wanted) const {
    if (wanted != dtype_) ThrowWrongType(wanted);
  }
  [[noreturn]] void ThrowWrongType(DType wanted) const;
  void CheckScalar() const;
  [[noreturn]] static void ThrowWrongCount(size_t values, const Shape& shape);

  Buffer* buffer_ = nullptr;  // one reference
  void* data_ = nullptr;      // inside buffer_
  DType dtype_ = DType::kInvalid;
  Shape shape_;
};

template <typename T>
Tensor Tensor::Scalar(const T& value) {
  Tensor t(kDTypeOf<T>, Shape{});
  t.mutable_data<T>()[0] = value;
  return t;
}

template <typename T>
Tensor Tensor::FromVector(const std::vector<T>& values, const Shape& shape) {
  if (static_cast<int64_t>(values.size()) != shape.num_elements())
    ThrowWrongCount(values.size(), shape);
  Tensor t(kDTypeOf<T>, shape);
  T* out = t.mutable_data<T>();
  for (size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return t;
}

template <typename T>
Tensor Tensor::FromVector(const std::vector<T>& values) {
  return FromVector(values, Shape{static_cast<int64_t>(values.size())});
}

template <typename T>
Tensor Tensor::Full(const Shape& shape, const T& value) {
  Tensor t(kDTypeOf<T>, shape);
  for (T& element : t.mutable_values<T>()) element = value;
  return t;
}

}  // namespace carillon
