// Integers that arrive as tensors: axes, sizes, ids.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "carillon/tensor.h"

namespace carillon {

// Element i of an integer tensor of any width up to 64 bits signed.
inline int64_t IndexAt(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kInt32:
      return static_cast<const int32_t*>(tensor.raw_data())[i];
    case DType::kInt16:
      return static_cast<const int16_t*>(tensor.raw_data())[i];
    default:
      return tensor.data<int64_t>()[i];
  }
}

// The value of a scalar. InvalidArgument, naming `what`, when it has dimensions.
inline StatusOr<int64_t> ScalarIndex(const Tensor& tensor, std::string_view what) {
  if (tensor.rank() != 0)
    return InvalidArgument(what, " should be a scalar, not shape ", tensor.shape().ToString());
  return IndexAt(tensor, 0);
}

// A scalar axis in [-rank, rank), made positive.
inline StatusOr<int> ScalarAxis(const Tensor& tensor, int rank, std::string_view what) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t axis, ScalarIndex(tensor, what));
  if (axis < -rank || axis >= rank) {
    return InvalidArgument("Expected ", what, " in the range [", -rank, ", ", rank, "), but got ",
                           axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// A tensor seen from one axis: [outer, size, inner].
struct AxisView {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  AxisView(const Shape& shape, int axis) : size(shape.dim(axis)) {
    if (shape.num_elements() == 0) {
      outer = 0;
      return;
    }
    for (int i = 0; i < axis; ++i) outer *= shape.dim(i);
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
  }
};

}  // namespace carillon
