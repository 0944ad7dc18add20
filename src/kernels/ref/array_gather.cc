// Kernels that collect slices of a tensor by index.
#include <atomic>
#include <cstring>
#include <limits>

#include "graph/shape_context.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/array_nd_index.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// params [batch, outer, size, inner] and indices [batch, count] give [batch, outer, count, inner].
struct GatherSizes {
  int64_t batch = 1;
  int64_t outer = 1;
  int64_t size = 1;
  int64_t count = 1;
  int64_t inner = 1;
};

template <typename Index>
Status CheckIndices(const Tensor& indices, int64_t limit) {
  const std::span<const Index> values = indices.values<Index>();
  bool all_inside = true;
  for (const Index value : values) all_inside &= value >= 0 && value < limit;
  if (all_inside) return absl::OkStatus();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= limit) {
      return IndexError("indices", indices.shape(), static_cast<int64_t>(i), values[i], limit);
    }
  }
  return absl::OkStatus();
}

// Rows of `inner` elements each. kInner: their number when it is known here, 0 otherwise.
template <typename Index, typename T, int kInner>
void CopyRows(const T* params, const Index* indices, T* out, const GatherSizes& sizes) {
  const int64_t inner = kInner > 0 ? kInner : sizes.inner;
  const auto body = [&](int64_t begin, int64_t end) {
    int64_t i = begin % sizes.count;
    int64_t block = begin / sizes.count;  // of batch and outer together
    while (begin < end) {
      const Index* row_indices = indices + block / sizes.outer * sizes.count;
      const T* slab = params + block * sizes.size * inner;
      for (; i < sizes.count && begin < end; ++i, ++begin) {
        const T* from = slab + static_cast<int64_t>(row_indices[i]) * inner;
        T* to = out + begin * inner;
        if constexpr (kInner == 1) {
          *to = *from;
        } else if constexpr (std::is_trivially_copyable_v<T>) {
          std::memcpy(to, from, static_cast<size_t>(inner) * sizeof(T));
        } else {
          std::copy_n(from, inner, to);
        }
      }
      i = 0;
      ++block;
    }
  };
  const int64_t rows = sizes.batch * sizes.outer * sizes.count;
  ForRanges<T>(rows, inner, body);
}

Status GatherSlices(KernelContext& context, int axis, int batch_dims) {
  const Tensor& params = context.input(0);
  const Tensor& indices = context.input(1);
  GatherSizes sizes;
  Ints dims;
  for (int i = 0; i < axis; ++i) dims.push_back(params.dim(i));
  for (int i = batch_dims; i < indices.rank(); ++i) dims.push_back(indices.dim(i));
  for (int i = axis + 1; i < params.rank(); ++i) dims.push_back(params.dim(i));
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  for (int i = 0; i < batch_dims; ++i) sizes.batch *= params.dim(i);
  for (int i = batch_dims; i < axis; ++i) sizes.outer *= params.dim(i);
  sizes.size = params.dim(axis);
  sizes.inner = ElementsFrom(params.shape(), axis + 1);
  sizes.count = indices.num_elements() / sizes.batch;

  Status status;
  DispatchAmong<int32_t, int64_t, int16_t>(indices.dtype(), [&]<typename Index>() {
    status = CheckIndices<Index>(indices, sizes.size);
    if (!status.ok()) return;
    DispatchBySize(params.dtype(), [&]<typename T>() {
      const T* from = static_cast<const T*>(params.raw_data());
      T* to = static_cast<T*>(output->mutable_raw_data());
      if (sizes.inner == 1) {
        CopyRows<Index, T, 1>(from, indices.data<Index>(), to, sizes);
      } else {
        CopyRows<Index, T, 0>(from, indices.data<Index>(), to, sizes);
      }
    });
  });
  return status;
}

Status RunGather(KernelContext& context) {
  if (context.input(0).rank() < 1) return InvalidArgument("params should not be a scalar");
  return GatherSlices(context, 0, 0);
}

class GatherV2Kernel final : public Kernel {
 public:
  explicit GatherV2Kernel(const KernelRequest& request)
      : batch_dims_(request.attr<int64_t>("batch_dims")) {}

  Status Run(KernelContext& context) override {
    const Tensor& params = context.input(0);
    const Tensor& indices = context.input(1);
    if (params.rank() < 1) return InvalidArgument("params should not be a scalar");
    CARILLON_ASSIGN_OR_RETURN(const int64_t given, ReadScalarInt(context.input(2), "axis"));
    CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(given, params.rank()));
    if (batch_dims_ < -indices.rank() || batch_dims_ > indices.rank()) {
      return InvalidArgument("batch_dims should be in [", -indices.rank(), ", ", indices.rank(),
                             "], as indices have that rank, but is ", batch_dims_);
    }
    const int batch_dims =
        static_cast<int>(batch_dims_ < 0 ? batch_dims_ + indices.rank() : batch_dims_);
    if (batch_dims > axis) {
      return InvalidArgument("batch_dims (", batch_dims, ") should be at most axis (", axis, ")");
    }
    for (int i = 0; i < batch_dims; ++i) {
      if (params.dim(i) != indices.dim(i)) {
        return InvalidArgument("params of shape ", params.shape().ToString(), " and indices of ",
                               indices.shape().ToString(), " should agree in batch dimension ", i);
      }
    }
    return GatherSlices(context, axis, batch_dims);
  }

 private:
  const int64_t batch_dims_;
};

class GatherNdKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(const bool ignores, IgnoresBadIndices(request));
    return std::make_unique<GatherNdKernel>(ignores);
  }
  explicit GatherNdKernel(bool ignores_bad) : ignores_bad_(ignores_bad) {}

  Status Run(KernelContext& context) override {
    const Tensor& params = context.input(0);
    const Tensor& indices = context.input(1);
    if (params.rank() < 1 || indices.rank() < 1) {
      return InvalidArgument("params and indices should not be scalars but have shapes ",
                             params.shape().ToString(), " and ", indices.shape().ToString());
    }
    const int64_t depth = indices.dim(indices.rank() - 1);
    if (depth > params.rank()) {
      return InvalidArgument("the last dimension of indices, of shape ", indices.shape().ToString(),
                             ", should be at most ", params.rank(), ", the rank of params");
    }
    Ints dims(indices.shape().dims().begin(), indices.shape().dims().end() - 1);
    CARILLON_ASSIGN_OR_RETURN(const Shape rows_shape, MakeShape(dims));
    const int64_t rows = rows_shape.num_elements();
    for (int i = static_cast<int>(depth); i < params.rank(); ++i) dims.push_back(params.dim(i));
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    if (rows > 0 && params.num_elements() == 0) {
      return InvalidArgument(rows, " entries are wanted of params that are empty, of shape ",
                             params.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const NdIndexer indexer(params.shape(), static_cast<int>(depth));
    Status status;
    DispatchAmong<int32_t, int64_t, int16_t>(indices.dtype(), [&]<typename Index>() {
      status = Collect(params, indices, indices.data<Index>(), rows, indexer, *output);
    });
    return status;
  }

 private:
  template <typename Index>
  Status Collect(const Tensor& params, const Tensor& indices, const Index* index, int64_t rows,
                 const NdIndexer& indexer, Tensor& output) const {
    const int64_t slice = indexer.slice();
    std::atomic<int64_t> bad{-1};
    DispatchBySize(params.dtype(), [&]<typename T>() {
      const T* from = static_cast<const T*>(params.raw_data());
      T* to = static_cast<T*>(output.mutable_raw_data());
      const auto body = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t offset = indexer.Offset(index + i * indexer.depth());
          if (offset < 0) {
            if (!ignores_bad_) {
              bad = i;
              return;
            }
            std::fill_n(to + i * slice, slice, T{});
          } else {
            std::copy_n(from + offset, slice, to + i * slice);
          }
        }
      };
      ForRanges<T>(rows, slice, body);
    });
    if (bad < 0) return absl::OkStatus();
    return indexer.Error(indices, bad, "params");
  }

  const bool ignores_bad_;
};

}  // namespace

void AddArrayGatherKernels(KernelTable& table) {
  table.Add({
      {"Gather", "ref", FromFunction<RunGather>},
      {"GatherV2", "ref", FromClass<GatherV2Kernel>},
      {"GatherNd", "ref", FromClass<GatherNdKernel>},
  });
}

}  // namespace carillon
