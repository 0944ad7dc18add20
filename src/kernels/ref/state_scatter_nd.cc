// ScatterNdUpdate, ScatterNdAdd, ScatterNdSub on slices of a variable, by reference and by handle.
#include <algorithm>
#include <string>

#include "kernels/ref/arithmetic.h"
#include "kernels/ref/array_nd_index.h"
#include "kernels/ref/state_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

enum class Combine { kUpdate, kAdd, kSub };

// The last dimension of `indices` addresses a slice of the variable; the dimensions before it say
// how many there are. A vector counts as many indices of one part.
struct Addressed {
  int64_t count = 0;
  int depth = 1;
};

StatusOr<Addressed> CheckShapes(const VariableResource& variable, const Shape& value,
                                const Shape& indices, const Shape& updates) {
  const auto misfit = [&](std::string_view why) {
    return InvalidArgument("updates of shape ", updates.ToString(), " at indices of shape ",
                           indices.ToString(), " do not fit variable ", variable.name(),
                           " of shape ", value.ToString(), ": ", why);
  };
  if (value.rank() < 1) return misfit("a scalar has no slices");
  if (indices.rank() < 1) return misfit("indices must be a vector or more");
  const int outer = std::max(indices.rank() - 1, 1);
  const int64_t depth = indices.rank() > 1 ? indices.dim(outer) : 1;
  if (depth < 1) return misfit("an index has no parts");
  if (depth > value.rank()) return misfit("an index has more parts than there are dimensions");
  if (updates.rank() != outer + value.rank() - depth) return misfit("the ranks do not add up");
  for (int i = 0; i < updates.rank(); ++i) {
    const int place = i - outer + static_cast<int>(depth);
    if (updates.dim(i) != (i < outer ? indices.dim(i) : value.dim(place))) {
      return misfit(i < outer ? "the number of slices differs" : "the slices differ in shape");
    }
  }
  return Addressed{indices.num_elements() / depth, static_cast<int>(depth)};
}

template <Combine combine, typename T>
void CombineSlice(T* target, const T* source, int64_t size) {
  if constexpr (combine == Combine::kUpdate) {
    std::copy_n(source, size, target);
  } else {
    for (int64_t i = 0; i < size; ++i) {
      target[i] =
          combine == Combine::kAdd ? WrapAdd(target[i], source[i]) : WrapSub(target[i], source[i]);
    }
  }
}

template <Combine combine>
class ScatterNdKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const DType dtype = request.input_dtype(2);
    if (combine != Combine::kUpdate && !IsFloating(dtype) && !IsInteger(dtype)) {
      return Unimplemented("arithmetic on ", DTypeName(dtype));
    }
    CARILLON_ASSIGN_OR_RETURN(const bool ignore_bad, IgnoresBadIndices(request));
    return std::make_unique<ScatterNdKernel>(request, ignore_bad);
  }
  ScatterNdKernel(const KernelRequest& request, bool ignore_bad) : ignore_bad_(ignore_bad) {
    traits_ = UpdateTraits(request);
  }

  Status Run(KernelContext& context) override {
    const Tensor& updates = context.input(2);
    CARILLON_ASSIGN_OR_RETURN(auto variable, VariableInput(context, 0, updates.dtype()));
    CARILLON_ASSIGN_OR_RETURN(const Tensor indices, IndicesAsInt64(context, context.input(1)));
    VariableLock lock({variable.get()});
    CARILLON_ASSIGN_OR_RETURN(const Tensor* old, lock.Readable(*variable));
    CARILLON_ASSIGN_OR_RETURN(
        const Addressed slices,
        CheckShapes(*variable, old->shape(), indices.shape(), updates.shape()));
    PassReference(context);
    if (slices.count == 0) return absl::OkStatus();
    if (old->num_elements() == 0) {
      return InvalidArgument("variable ", variable->name(), " is empty: it has no slices");
    }
    const NdIndexer indexer(old->shape(), slices.depth);
    CARILLON_ASSIGN_OR_RETURN(const Tensor offsets,
                              Offsets(context, indexer, indices, slices.count));
    CARILLON_ASSIGN_OR_RETURN(Tensor * value,
                              lock.Writable(*variable, context.services().allocator));
    const auto scatter = [&]<typename T>() {
      T* target = static_cast<T*>(value->mutable_raw_data());
      const T* source = static_cast<const T*>(updates.raw_data());
      for (int64_t i = 0; i < slices.count; ++i) {
        const int64_t offset = offsets.data<int64_t>()[i];
        if (offset < 0) continue;
        CombineSlice<combine>(target + offset, source + i * indexer.slice(), indexer.slice());
      }
    };
    if constexpr (combine == Combine::kUpdate) {
      DispatchBySize(value->dtype(), scatter);
    } else {
      DispatchNumber(value->dtype(), scatter);
    }
    return lock.CountText();
  }

 private:
  // Where each addressed slice begins; -1 where an index is out of range and that is ignored. All
  // are checked before anything is changed.
  StatusOr<Tensor> Offsets(KernelContext& context, const NdIndexer& indexer, const Tensor& indices,
                           int64_t count) const {
    CARILLON_ASSIGN_OR_RETURN(Tensor offsets,
                              context.AllocateTemporary(DType::kInt64, Shape{count}));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t offset = indexer.Offset(indices.data<int64_t>() + i * indexer.depth());
      if (offset < 0 && !ignore_bad_) return indexer.Error(indices, i, "a variable");
      offsets.mutable_data<int64_t>()[i] = offset;
    }
    return offsets;
  }

  const bool ignore_bad_;
};

}  // namespace

void AddStateScatterNdKernels(KernelTable& table) {
  using enum Combine;
  table.Add({
      {"ScatterNdUpdate", "ref", FromClass<ScatterNdKernel<kUpdate>>},
      {"ScatterNdAdd", "ref", FromClass<ScatterNdKernel<kAdd>>},
      {"ScatterNdSub", "ref", FromClass<ScatterNdKernel<kSub>>},
      {"ResourceScatterNdUpdate", "ref", FromClass<ScatterNdKernel<kUpdate>>},
      {"ResourceScatterNdAdd", "ref", FromClass<ScatterNdKernel<kAdd>>},
      {"ResourceScatterNdSub", "ref", FromClass<ScatterNdKernel<kSub>>},
  });
}

}  // namespace carillon
