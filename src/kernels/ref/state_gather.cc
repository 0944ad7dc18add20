// ResourceGather, ResourceGatherNd: rows and slices of a variable, read without reading all of it.
#include <algorithm>
#include <string>

#include "base/parallel.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/state_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Copies slices of `size` elements from the places given to `out`, one after the other.
void CopySlices(const Tensor& from, std::span<const int64_t> places, int64_t size, Tensor& out) {
  if (out.num_elements() == 0) return;
  DispatchBySize(from.dtype(), [&]<typename T>() {
    const T* source = static_cast<const T*>(from.raw_data());
    T* target = static_cast<T*>(out.mutable_raw_data());
    ParallelFor(static_cast<int64_t>(places.size()), std::max<int64_t>(1, 16384 / size),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    std::copy_n(source + places[static_cast<size_t>(i)] * size, size,
                                target + i * size);
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
    CARILLON_ASSIGN_OR_RETURN(const Tensor value, variable->Read());
    const Tensor& indices = context.input(1);
    const int64_t batch_dims = batch_dims_;
    if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims >= value.rank()) {
      return InvalidArgument("batch_dims ", batch_dims, " does not fit indices of shape ",
                             indices.shape().ToString(), " and variable ", variable->name(),
                             " of shape ", value.shape().ToString());
    }
    const auto axis = static_cast<int>(batch_dims);
    int64_t batches = 1, size = 1;
    for (int i = 0; i < axis; ++i) {
      if (value.dim(i) != indices.dim(i)) {
        return InvalidArgument("the first ", axis, " dimensions of indices ",
                               indices.shape().ToString(), " and of variable ", variable->name(),
                               " ", value.shape().ToString(), " must be equal");
      }
      batches *= value.dim(i);
    }
    Ints dims(indices.shape().dims().begin(), indices.shape().dims().end());
    for (int i = axis + 1; i < value.rank(); ++i) {
      dims.push_back(value.dim(i));
      size *= value.dim(i);
    }
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    CARILLON_ASSIGN_OR_RETURN(const Tensor places,
                              Places(context, indices, batches, value.dim(axis)));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    CopySlices(value, places.values<int64_t>(), size, *out);
    return absl::OkStatus();
  }

 private:
  // Rows of each batch lie after those of the batch before it.
  static StatusOr<Tensor> Places(KernelContext& context, const Tensor& indices, int64_t batches,
                                 int64_t rows) {
    CARILLON_ASSIGN_OR_RETURN(Tensor places,
                              context.AllocateTemporary(DType::kInt64, indices.shape()));
    Status status;
    DispatchAmong<int32_t, int64_t>(indices.dtype(), [&]<typename T>() {
      const int64_t n = indices.num_elements();
      for (int64_t i = 0; i < n; ++i) {
        const int64_t index = indices.data<T>()[i];
        if (index < 0 || index >= rows) {
          status = IndexError("indices", indices.shape(), i, index, rows);
          return;
        }
        places.mutable_data<int64_t>()[i] = i / (n / batches) * rows + index;
      }
    });
    CARILLON_RETURN_IF_ERROR(status);
    return places;
  }

  const int64_t batch_dims_;
};

Status RunResourceGatherNd(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto variable, VariableInput(context, 0, context.output_dtype(0)));
  CARILLON_ASSIGN_OR_RETURN(const Tensor value, variable->Read());
  CARILLON_ASSIGN_OR_RETURN(const Tensor indices, IndicesAsInt64(context, context.input(1)));
  if (value.rank() < 1 || indices.rank() < 1 || indices.dim(indices.rank() - 1) > value.rank()) {
    return InvalidArgument("indices of shape ", indices.shape().ToString(),
                           " do not address slices of variable ", variable->name(), " of shape ",
                           value.shape().ToString());
  }
  const auto depth = static_cast<int>(indices.dim(indices.rank() - 1));
  const auto outer = indices.shape().dims().first(static_cast<size_t>(indices.rank() - 1));
  Ints dims(outer.begin(), outer.end());
  int64_t size = 1;
  for (int i = depth; i < value.rank(); ++i) {
    dims.push_back(value.dim(i));
    size *= value.dim(i);
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  CARILLON_ASSIGN_OR_RETURN(const Shape outer_shape, MakeShape(outer));
  const int64_t count = outer_shape.num_elements();
  CARILLON_ASSIGN_OR_RETURN(Tensor places, context.AllocateTemporary(DType::kInt64, outer_shape));
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0;
    for (int d = 0; d < depth; ++d) {
      const int64_t index = indices.data<int64_t>()[i * depth + d];
      if (index < 0 || index >= value.dim(d)) {
        return InvalidArgument("indices[", i, "] does not index into shape ",
                               value.shape().ToString(), ": part ", d, " is ", index);
      }
      place = place * value.dim(d) + index;
    }
    places.mutable_data<int64_t>()[i] = place;
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
  CopySlices(value, places.values<int64_t>(), size, *out);
  return absl::OkStatus();
}

}  // namespace

void AddStateGatherKernels(KernelTable& table) {
  table.Add({
      {"ResourceGather", "ref", FromClass<ResourceGatherKernel>},
      {"ResourceGatherNd", "ref", FromFunction<RunResourceGatherNd>},
  });
}

}  // namespace carillon
