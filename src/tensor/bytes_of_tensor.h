// What a tensor takes that may not exist.
#pragma once

#include <cstddef>
#include <limits>

#include "carillon/dtype.h"
#include "carillon/shape.h"

namespace carillon {

// The largest number there is when it fits none.
inline size_t BytesOfTensor(DType dtype, const Shape& shape) {
  size_t bytes = 0;
  return __builtin_mul_overflow(static_cast<size_t>(shape.num_elements()), DTypeSize(dtype), &bytes)
             ? std::numeric_limits<size_t>::max()
             : bytes;
}

}  // namespace carillon
