// Kernels that hand on a value: constants, placeholders, identities, and checks on the way.
#include <atomic>
#include <cmath>

#include "base/parallel.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

class ConstKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const Tensor& value = request.attr<Tensor>("value");
    if (value.dtype() != request.attr<DType>("dtype")) {
      return InvalidArgument("attribute 'value' is a ", DTypeName(value.dtype()),
                             " tensor but 'dtype' says ", DTypeName(request.attr<DType>("dtype")));
    }
    return std::make_unique<ConstKernel>(value);
  }
  explicit ConstKernel(Tensor value) : value_(std::move(value)) {}
  Status Run(KernelContext& context) override {
    context.set_output(0, value_);
    return absl::OkStatus();
  }

 private:
  const Tensor value_;
};

class PlaceholderKernel final : public Kernel {
 public:
  explicit PlaceholderKernel(const KernelRequest& request)
      : error_(InvalidArgument("placeholder '", request.node.name(), "' of dtype ",
                               DTypeName(request.attr<DType>("dtype")), " and shape ",
                               request.attr<PartialShape>("shape").ToString(),
                               " is needed for this step: you must feed a value for it")) {}
  Status Run(KernelContext&) override { return error_; }

 private:
  const Status error_;
};

class IdentityNKernel final : public Kernel {
 public:
  explicit IdentityNKernel(const KernelRequest& request) {
    for (int i = 0; i < request.node.num_outputs(); ++i) traits_.aliases.push_back({i, i});
  }
  Status Run(KernelContext& context) override {
    for (int i = 0; i < context.num_outputs(); ++i) context.set_output(i, context.input(i));
    return absl::OkStatus();
  }
};

Status RunDeepCopy(KernelContext& context) {
  const Tensor& x = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.shape()));
  CopyElements(x.dtype(), x.raw_data(), y->mutable_raw_data(), x.num_elements());
  return absl::OkStatus();
}

class EnsureShapeKernel final : public Kernel {
 public:
  explicit EnsureShapeKernel(const KernelRequest& request)
      : wanted_(request.attr<PartialShape>("shape")) {
    traits_.aliases.push_back({0, 0});
  }
  Status Run(KernelContext& context) override {
    if (!wanted_.IsCompatibleWith(context.input(0).shape())) {
      return InvalidArgument("the input has shape ", context.input(0).shape().ToString(),
                             ", which does not fit the expected shape ", wanted_.ToString());
    }
    return RunIdentity(context);
  }

 private:
  const PartialShape wanted_;
};

class CheckNumericsKernel final : public Kernel {
 public:
  explicit CheckNumericsKernel(const KernelRequest& request)
      : message_(request.attr<std::string>("message")),
        tells_signs_(request.node.op() == "CheckNumericsV2") {
    traits_.aliases.push_back({0, 0});
  }

  Status Run(KernelContext& context) override {
    const Tensor& x = context.input(0);
    Status status;
    DispatchFloating(x.dtype(), [&]<typename T>() { status = Check(x.values<T>()); });
    CARILLON_RETURN_IF_ERROR(status);
    return RunIdentity(context);
  }

 private:
  template <typename T>
  Status Check(std::span<const T> values) const {
    std::atomic<bool> all_finite{true};
    ParallelFor(static_cast<int64_t>(values.size()), GrainFor(sizeof(T)),
                [&](int64_t begin, int64_t end) {
                  bool finite = true;
                  for (int64_t i = begin; i < end; ++i)
                    finite &= IsFiniteValue(values[static_cast<size_t>(i)]);
                  if (!finite) all_finite = false;
                });
    if (all_finite) return absl::OkStatus();
    bool nan = false, positive = false, negative = false;
    for (const T& element : values) {
      const double value = static_cast<double>(element);
      nan |= std::isnan(value);
      positive |= std::isinf(value) && value > 0;
      negative |= std::isinf(value) && value < 0;
    }
    std::vector<const char*> found;
    if (tells_signs_) {
      if (negative) found.push_back("-Inf");
      if (positive) found.push_back("+Inf");
    } else if (negative || positive) {
      found.push_back("Inf");
    }
    if (nan) found.push_back("NaN");
    std::string list = found[0];
    for (size_t i = 1; i < found.size(); ++i)
      StrAppend(&list, i + 1 == found.size() ? " and " : ", ", found[i]);
    return InvalidArgument(message_, " : Tensor had ", list, " values");
  }

  template <typename T>
  static bool IsFiniteValue(T value) {
    if constexpr (sizeof(T) == 2) {
      return std::isfinite(static_cast<float>(value));
    } else {
      return std::isfinite(value);
    }
  }

  const std::string message_;
  const bool tells_signs_;
};

}  // namespace

void AddArrayValueKernels(KernelTable& table) {
  table.Add({
      {"Const", "ref", FromClass<ConstKernel>},
      {"Placeholder", "ref", FromClass<PlaceholderKernel>},
      {"PlaceholderV2", "ref", FromClass<PlaceholderKernel>},
      {"PlaceholderWithDefault", "ref", FromAlias<RunIdentity>},
      {"Identity", "ref", FromAlias<RunIdentity>},
      {"IdentityN", "ref", FromClass<IdentityNKernel>},
      {"Snapshot", "ref", FromAlias<RunIdentity>},
      {"DeepCopy", "ref", FromFunction<RunDeepCopy>},
      {"StopGradient", "ref", FromAlias<RunIdentity>},
      {"PreventGradient", "ref", FromAlias<RunIdentity>},
      {"EnsureShape", "ref", FromClass<EnsureShapeKernel>},
      {"CheckNumerics", "ref", FromClass<CheckNumericsKernel>},
      {"CheckNumericsV2", "ref", FromClass<CheckNumericsKernel>},
  });
}

}  // namespace carillon
