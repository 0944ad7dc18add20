// Kernels that write slices into a new tensor by index.
#include <algorithm>
#include <type_traits>

#include "kernels/ref/arithmetic.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/array_nd_index.h"
#include "tensor/dispatch.h"

namespace carillon {

StatusOr<bool> IgnoresBadIndices(const KernelRequest& request) {
  const std::string& policy = request.attr<std::string>("bad_indices_policy");
  if (policy == "IGNORE") return true;
  if (policy.empty() || policy == "DEFAULT" || policy == "ERROR") return false;
  return InvalidArgument("bad_indices_policy should be '', DEFAULT, ERROR or IGNORE but is '",
                         policy, "'");
}

namespace {

enum class Update { kAssign, kAdd, kSubtract };

// One slice: to[k] = from[k], += or -=.
template <typename T, Update update>
void UpdateSlice(T* to, const T* from, int64_t count) {
  if constexpr (update == Update::kAssign) {
    std::copy_n(from, count, to);
  } else if constexpr (std::is_same_v<T, std::string>) {
    for (int64_t k = 0; k < count; ++k) to[k] += from[k];
  } else if constexpr (std::is_same_v<T, bool>) {
    for (int64_t k = 0; k < count; ++k) to[k] = to[k] || from[k];
  } else if constexpr (update == Update::kAdd) {
    for (int64_t k = 0; k < count; ++k) to[k] = WrapAdd(to[k], from[k]);
  } else {
    for (int64_t k = 0; k < count; ++k) to[k] = WrapSub(to[k], from[k]);
  }
}

// How indices [rows..., depth] and updates [rows..., slice...] fit a tensor. A vector of indices
// counts as rows of depth 1.
struct ScatterSizes {
  int64_t rows = 0;
  int depth = 0;
};

StatusOr<ScatterSizes> CheckScatter(const Shape& indices, const Shape& updates,
                                    const Shape& target) {
  if (indices.rank() < 1 || updates.rank() < 1 || target.rank() < 1) {
    return InvalidArgument("indices, updates and the result should not be scalars but have shapes ",
                           indices.ToString(), ", ", updates.ToString(), " and ",
                           target.ToString());
  }
  const int outer = indices.rank() > 1 ? indices.rank() - 1 : 1;
  const int64_t depth = indices.rank() > 1 ? indices.dim(indices.rank() - 1) : 1;
  bool fits =
      depth >= 1 && depth <= target.rank() && updates.rank() == outer + target.rank() - depth;
  for (int i = 0; fits && i < updates.rank(); ++i) {
    const int target_dim = i - outer + static_cast<int>(depth);
    fits = updates.dim(i) == (i < outer ? indices.dim(i) : target.dim(target_dim));
  }
  if (!fits) {
    return InvalidArgument("indices of shape ", indices.ToString(), " and updates of shape ",
                           updates.ToString(), " do not fit a tensor of shape ", target.ToString());
  }
  ScatterSizes sizes{.rows = 1, .depth = static_cast<int>(depth)};
  for (int i = 0; i < outer; ++i) {
    if (__builtin_mul_overflow(sizes.rows, indices.dim(i), &sizes.rows)) {
      return InvalidArgument("indices of shape ", indices.ToString(), " are too many");
    }
  }
  if (target.num_elements() == 0 && sizes.rows > 0) {
    return InvalidArgument("there are updates, of shape ", updates.ToString(),
                           ", for an empty tensor of shape ", target.ToString());
  }
  return sizes;
}

// Applies the updates in order, so that the last of several for one place wins.
template <typename T, Update update>
Status Apply(const Tensor& indices, const Tensor& updates, const ScatterSizes& sizes,
             bool ignores_bad, Tensor& target) {
  const NdIndexer indexer(target.shape(), sizes.depth);
  const int64_t slice = indexer.slice();
  const T* from = static_cast<const T*>(updates.raw_data());
  T* to = static_cast<T*>(target.mutable_raw_data());
  int64_t bad = -1;
  DispatchAmong<int32_t, int64_t, int16_t, uint16_t>(indices.dtype(), [&]<typename Index>() {
    const Index* index = indices.data<Index>();
    for (int64_t i = 0; i < sizes.rows; ++i) {
      const int64_t offset = indexer.Offset(index + i * sizes.depth);
      if (offset >= 0) {
        UpdateSlice<T, update>(to + offset, from + i * slice, slice);
      } else if (!ignores_bad) {
        bad = i;
        return;
      }
    }
  });
  return bad < 0 ? absl::OkStatus() : indexer.Error(indices, bad, "a result");
}

// Sums are over numbers; ScatterNd sums bools (or) and strings (append) too.
Status Scatter(Update update, const Tensor& indices, const Tensor& updates,
               const ScatterSizes& sizes, bool ignores_bad, bool sums_anything, Tensor& target) {
  if (sizes.rows == 0 || target.num_elements() == 0) return absl::OkStatus();
  Status status = Unimplemented("dtype ", DTypeName(target.dtype()), " cannot be summed");
  if (update == Update::kAssign) {
    DispatchBySize(target.dtype(), [&]<typename T>() {
      status = Apply<T, Update::kAssign>(indices, updates, sizes, ignores_bad, target);
    });
  } else if (update == Update::kAdd) {
    const auto add = [&]<typename T>() {
      status = Apply<T, Update::kAdd>(indices, updates, sizes, ignores_bad, target);
    };
    if (!DispatchNumber(target.dtype(), add) && sums_anything) {
      DispatchAmong<bool, std::string>(target.dtype(), add);
    }
  } else {
    DispatchNumber(target.dtype(), [&]<typename T>() {
      status = Apply<T, Update::kSubtract>(indices, updates, sizes, ignores_bad, target);
    });
  }
  return status;
}

class ScatterNdKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(const bool ignores, IgnoresBadIndices(request));
    return std::make_unique<ScatterNdKernel>(ignores);
  }
  explicit ScatterNdKernel(bool ignores_bad) : ignores_bad_(ignores_bad) {}

  Status Run(KernelContext& context) override {
    const Tensor& indices = context.input(0);
    const Tensor& updates = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(2), "shape"));
    CARILLON_ASSIGN_OR_RETURN(const ScatterSizes sizes,
                              CheckScatter(indices.shape(), updates.shape(), shape));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    ZeroElements(output->dtype(), output->mutable_raw_data(), shape.num_elements());
    return Scatter(Update::kAdd, indices, updates, sizes, ignores_bad_, true, *output);
  }

 private:
  const bool ignores_bad_;
};

template <Update update>
class TensorScatterKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(const bool ignores, IgnoresBadIndices(request));
    return std::make_unique<TensorScatterKernel>(ignores);
  }
  explicit TensorScatterKernel(bool ignores_bad) : ignores_bad_(ignores_bad) {
    traits_.reuses.push_back({0, 0});
  }

  Status Run(KernelContext& context) override {
    const Shape shape = context.input(0).shape();
    const void* from = context.input(0).raw_data();
    const Tensor& indices = context.input(1);
    const Tensor& updates = context.input(2);
    CARILLON_ASSIGN_OR_RETURN(const ScatterSizes sizes,
                              CheckScatter(indices.shape(), updates.shape(), shape));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.ReuseOrAllocateOutput(0, {0}, shape));
    if (output->raw_data() != from) {
      CopyElements(output->dtype(), from, output->mutable_raw_data(), shape.num_elements());
    }
    return Scatter(update, indices, updates, sizes, ignores_bad_, false, *output);
  }

 private:
  const bool ignores_bad_;
};

class SparseToDenseKernel final : public Kernel {
 public:
  explicit SparseToDenseKernel(const KernelRequest& request)
      : validates_(request.attr<bool>("validate_indices")) {}

  Status Run(KernelContext& context) override {
    const Tensor& indices = context.input(0);
    const Tensor& values = context.input(2);
    const Tensor& fallback = context.input(3);
    if (indices.rank() > 2) {
      return InvalidArgument("sparse_indices should be a scalar, vector or matrix but have shape ",
                             indices.shape().ToString());
    }
    const int64_t rows = indices.rank() > 0 ? indices.dim(0) : 1;
    const int64_t depth = indices.rank() > 1 ? indices.dim(1) : 1;
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(1), "output_shape"));
    if (shape.rank() != depth) {
      return InvalidArgument("output_shape has ", shape.rank(), " dimensions but sparse_indices ",
                             depth);
    }
    if (values.rank() != 0 && (values.rank() != 1 || values.dim(0) != rows)) {
      return InvalidArgument("sparse_values should be a scalar or have ", rows,
                             " elements but have shape ", values.shape().ToString());
    }
    if (fallback.rank() != 0) {
      return InvalidArgument("default_value should be a scalar but has shape ",
                             fallback.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    FillElements(output->dtype(), output->mutable_raw_data(), shape.num_elements(),
                 fallback.raw_data());
    if (rows == 0) return absl::OkStatus();
    const NdIndexer indexer(shape, static_cast<int>(depth));
    Status status;
    DispatchAmong<int32_t, int64_t>(indices.dtype(), [&]<typename Index>() {
      DispatchBySize(output->dtype(), [&]<typename T>() {
        status = Write(indices, indices.data<Index>(), rows, indexer,
                       static_cast<const T*>(values.raw_data()), values.rank() > 0 ? 1 : 0,
                       static_cast<T*>(output->mutable_raw_data()));
      });
    });
    return status;
  }

 private:
  template <typename Index, typename T>
  Status Write(const Tensor& indices, const Index* index, int64_t rows, const NdIndexer& indexer,
               const T* values, int64_t step, T* out) const {
    int64_t last = -1;
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t offset = indexer.Offset(index + i * indexer.depth());
      if (offset < 0) return indexer.Error(indices, i, "a result");
      // Offsets grow exactly as indices do in lexicographic order.
      if (validates_ && offset <= last) {
        return InvalidArgument("sparse_indices row ", i,
                               offset == last ? " is a repetition of" : " comes before",
                               " the row before it; they should be sorted and unique");
      }
      last = offset;
      out[offset] = values[i * step];
    }
    return absl::OkStatus();
  }

  const bool validates_;
};

}  // namespace

void AddArrayScatterKernels(KernelTable& table) {
  table.Add({
      {"ScatterNd", "ref", FromClass<ScatterNdKernel>},
      {"TensorScatterUpdate", "ref", FromClass<TensorScatterKernel<Update::kAssign>>},
      {"TensorScatterAdd", "ref", FromClass<TensorScatterKernel<Update::kAdd>>},
      {"TensorScatterSub", "ref", FromClass<TensorScatterKernel<Update::kSubtract>>},
      {"SparseToDense", "ref", FromClass<SparseToDenseKernel>},
  });
}

}  // namespace carillon
