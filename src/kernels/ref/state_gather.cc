// ResourceGather, ResourceGatherNd: rows and slices of a variable, read without reading all of it.
#include <algorithm>
#include <string>

#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/array_nd_index.h"
#include "kernels/ref/index_values.h"
#include "kernels/ref/state_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Copies slices of `size` elements, which begin at `offsets` of `from`, one after the other.
void CopySlices(const Tensor& from, std::span<const int64_t> offsets, int64_t size, Tensor& out) {
  if (out.num_elements() == 0) return;
  DispatchBySize(from.dtype(), [&]<typename T>() {
    const T* source = static_cast<const T*>(from.raw_data());
    T* target = static_cast<T*>(out.mutable_raw_data());
    ForRanges<T>(static_cast<int64_t>(offsets.size()), size, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::copy_n(source + offsets[static_cast<size_t>(i)], size, target + i * size);
      }
    });
  });
}

class ResourceGatherKernel final : public Kernel {
 public:
  explicit ResourceGatherKernel(const KernelRequest& request)
      : batch_dims_(request.attr<int64_t>("batch_dims")) {}

  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(auto variable, VariableInput(context, 0, context.output_dtype(0)));
    return variable->Visit([&](const Tensor& value) { return Gather(context, *variable, value); });
  }

 private:
  Status Gather(KernelContext& context, const VariableResource& variable,
                const Tensor& value) const {
    const Tensor& indices = context.input(1);
    const int64_t batch_dims = batch_dims_;
    if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims >= value.rank()) {
      return InvalidArgument("batch_dims ", batch_dims, " does not fit indices of shape ",
                             indices.shape().ToString(), " and variable ", variable.name(),
                             " of shape ", value.shape().ToString());
    }
    const auto axis = static_cast<int>(batch_dims);
    for (int i = 0; i < axis; ++i) {
      if (value.dim(i) != indices.dim(i)) {
        return InvalidArgument("the first ", axis, " dimensions of indices ",
                               indices.shape().ToString(), " and of variable ", variable.name(),
                               " ", value.shape().ToString(), " must be equal");
      }
    }
    Ints dims(indices.shape().dims().begin(), indices.shape().dims().end());
    for (int i = axis + 1; i < value.rank(); ++i) dims.push_back(value.dim(i));
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    CARILLON_ASSIGN_OR_RETURN(const Tensor offsets, Offsets(context, indices, value, axis));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    CopySlices(value, offsets.values<int64_t>(), ElementsFrom(value.shape(), axis + 1), *out);
    return absl::OkStatus();
  }

  // The rows of each batch lie after those of the batch before it.
  static StatusOr<Tensor> Offsets(KernelContext& context, const Tensor& indices,
                                  const Tensor& value, int axis) {
    CARILLON_ASSIGN_OR_RETURN(Tensor offsets,
                              context.AllocateTemporary(DType::kInt64, indices.shape()));
    const int64_t n = indices.num_elements();
    if (n == 0) return offsets;
    const int64_t rows = value.dim(axis), row = ElementsFrom(value.shape(), axis + 1);
    const int64_t per_batch = n / ElementsBefore(indices.shape(), axis);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t index = IndexAt(indices, i);
      if (index < 0 || index >= rows) {
        return IndexError("indices", indices.shape(), i, index, rows);
      }
      offsets.mutable_data<int64_t>()[i] = (i / per_batch * rows + index) * row;
    }
    return offsets;
  }

  const int64_t batch_dims_;
};

Status GatherNd(KernelContext& context, const VariableResource& variable, const Tensor& value) {
  CARILLON_ASSIGN_OR_RETURN(const Tensor indices, IndicesAsInt64(context, context.input(1)));
  if (value.rank() < 1 || indices.rank() < 1 || indices.dim(indices.rank() - 1) > value.rank()) {
    return InvalidArgument("indices of shape ", indices.shape().ToString(),
                           " do not address slices of variable ", variable.name(), " of shape ",
                           value.shape().ToString());
  }
  const auto depth = static_cast<int>(indices.dim(indices.rank() - 1));
  Ints dims(indices.shape().dims().begin(), indices.shape().dims().end() - 1);
  CARILLON_ASSIGN_OR_RETURN(const Shape outer, MakeShape(dims));
  for (int i = depth; i < value.rank(); ++i) dims.push_back(value.dim(i));
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  const int64_t count = outer.num_elements();
  if (count > 0 && value.num_elements() == 0) {
    return InvalidArgument(count, " slices are wanted of variable ", variable.name(),
                           ", which is empty: its shape is ", value.shape().ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
  if (count == 0) return absl::OkStatus();
  const NdIndexer indexer(value.shape(), depth);
  CARILLON_ASSIGN_OR_RETURN(Tensor offsets, context.AllocateTemporary(DType::kInt64, outer));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t offset = indexer.Offset(indices.data<int64_t>() + i * depth);
    if (offset < 0) return indexer.Error(indices, i, "a variable");
    offsets.mutable_data<int64_t>()[i] = offset;
  }
  CopySlices(value, offsets.values<int64_t>(), indexer.slice(), *out);
  return absl::OkStatus();
}

Status RunResourceGatherNd(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto variable, VariableInput(context, 0, context.output_dtype(0)));
  return variable->Visit([&](const Tensor& value) { return GatherNd(context, *variable, value); });
}

}  // namespace

void AddStateGatherKernels(KernelTable& table) {
  table.Add({
      {"ResourceGather", "ref", FromClass<ResourceGatherKernel>},
      {"ResourceGatherNd", "ref", FromFunction<RunResourceGatherNd>},
  });
}

}  // namespace carillon
