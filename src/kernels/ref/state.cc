// Kernels that make, read and assign variables.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "base/parallel.h"
#include "kernels/families.h"
#include "kernels/ref/arithmetic.h"
#include "kernels/ref/state_kernels.h"
#include "tensor/dispatch.h"
#include "tensor/memory_charge.h"

namespace carillon {

StatusOr<std::shared_ptr<VariableResource>> VariableInput(const KernelContext& context, int i,
                                                          DType dtype) {
  auto variable = context.Resource<VariableResource>(i);
  if (variable.ok() && (*variable)->dtype() != dtype) {
    return InvalidArgument("variable ", (*variable)->name(), " holds ",
                           DTypeName((*variable)->dtype()), ", not ", DTypeName(dtype));
  }
  return variable;
}

StatusOr<Tensor> IndicesAsInt64(KernelContext& context, const Tensor& indices) {
  if (indices.dtype() == DType::kInt64) return indices;
  CARILLON_ASSIGN_OR_RETURN(Tensor wide, context.AllocateTemporary(DType::kInt64, indices.shape()));
  std::copy_n(indices.data<int32_t>(), indices.num_elements(), wide.mutable_data<int64_t>());
  return wide;
}

namespace {

constexpr int64_t kGrain = 16384;  // elements worth a thread

StatusOr<std::shared_ptr<VariableResource>> MakeVariable(DType dtype, const std::string& name,
                                                         Allocator* allocator) {
  return MakeOnAccount(allocator, name, [&]() -> StatusOr<std::shared_ptr<VariableResource>> {
    return std::make_shared<VariableResource>(dtype, name);
  });
}

// Variable, VariableV2, VarHandleOp: a handle to the variable of that name in the resource store.
class VariableKernel final : public Kernel {
 public:
  explicit VariableKernel(const KernelRequest& request)
      : dtype_(request.attr<DType>("dtype")),
        container_(request.attr<std::string>("container")),
        name_(request.attr<std::string>("shared_name").empty()
                  ? request.node.name()
                  : request.attr<std::string>("shared_name")) {}

  Status Run(KernelContext& context) override {
    ResourceStore& store = *context.services().resources;
    std::lock_guard lock(mutex_);
    const uint64_t generation = store.generation();
    if (!handle_.has_value() || &store != store_ || generation != generation_) {
      CARILLON_ASSIGN_OR_RETURN(handle_, LookUp(store, context.services().allocator));
      store_ = &store;
      generation_ = generation;
    }
    context.set_output(0, handle_);
    return absl::OkStatus();
  }

 private:
  StatusOr<Tensor> LookUp(ResourceStore& store, Allocator* allocator) const {
    CARILLON_ASSIGN_OR_RETURN(
        auto variable, FindOrMakeResource<VariableResource>(
                           store, container_, name_, [&]() -> StatusOr<std::shared_ptr<Resource>> {
                             return MakeVariable(dtype_, name_, allocator);
                           }));
    if (variable->dtype() != dtype_) {
      return InvalidArgument("variable ", name_, " exists and holds ", DTypeName(variable->dtype()),
                             ", not ", DTypeName(dtype_));
    }
    return Tensor::Scalar(ResourceHandle{std::move(variable), container_, name_});
  }

  const DType dtype_;
  const std::string container_, name_;
  std::mutex mutex_;  // guards all below
  Tensor handle_;
  const ResourceStore* store_ = nullptr;
  uint64_t generation_ = 0;  // of the store when handle_ was looked up
};

// A variable that nobody finds by name: it lives in the handles to it.
class TemporaryVariableKernel final : public Kernel {
 public:
  explicit TemporaryVariableKernel(const KernelRequest& request)
      : dtype_(request.attr<DType>("dtype")),
        name_(request.attr<std::string>("var_name").empty()
                  ? request.node.name()
                  : request.attr<std::string>("var_name")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(auto variable,
                              MakeVariable(dtype_, name_, context.services().allocator));
    context.set_output(0, Tensor::Scalar(ResourceHandle{std::move(variable), "temporary", name_}));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
  const std::string name_;
};

class DestroyTemporaryVariableKernel final : public Kernel {
 public:
  explicit DestroyTemporaryVariableKernel(const KernelRequest& request)
      : name_(request.attr<std::string>("var_name")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(auto variable, context.Resource<VariableResource>(0));
    if (variable->name() != name_) {
      return NotFound("the temporary variable given is called ", variable->name(), ", not ", name_);
    }
    VariableLock lock({variable.get()});
    CARILLON_ASSIGN_OR_RETURN(const Tensor* value, lock.Readable(*variable));
    context.set_output(0, *value);
    lock.Set(*variable, Tensor());
    return absl::OkStatus();
  }

 private:
  const std::string name_;
};

// ReadVariableOp, _ReadRef.
Status RunRead(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto variable, VariableInput(context, 0, context.output_dtype(0)));
  CARILLON_ASSIGN_OR_RETURN(Tensor value, variable->Read());
  context.set_output(0, std::move(value));
  return absl::OkStatus();
}

Status RunIsInitialized(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto variable, context.Resource<VariableResource>(0));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, Shape{}));
  out->mutable_data<bool>()[0] = variable->IsInitialized();
  return absl::OkStatus();
}

// What was read of a variable never changes with it, and takes a copy only when it is written to.
Status RunDisableCopyOnRead(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto variable, context.Resource<VariableResource>(0));
  return variable->Read().status();
}

Status RunRefIdentity(KernelContext& context) {
  PassReference(context);
  return absl::OkStatus();
}

// Gives `variable` the value of input i with as little copying as can be: by moving memory that
// nobody else holds, else into the memory that the variable has, else into new memory.
void Store(KernelContext& context, int i, const VariableLock& lock, VariableResource& variable) {
  const Tensor& value = context.input(i);
  Tensor& old = lock.Value(variable);
  const bool movable = !value.IsTransient() && value.IsUnshared();
  if (movable || !IsPlainData(value.dtype()) || !old.IsUnshared() || old.shape() != value.shape()) {
    return lock.Set(variable, context.Take(i));
  }
  const auto* source = static_cast<const char*>(value.raw_data());
  auto* target = static_cast<char*>(old.mutable_raw_data());
  ParallelFor(static_cast<int64_t>(value.num_bytes()), 1 << 18, [&](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
}

// Assign, AssignVariableOp.
class AssignKernel final : public Kernel {
 public:
  explicit AssignKernel(const KernelRequest& request)
      : validate_shape_(request.attr<bool>("validate_shape")), declared_(request.inputs[0].shape) {
    traits_ = UpdateTraits(request);
    if (request.node.num_outputs() == 0) declared_ = PartialShape();  // a handle's own shape is []
  }

  Status Run(KernelContext& context) override {
    const Tensor& value = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(auto variable, VariableInput(context, 0, value.dtype()));
    VariableLock lock({variable.get()});
    if (validate_shape_) {
      const Tensor& old = lock.Value(*variable);
      if (!declared_.IsCompatibleWith(value.shape()) ||
          (old.has_value() && old.shape() != value.shape())) {
        return InvalidArgument("variable ", variable->name(), " of shape ",
                               old.has_value() ? old.shape().ToString() : declared_.ToString(),
                               " cannot be assigned a value of shape ", value.shape().ToString());
      }
    }
    Store(context, 1, lock, *variable);
    PassReference(context);
    return absl::OkStatus();
  }

 private:
  const bool validate_shape_;
  PartialShape declared_;
};

// AssignAdd, AssignSub and their resource forms.
template <bool subtract>
Status RunAssignUpdate(KernelContext& context) {
  const Tensor& value = context.input(1);
  CARILLON_ASSIGN_OR_RETURN(auto variable, VariableInput(context, 0, value.dtype()));
  VariableLock lock({variable.get()});
  CARILLON_ASSIGN_OR_RETURN(const Tensor* old, lock.Readable(*variable));
  if (old->shape() != value.shape()) {
    return InvalidArgument("variable ", variable->name(), " of shape ", old->shape().ToString(),
                           " cannot be updated with a value of shape ", value.shape().ToString(),
                           ": the shapes must be equal");
  }
  CARILLON_ASSIGN_OR_RETURN(const VariableLock::Rewrite rewrite,
                            lock.Rewritable(*variable, context.services().allocator));
  DispatchNumber(value.dtype(), [&]<typename T>() {
    const T* from = rewrite.from.data<T>();
    const T* change = value.data<T>();
    T* to = rewrite.to->mutable_data<T>();
    ParallelFor(value.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = subtract ? WrapSub(from[i], change[i]) : WrapAdd(from[i], change[i]);
      }
    });
  });
  PassReference(context);
  return absl::OkStatus();
}

template <bool subtract>
KernelResult MakeAssignUpdate(const KernelRequest& request) {
  const DType dtype = request.input_dtype(1);
  if (!IsFloating(dtype) && !IsInteger(dtype)) {
    return Unimplemented("arithmetic on ", DTypeName(dtype));
  }
  return MakeFunctionKernel(RunAssignUpdate<subtract>, UpdateTraits(request));
}

// CountUpTo, ResourceCountUpTo.
class CountUpToKernel final : public Kernel {
 public:
  explicit CountUpToKernel(const KernelRequest& request) : limit_(request.attr<int64_t>("limit")) {}

  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(auto variable, VariableInput(context, 0, context.output_dtype(0)));
    VariableLock lock({variable.get()});
    CARILLON_ASSIGN_OR_RETURN(const Tensor* old, lock.Readable(*variable));
    if (old->rank() != 0) {
      return InvalidArgument("variable ", variable->name(), " of shape ", old->shape().ToString(),
                             " is no counter: it must be a scalar");
    }
    Status status;
    DispatchAmong<int32_t, int64_t>(old->dtype(), [&]<typename T>() {
      status = Count<T>(context, lock, *variable, old->data<T>()[0]);
    });
    return status;
  }

 private:
  template <typename T>
  Status Count(KernelContext& context, const VariableLock& lock, VariableResource& variable,
               T now) const {
    if (now >= limit_) return OutOfRange("Reached limit of ", limit_);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, Shape{}));
    CARILLON_ASSIGN_OR_RETURN(Tensor * value,
                              lock.Writable(variable, context.services().allocator));
    out->mutable_data<T>()[0] = now;
    value->mutable_data<T>()[0] = WrapAdd(now, T{1});
    return absl::OkStatus();
  }

  const int64_t limit_;
};

Status RunVariableShape(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto variable, context.Resource<VariableResource>(0));
  CARILLON_ASSIGN_OR_RETURN(const Tensor value, variable->Read());
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, Shape{value.rank()}));
  Status status;
  DispatchAmong<int32_t, int64_t>(out->dtype(), [&]<typename T>() {
    for (int i = 0; i < value.rank(); ++i) {
      if (!std::in_range<T>(value.dim(i))) {
        status = InvalidArgument("dimension ", i, " of variable ", variable->name(), " is ",
                                 value.dim(i), ", which does not fit out_type");
      }
      out->mutable_data<T>()[i] = static_cast<T>(value.dim(i));
    }
  });
  return status;
}

class DestroyResourceKernel final : public Kernel {
 public:
  explicit DestroyResourceKernel(const KernelRequest& request)
      : ignore_missing_(request.attr<bool>("ignore_lookup_error")) {}
  Status Run(KernelContext& context) override {
    const Tensor& handle = context.input(0);
    if (handle.num_elements() != 1) {
      return InvalidArgument("one handle is needed, not ", handle.ToString());
    }
    const auto& element = handle.data<ResourceHandle>()[0];
    Status status = context.services().resources->Remove(element.container, element.name);
    if (ignore_missing_ && absl::IsNotFound(status)) return absl::OkStatus();
    return status;
  }

 private:
  const bool ignore_missing_;
};

KernelResult MakeRefIdentity(const KernelRequest& request) {
  return MakeFunctionKernel(RunRefIdentity, UpdateTraits(request));
}

}  // namespace

void AddStateReferenceKernels(KernelTable& table) {
  table.Add({
      {"Variable", "ref", FromClass<VariableKernel>},
      {"VariableV2", "ref", FromClass<VariableKernel>},
      {"VarHandleOp", "ref", FromClass<VariableKernel>},
      {"TemporaryVariable", "ref", FromClass<TemporaryVariableKernel>},
      {"DestroyTemporaryVariable", "ref", FromClass<DestroyTemporaryVariableKernel>},
      {"_ReadRef", "ref", FromFunction<RunRead>},
      {"ReadVariableOp", "ref", FromFunction<RunRead>},
      {"IsVariableInitialized", "ref", FromFunction<RunIsInitialized>},
      {"VarIsInitializedOp", "ref", FromFunction<RunIsInitialized>},
      {"DisableCopyOnRead", "ref", FromFunction<RunDisableCopyOnRead>},
      {"RefIdentity", "ref", MakeRefIdentity},
      {"Assign", "ref", FromClass<AssignKernel>},
      {"AssignVariableOp", "ref", FromClass<AssignKernel>},
      {"AssignAdd", "ref", MakeAssignUpdate<false>},
      {"AssignAddVariableOp", "ref", MakeAssignUpdate<false>},
      {"AssignSub", "ref", MakeAssignUpdate<true>},
      {"AssignSubVariableOp", "ref", MakeAssignUpdate<true>},
      {"CountUpTo", "ref", FromClass<CountUpToKernel>},
      {"ResourceCountUpTo", "ref", FromClass<CountUpToKernel>},
      {"VariableShape", "ref", FromFunction<RunVariableShape>},
      {"DestroyResourceOp", "ref", FromClass<DestroyResourceKernel>},
  });
  AddStateScatterKernels(table);
  AddStateScatterNdKernels(table);
  AddStateGatherKernels(table);
  AddStateStackKernels(table);
}

}  // namespace carillon
