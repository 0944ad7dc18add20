#include <memory>
#include <utility>

#include "data/formats.h"
#include "tensor/allocator.h"
#include "tensor/buffer.h"

namespace carillon {
namespace {

template <typename T>
Tensor Adopt(std::vector<T> values, const Shape& shape) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  T* data = kept->data();
  const size_t bytes = kept->size() * sizeof(T);
  Buffer* buffer = Buffer::Wrap(
      data, bytes, [](void* vector) { delete static_cast<std::vector<T>*>(vector); },
      kept.release());
  Tensor tensor = Tensor::View(kDTypeOf<T>, shape, buffer, data);
  buffer->Unref();  // the tensor has a reference of its own
  return tensor;
}

}  // namespace

Tensor TensorOf(std::vector<uint8_t> values, const Shape& shape) {
  return Adopt(std::move(values), shape);
}
Tensor TensorOf(std::vector<int64_t> values, const Shape& shape) {
  return Adopt(std::move(values), shape);
}

StatusOr<Tensor> AllocateFor(const std::string& what, DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::TryAllocate(dtype, shape, HostAllocator());
  if (!tensor.has_value()) {
    return ResourceExhausted(what, ": no memory for ", shape.ToString(), " elements of type ",
                             DTypeName(dtype));
  }
  return tensor;
}

}  // namespace carillon
