// Kernels of the ops for arrays and lists of tensors: what they share.
#include "kernels/families.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/list_kernels.h"
#include "tensor/text_memory.h"

namespace carillon {

Status CheckSameShapes(std::span<const Tensor> elements, int from, std::string_view what) {
  for (size_t i = 1; i < elements.size(); ++i) {
    const Shape &first = elements[0].shape(), &other = elements[i].shape();
    bool same = first.rank() == other.rank();
    for (int d = from; same && d < first.rank(); ++d) same = first.dim(d) == other.dim(d);
    if (!same) {
      return InvalidArgument(what, " has inconsistent shapes. Index 0 has shape ", first.ToString(),
                             " but index ", i, " has shape ", other.ToString());
    }
  }
  return absl::OkStatus();
}

Status SetStacked(KernelContext& context, int i, std::span<const Tensor> elements) {
  CARILLON_ASSIGN_OR_RETURN(
      const Shape shape, ShapeOfRows(static_cast<int64_t>(elements.size()), elements[0].shape()));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(i, shape));
  for (size_t row = 0; row < elements.size(); ++row)
    SetRow(elements[row], static_cast<int64_t>(row), *out);
  return absl::OkStatus();
}

Status SetConcatenated(KernelContext& context, int i, std::span<const Tensor> elements) {
  int64_t rows = 0;
  for (const Tensor& element : elements) rows += element.dim(0);
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, ShapeOfRows(rows, RowShape(elements[0].shape())));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(i, shape));
  int64_t at = 0;
  for (const Tensor& element : elements) {
    CopyElements(out->dtype(), element.raw_data(), At(*out, at), element.num_elements());
    at += element.num_elements();
  }
  return absl::OkStatus();
}

Status SetLengths(KernelContext& context, int i, std::span<const Tensor> elements) {
  CARILLON_ASSIGN_OR_RETURN(
      Tensor * lengths, context.AllocateOutput(i, Shape{static_cast<int64_t>(elements.size())}));
  int64_t* length = lengths->mutable_data<int64_t>();
  for (const Tensor& element : elements) *length++ = element.dim(0);
  return absl::OkStatus();
}

StatusOr<Tensor> RowsOf(KernelContext& context, const Tensor& value, int64_t begin, int64_t end) {
  Tensor rows = value.Slice(begin, end);
  const auto address = reinterpret_cast<uintptr_t>(rows.raw_data());
  if (IsPlainData(value.dtype()) && address % kTensorAlignment == 0) return rows;
  CARILLON_ASSIGN_OR_RETURN(Tensor copy, context.AllocateTemporary(rows.dtype(), rows.shape()));
  CopyElements(rows.dtype(), rows.raw_data(), copy.mutable_raw_data(), rows.num_elements());
  CARILLON_RETURN_IF_ERROR(ChargeText(copy));
  return copy;
}

void AddListReferenceKernels(KernelTable& table) {
  AddTensorArrayKernels(table);
  AddTensorListKernels(table);
  AddTensorListPackKernels(table);
  AddTensorListMathKernels(table);
}

}  // namespace carillon
