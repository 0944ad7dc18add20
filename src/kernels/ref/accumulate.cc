#include "kernels/ref/accumulate.h"

#include "base/parallel.h"
#include "kernels/ref/arithmetic.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread

// `values` itself when it may be overwritten, else new memory like it.
Status Writable(const Tensor& values, Allocator* allocator, Tensor* to) {
  *to =
      values.IsUnshared() ? values : Tensor::TryAllocate(values.dtype(), values.shape(), allocator);
  if (to->has_value()) return absl::OkStatus();
  return ResourceExhausted("no memory for a ", DTypeName(values.dtype()),
                           values.shape().ToString());
}

}  // namespace

Status AddTo(Tensor& sum, const Tensor& value, Allocator* allocator) {
  Tensor result;
  CARILLON_RETURN_IF_ERROR(Writable(sum, allocator, &result));
  DispatchNumber(sum.dtype(), [&]<typename T>() {
    const T *a = sum.data<T>(), *b = value.data<T>();
    T* to = result.mutable_data<T>();
    ParallelFor(sum.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = WrapAdd<Compute<T>>(a[i], b[i]);
    });
  });
  sum = std::move(result);
  return absl::OkStatus();
}

Status DivideBy(Tensor& values, int64_t divisor, Allocator* allocator) {
  if (divisor == 1) return absl::OkStatus();
  Tensor result;
  CARILLON_RETURN_IF_ERROR(Writable(values, allocator, &result));
  const size_t element = DTypeSize(values.dtype());
  const auto* from = static_cast<const char*>(values.raw_data());
  auto* to = static_cast<char*>(result.mutable_raw_data());
  ParallelFor(values.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    const size_t offset = static_cast<size_t>(begin) * element;
    DivideRow(values.dtype(), from + offset, to + offset, end - begin, divisor);
  });
  values = std::move(result);
  return absl::OkStatus();
}

void AddRow(DType dtype, void* sum, const void* row, int64_t size) {
  DispatchNumber(dtype, [&]<typename T>() {
    T* to = static_cast<T*>(sum);
    const T* from = static_cast<const T*>(row);
    for (int64_t i = 0; i < size; ++i) to[i] = WrapAdd<Compute<T>>(to[i], from[i]);
  });
}

void DivideRow(DType dtype, const void* from, void* to, int64_t size, int64_t divisor) {
  DispatchFloating(dtype, [&]<typename T>() {
    const T* in = static_cast<const T*>(from);
    T* out = static_cast<T*>(to);
    const auto by = static_cast<Compute<T>>(divisor);
    for (int64_t i = 0; i < size; ++i) {
      out[i] = static_cast<T>(static_cast<Compute<T>>(in[i]) / by);
    }
  });
}

}  // namespace carillon
