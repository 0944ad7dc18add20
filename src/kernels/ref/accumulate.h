// Sums and quotients of whole tensors, in place where nobody else holds the memory.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "carillon/tensor.h"
#include "tensor/allocator.h"

namespace carillon {

// sum += value, of equal dtype (a number) and shape.
Status AddTo(Tensor& sum, const Tensor& value, Allocator* allocator);
// values /= divisor, of a floating dtype.
Status DivideBy(Tensor& values, int64_t divisor, Allocator* allocator);

// The same for rows of `size` elements; in place.
void AddRow(DType dtype, void* sum, const void* row, int64_t size);
// to = from / divisor, which may be the same memory.
void DivideRow(DType dtype, const void* from, void* to, int64_t size, int64_t divisor);

}  // namespace carillon
