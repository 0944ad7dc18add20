// What the files of the kernels for arrays and lists of tensors share.
#pragma once

#include <span>

#include "kernels/kernel.h"
#include "kernels/ref/rows.h"

namespace carillon {

// Output i is `elements` stacked along a new first dimension, or joined along their own. All have
// that many dimensions and sizes; there is at least one.
Status SetStacked(KernelContext& context, int i, std::span<const Tensor> elements);
Status SetConcatenated(KernelContext& context, int i, std::span<const Tensor> elements);
// Elements are of one shape, from their dimension `from` on. InvalidArgument otherwise.
Status CheckSameShapes(std::span<const Tensor> elements, int from, std::string_view what);
// Output i is the vector of the sizes of the elements' first dimension.
Status SetLengths(KernelContext& context, int i, std::span<const Tensor> elements);
// Rows [begin, end) of `value`, which is no step memory: sharing it where the rows are aligned.
StatusOr<Tensor> RowsOf(KernelContext& context, const Tensor& value, int64_t begin, int64_t end);

void AddTensorArrayKernels(KernelTable& table);     // TensorArrayV3 and its ops
void AddTensorListKernels(KernelTable& table);      // making lists, elements of them
void AddTensorListPackKernels(KernelTable& table);  // whole lists from and to tensors

void AddTensorListMathKernels(KernelTable& table);  // sums and zeros of lists

}  // namespace carillon
