#include "kernels/ref/queue_batch.h"

#include <algorithm>

#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/rows.h"

namespace carillon {

Status SetBatch(KernelContext& context, int i, const std::vector<QueueTuple>& tuples,
                size_t at_component, const PartialShape& declared) {
  const auto component = [at_component](const QueueTuple& tuple) -> const Tensor& {
    return tuple[at_component];
  };
  Ints dims = {static_cast<int64_t>(tuples.size())};
  for (const int64_t size : declared.dims()) dims.push_back(std::max<int64_t>(0, size));
  bool equal = true;
  for (const QueueTuple& tuple : tuples) {
    for (int d = 0; d < declared.rank(); ++d) {
      int64_t& largest = dims[static_cast<size_t>(d) + 1];
      largest = std::max(largest, component(tuple).dim(d));
    }
    equal &= component(tuple).shape() == component(tuples[0]).shape();
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(i, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  if (!equal) ZeroElements(out->dtype(), out->mutable_raw_data(), out->num_elements());
  const Strides strides = RowMajorStrides(shape);
  for (size_t row = 0; row < tuples.size(); ++row) {
    const Tensor& element = component(tuples[row]);
    if (equal) {
      SetRow(element, static_cast<int64_t>(row), *out);
      continue;
    }
    if (element.num_elements() == 0) continue;
    const Strides from = RowMajorStrides(element.shape());
    CopyDims box;
    for (int d = 0; d < element.rank(); ++d) {
      const auto at = static_cast<size_t>(d);
      box.push_back({element.dim(d), from[at], strides[at + 1]});
    }
    CopyStrided(out->dtype(), element.raw_data(), At(*out, static_cast<int64_t>(row) * strides[0]),
                box);
  }
  return absl::OkStatus();
}

}  // namespace carillon
