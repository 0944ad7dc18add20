// ScatterUpdate, ScatterAdd, … on rows of a variable, by reference and by handle.
#include <algorithm>
#include <string_view>

#include "base/parallel.h"
#include "base/work_scope.h"
#include "kernels/ref/arithmetic.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/state_kernels.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

enum class Combine { kUpdate, kAdd, kSub, kMul, kDiv, kMin, kMax };

template <Combine combine, typename T>
T Combined(const T& old, const T& update) {
  if constexpr (combine == Combine::kUpdate) return update;
  if constexpr (combine == Combine::kAdd) return WrapAdd(old, update);
  if constexpr (combine == Combine::kSub) return WrapSub(old, update);
  if constexpr (combine == Combine::kMul) return WrapMul(old, update);
  if constexpr (combine == Combine::kMin) return MinOf<Compute<T>>(old, update);
  if constexpr (combine == Combine::kMax) return MaxOf<Compute<T>>(old, update);
  if constexpr (combine == Combine::kDiv) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      if (update == T{-1}) return WrapSub(T{0}, old);  // the least value has no negative
    }
    return static_cast<T>(old / update);
  }
}

// Rows of one place are combined in the order of the indices, on one thread: each thread walks all
// indices and takes its share of the places. With `may_stop` it ends early once nobody wants the
// result: the caller then has the values as they were.
template <Combine combine, typename T>
void ScatterRows(T* values, std::span<const int64_t> indices, const T* updates, bool one_update,
                 int64_t row, bool may_stop) {
  const auto work = static_cast<int64_t>(indices.size()) * row;
  const int64_t shares =
      std::is_trivially_copyable_v<T> ? std::clamp<int64_t>(work / 16384, 1, KernelThreads()) : 1;
  ForRanges<T>(shares, work, [&](int64_t begin, int64_t end) {
    constexpr int64_t kLook = 1 << 16;  // elements between two looks whether to go on
    int64_t since_look = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (const int64_t share = indices[i] % shares; share < begin || share >= end) continue;
      if (since_look += row; since_look >= kLook) {
        if (may_stop && WorkIsCancelled()) return;
        since_look = 0;
      }
      T* target = values + indices[i] * row;
      if (one_update) {
        for (int64_t j = 0; j < row; ++j) target[j] = Combined<combine>(target[j], updates[0]);
      } else {
        const T* source = updates + static_cast<int64_t>(i) * row;
        for (int64_t j = 0; j < row; ++j) target[j] = Combined<combine>(target[j], source[j]);
      }
    }
  });
}

// Updates of fewer elements are done in no time.
constexpr int64_t kMuchWork = 1 << 20;

// The updates are one row for each index, or a single value for all.
bool UpdatesFit(const Shape& variable, const Shape& indices, const Shape& updates) {
  if (updates.rank() == 0) return true;
  if (updates.rank() != indices.rank() + variable.rank() - 1) return false;
  return std::ranges::equal(indices.dims(), updates.dims().first(indices.dims().size())) &&
         std::ranges::equal(variable.dims().subspan(1),
                            updates.dims().subspan(indices.dims().size()));
}

Status CheckArguments(const VariableResource& variable, const Tensor& value, const Tensor& indices,
                      const Tensor& updates) {
  if (value.rank() < 1) {
    return InvalidArgument("variable ", variable.name(), " is a scalar: it has no rows to update");
  }
  if (!UpdatesFit(value.shape(), indices.shape(), updates.shape())) {
    return InvalidArgument("updates of shape ", updates.shape().ToString(), " at indices of shape ",
                           indices.shape().ToString(), " do not fit variable ", variable.name(),
                           " of shape ", value.shape().ToString());
  }
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int64_t index = indices.data<int64_t>()[i];
    if (index < 0 || index >= value.dim(0)) {
      return IndexError("indices", indices.shape(), i, index, value.dim(0));
    }
  }
  return absl::OkStatus();
}

bool HasZero(const Tensor& tensor) {
  bool zero = false;
  DispatchInteger(tensor.dtype(), [&]<typename T>() {
    zero = std::ranges::any_of(tensor.values<T>(), [](T x) { return x == T{0}; });
  });
  return zero;
}

template <Combine combine>
Status RunScatter(KernelContext& context) {
  const Tensor& updates = context.input(2);
  CARILLON_ASSIGN_OR_RETURN(auto variable, VariableInput(context, 0, updates.dtype()));
  CARILLON_ASSIGN_OR_RETURN(const Tensor indices, IndicesAsInt64(context, context.input(1)));
  if (combine == Combine::kDiv && HasZero(updates)) {
    return InvalidArgument("variable ", variable->name(), ": integer division by zero");
  }
  VariableLock lock({variable.get()});
  CARILLON_ASSIGN_OR_RETURN(const Tensor* old, lock.Readable(*variable));
  CARILLON_RETURN_IF_ERROR(CheckArguments(*variable, *old, indices, updates));
  PassReference(context);
  if (indices.num_elements() == 0 || old->num_elements() == 0) return absl::OkStatus();
  const int64_t row = old->num_elements() / old->dim(0);
  // Rows take no longer than it took to send them; one value for all makes much work of a few
  // indices. Where that is more than a pass over the variable it works on a copy: only then can it
  // be ended and leave what others see alone.
  const bool one_update = updates.rank() == 0;
  const bool may_stop = one_update && indices.num_elements() > old->dim(0) &&
                        row >= kMuchWork / indices.num_elements();
  Tensor before;
  if (may_stop) before = *old;
  CARILLON_ASSIGN_OR_RETURN(Tensor * value, lock.Writable(*variable, context.services().allocator));
  const auto scatter = [&]<typename T>() {
    ScatterRows<combine>(static_cast<T*>(value->mutable_raw_data()), indices.values<int64_t>(),
                         static_cast<const T*>(updates.raw_data()), one_update, row, may_stop);
  };
  if constexpr (combine == Combine::kUpdate) {
    DispatchBySize(value->dtype(), scatter);
  } else {
    DispatchNumber(value->dtype(), scatter);
  }
  if (const Status wanted = CheckWanted(); may_stop && !wanted.ok()) {
    lock.Set(*variable, std::move(before));
    return wanted;
  }
  return lock.CountText();
}

template <Combine combine>
KernelResult MakeScatter(const KernelRequest& request) {
  const DType dtype = request.input_dtype(2);
  if (combine != Combine::kUpdate && !IsFloating(dtype) && !IsInteger(dtype)) {
    return Unimplemented("arithmetic on ", DTypeName(dtype));
  }
  return MakeFunctionKernel(RunScatter<combine>, UpdateTraits(request));
}

}  // namespace

void AddStateScatterKernels(KernelTable& table) {
  using enum Combine;
  table.Add({
      {"ScatterUpdate", "ref", MakeScatter<kUpdate>},
      {"ScatterAdd", "ref", MakeScatter<kAdd>},
      {"ScatterSub", "ref", MakeScatter<kSub>},
      {"ScatterMul", "ref", MakeScatter<kMul>},
      {"ScatterDiv", "ref", MakeScatter<kDiv>},
      {"ScatterMin", "ref", MakeScatter<kMin>},
      {"ScatterMax", "ref", MakeScatter<kMax>},
      {"ResourceScatterUpdate", "ref", MakeScatter<kUpdate>},
      {"ResourceScatterAdd", "ref", MakeScatter<kAdd>},
      {"ResourceScatterSub", "ref", MakeScatter<kSub>},
      {"ResourceScatterMul", "ref", MakeScatter<kMul>},
      {"ResourceScatterDiv", "ref", MakeScatter<kDiv>},
      {"ResourceScatterMin", "ref", MakeScatter<kMin>},
      {"ResourceScatterMax", "ref", MakeScatter<kMax>},
  });
}

}  // namespace carillon
