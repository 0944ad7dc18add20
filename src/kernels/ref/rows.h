// Rows of a tensor as tensors, and tensors as rows: what queues, arrays and lists take apart and
// put together.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "kernels/context.h"

namespace carillon {

// The shape of one row of a tensor of at least one dimension; of `count` rows.
Shape RowShape(const Shape& shape);
StatusOr<Shape> ShapeOfRows(int64_t count, const Shape& row);

// A copy of row i.
StatusOr<Tensor> CopyRow(KernelContext& context, const Tensor& from, int64_t i);
// Writes `row` as row i of `to`, of whose rows it has the shape.
void SetRow(const Tensor& row, int64_t i, Tensor& to);

}  // namespace carillon
