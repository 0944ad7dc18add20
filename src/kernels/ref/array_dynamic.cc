// Kernels that deal rows out to several tensors, and that collect them again.
#include <algorithm>

#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"

namespace carillon {
namespace {

bool StartsWith(const Shape& shape, const Shape& prefix) {
  return shape.rank() >= prefix.rank() &&
         std::equal(prefix.dims().begin(), prefix.dims().end(), shape.dims().begin());
}

Status RunDynamicPartition(KernelContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& partitions = context.input(1);
  if (!StartsWith(data.shape(), partitions.shape())) {
    return InvalidArgument("the shape of data, ", data.shape().ToString(),
                           ", should start with that of partitions, ",
                           partitions.shape().ToString());
  }
  const std::span<const int32_t> parts = partitions.values<int32_t>();
  absl::InlinedVector<int64_t, 16> counts(static_cast<size_t>(context.num_outputs()), 0);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] < 0 || parts[i] >= context.num_outputs()) {
      return IndexError("partitions", partitions.shape(), static_cast<int64_t>(i), parts[i],
                        context.num_outputs());
    }
    ++counts[static_cast<size_t>(parts[i])];
  }
  absl::InlinedVector<char*, 16> next;
  for (int i = 0; i < context.num_outputs(); ++i) {
    Ints dims(data.shape().dims().begin() + partitions.rank(), data.shape().dims().end());
    dims.insert(dims.begin(), counts[static_cast<size_t>(i)]);
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, shape));
    next.push_back(static_cast<char*>(output->mutable_raw_data()));
  }
  if (data.num_elements() == 0) return absl::OkStatus();
  const int64_t slice = ElementsFrom(data.shape(), partitions.rank());
  // Neighbours that go to the same place travel together.
  for (size_t i = 0; i < parts.size();) {
    size_t end = i + 1;
    while (end < parts.size() && parts[end] == parts[i]) ++end;
    const int64_t run = static_cast<int64_t>(end - i) * slice;
    char*& to = next[static_cast<size_t>(parts[i])];
    CopyElements(data.dtype(), At(data, static_cast<int64_t>(i) * slice), to, run);
    to = At(to, data.dtype(), run);
    i = end;
  }
  return absl::OkStatus();
}

// The first half of the inputs are indices, the second half data. Later rows win; places that no
// index names are zero.
Status RunDynamicStitch(KernelContext& context) {
  const int count = context.num_inputs() / 2;
  const Shape& first_indices = context.input(0).shape();
  const Shape& first_data = context.input(count).shape();
  int32_t greatest = -1;
  for (int n = 0; n < count; ++n) {
    const Tensor& indices = context.input(n);
    const Shape& data = context.input(count + n).shape();
    if (!StartsWith(data, indices.shape())) {
      return InvalidArgument("the shape of data[", n, "], ", data.ToString(),
                             ", should start with that of indices[", n, "], ",
                             indices.shape().ToString());
    }
    if (!std::ranges::equal(data.dims().subspan(static_cast<size_t>(indices.rank())),
                            first_data.dims().subspan(static_cast<size_t>(first_indices.rank())))) {
      return InvalidArgument("the slices of data[", n, "], of shape ", data.ToString(),
                             ", should be of the same shape as those of data[0], of shape ",
                             first_data.ToString());
    }
    const std::span<const int32_t> values = indices.values<int32_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0) {
        return InvalidArgument("element ", i, " of indices[", n, "] should not be negative but is ",
                               values[i]);
      }
      greatest = std::max(greatest, values[i]);
    }
  }
  Ints dims(first_data.dims().begin() + first_indices.rank(), first_data.dims().end());
  dims.insert(dims.begin(), int64_t{greatest} + 1);
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  CARILLON_ASSIGN_OR_RETURN(Tensor * merged, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  ZeroElements(merged->dtype(), merged->mutable_raw_data(), shape.num_elements());
  const int64_t slice = ElementsFrom(shape, 1);
  for (int n = 0; n < count; ++n) {
    const Tensor& data = context.input(count + n);
    const std::span<const int32_t> values = context.input(n).values<int32_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      CopyElements(data.dtype(), At(data, static_cast<int64_t>(i) * slice),
                   At(*merged, values[i] * slice), slice);
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddArrayDynamicKernels(KernelTable& table) {
  table.Add({
      {"DynamicPartition", "ref", FromFunction<RunDynamicPartition>},
      {"DynamicStitch", "ref", FromFunction<RunDynamicStitch>},
      {"ParallelDynamicStitch", "ref", FromFunction<RunDynamicStitch>},
  });
}

}  // namespace carillon
