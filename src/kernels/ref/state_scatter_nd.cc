// ScatterNdUpdate, ScatterNdAdd, ScatterNdSub on slices of a variable, by reference and by handle.
#include <algorithm>
#include <string>

#include "kernels/ref/arithmetic.h"
#include "kernels/ref/state_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

enum class Combine { kUpdate, kAdd, kSub };

// The last dimension of `indices` addresses a slice of the variable; the dimensions before it say
// how many there are.
struct Slices {
  int64_t count = 1;  // how many slices are addressed
  int64_t depth = 0;  // leading dimensions of the variable that an index addresses
  int64_t size = 1;   // elements of one slice
};

StatusOr<Slices> CheckShapes(const VariableResource& variable, const Shape& value,
                             const Shape& indices, const Shape& updates) {
  const auto misfit = [&](std::string_view why) {
    return InvalidArgument("updates of shape ", updates.ToString(), " at indices of shape ",
                           indices.ToString(), " do not fit variable ", variable.name(),
                           " of shape ", value.ToString(), ": ", why);
  };
  if (value.rank() < 1) return misfit("a scalar has no slices");
  if (indices.rank() < 1) return misfit("indices must be a vector or more");
  Slices slices;
  slices.depth = indices.dim(indices.rank() - 1);
  if (slices.depth < 1) return misfit("an index has no parts");
  if (slices.depth > value.rank()) return misfit("an index has more parts than dimensions");
  const int outer = indices.rank() - 1;
  const auto depth = static_cast<int>(slices.depth);
  if (updates.rank() != outer + value.rank() - depth) return misfit("the ranks do not add up");
  for (int i = 0; i < outer; ++i) {
    if (updates.dim(i) != indices.dim(i)) return misfit("the number of slices differs");
    slices.count *= indices.dim(i);
  }
  for (int i = depth; i < value.rank(); ++i) {
    if (updates.dim(outer + i - depth) != value.dim(i)) return misfit("the slices differ in shape");
    slices.size *= value.dim(i);
  }
  return slices;
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
    const auto& policy = request.attr<std::string>("bad_indices_policy");
    if (policy != "" && policy != "DEFAULT" && policy != "ERROR" && policy != "IGNORE") {
      return InvalidArgument("bad_indices_policy is '", policy,
                             "' but should be DEFAULT, ERROR or IGNORE");
    }
    return std::make_unique<ScatterNdKernel>(request, policy == "IGNORE");
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
    CARILLON_ASSIGN_OR_RETURN(const Slices slices, CheckShapes(*variable, old->shape(),
                                                               indices.shape(), updates.shape()));
    CARILLON_ASSIGN_OR_RETURN(const Tensor places, Places(context, old->shape(), indices, slices));
    PassReference(context);
    if (slices.count == 0 || slices.size == 0) return absl::OkStatus();
    CARILLON_ASSIGN_OR_RETURN(Tensor * value,
                              lock.Writable(*variable, context.services().allocator));
    const auto scatter = [&]<typename T>() {
      T* target = static_cast<T*>(value->mutable_raw_data());
      const T* source = static_cast<const T*>(updates.raw_data());
      for (int64_t i = 0; i < slices.count; ++i) {
        const int64_t place = places.data<int64_t>()[i];
        if (place < 0) continue;
        CombineSlice<combine>(target + place * slices.size, source + i * slices.size, slices.size);
      }
    };
    if constexpr (combine == Combine::kUpdate) {
      DispatchBySize(value->dtype(), scatter);
    } else {
      DispatchNumber(value->dtype(), scatter);
    }
    return absl::OkStatus();
  }

 private:
  // The number of each addressed slice; -1 where an index is out of range and that is ignored.
  StatusOr<Tensor> Places(KernelContext& context, const Shape& shape, const Tensor& indices,
                          const Slices& slices) const {
    CARILLON_ASSIGN_OR_RETURN(Tensor places,
                              context.AllocateTemporary(DType::kInt64, Shape{slices.count}));
    for (int64_t i = 0; i < slices.count; ++i) {
      const int64_t* index = indices.data<int64_t>() + i * slices.depth;
      int64_t place = 0;
      for (int d = 0; d < slices.depth && place >= 0; ++d) {
        const bool inside = index[d] >= 0 && index[d] < shape.dim(d);
        place = inside ? place * shape.dim(d) + index[d] : -1;
      }
      if (place < 0 && !ignore_bad_) {
        std::string text;
        for (int d = 0; d < slices.depth; ++d) StrAppend(&text, d == 0 ? "" : ", ", index[d]);
        return InvalidArgument("indices[", i, "] = [", text, "] does not index into shape ",
                               shape.ToString());
      }
      places.mutable_data<int64_t>()[i] = place;
    }
    return places;
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
