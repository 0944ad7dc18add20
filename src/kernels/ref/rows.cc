#include "kernels/ref/rows.h"

#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"

namespace carillon {

Shape RowShape(const Shape& shape) {
  Shape row = shape;
  row.RemoveDim(0);
  return row;
}

StatusOr<Shape> ShapeOfRows(int64_t count, const Shape& row) {
  Ints dims = {count};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return MakeShape(dims);
}

StatusOr<Tensor> CopyRow(KernelContext& context, const Tensor& from, int64_t i) {
  CARILLON_ASSIGN_OR_RETURN(Tensor row,
                            context.AllocateTemporary(from.dtype(), RowShape(from.shape())));
  const int64_t size = row.num_elements();
  CopyElements(from.dtype(), At(from, i * size), row.mutable_raw_data(), size);
  return row;
}

void SetRow(const Tensor& row, int64_t i, Tensor& to) {
  const int64_t size = row.num_elements();
  CopyElements(to.dtype(), row.raw_data(), At(to, i * size), size);
}

}  // namespace carillon
