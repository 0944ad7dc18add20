// Kernels around calls of functions. The calls themselves are gone when kernels are chosen: see
// ExpandFunctions.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/families.h"
#include "kernels/kernel.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// What a branch gives where only the other one has a value: nobody looks at it.
class FakeParamKernel final : public Kernel {
 public:
  explicit FakeParamKernel(const KernelRequest& request) {
    // Sizes that are not known count as 0.
    PartialShape shape = request.attr<PartialShape>("shape");
    for (int i = 0; i < shape.rank(); ++i) shape.set_dim(i, std::max<int64_t>(shape.dim(i), 0));
    if (shape.has_rank()) known_ = shape.AsShape(&shape_);
  }
  Status Run(KernelContext& context) override {
    if (!known_ && shape_.rank() > 0) return InvalidArgument("the shape has too many elements");
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape_));
    const DType dtype = out->dtype();
    if (dtype != DType::kString && dtype != DType::kResource && dtype != DType::kVariant)
      std::memset(out->mutable_raw_data(), 0, out->num_bytes());
    return absl::OkStatus();
  }

 private:
  Shape shape_;
  bool known_ = false;
};

// Which of the device types named is this one; their number when none is.
class DeviceIndexKernel final : public Kernel {
 public:
  explicit DeviceIndexKernel(const KernelRequest& request) {
    const auto& names = request.attr<std::vector<std::string>>("device_names");
    index_ = static_cast<int32_t>(std::ranges::find(names, "CPU") - names.begin());
  }
  Status Run(KernelContext& context) override {
    context.set_output(0, Tensor::Scalar(index_));
    return absl::OkStatus();
  }

 private:
  int32_t index_;
};

// A scalar is true unless it is zero or the empty string, another tensor unless it has no elements.
Status RunToBool(KernelContext& context) {
  const Tensor& value = context.input(0);
  bool truth = value.num_elements() > 0;
  if (value.rank() == 0) {
    const auto test = [&]<typename T>() { truth = value.data<T>()[0] != 0; };
    if (value.dtype() == DType::kString) {
      truth = !value.data<std::string>()[0].empty();
    } else if (value.dtype() == DType::kBool) {
      truth = value.data<bool>()[0];
    } else if (!(DispatchAmong<float, double>(value.dtype(), test) ||
                 DispatchInteger(value.dtype(), test))) {
      return InvalidArgument("a ", DTypeName(value.dtype()), " is neither true nor false");
    }
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, Shape{}));
  *out->mutable_data<bool>() = truth;
  return absl::OkStatus();
}

Status RunForCount(KernelContext& context) {
  for (int i = 0; i < 3; ++i) {
    if (context.input(i).rank() != 0)
      return InvalidArgument("start, limit and delta should be scalars but one has shape ",
                             context.input(i).shape().ToString());
  }
  const int64_t start = context.input(0).data<int32_t>()[0];
  const int64_t limit = context.input(1).data<int32_t>()[0];
  const int64_t delta = context.input(2).data<int32_t>()[0];
  if (delta == 0) return InvalidArgument("delta is 0: the loop would not end");
  if ((delta > 0 && start > limit) || (delta < 0 && start < limit))
    return InvalidArgument("with delta ", delta, " the loop does not lead from ", start, " to ",
                           limit);
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, Shape{}));
  const int64_t count = (std::abs(limit - start) + std::abs(delta) - 1) / std::abs(delta);
  *out->mutable_data<int32_t>() = static_cast<int32_t>(std::min<int64_t>(count, INT32_MAX));
  return absl::OkStatus();
}

}  // namespace

void AddFunctionReferenceKernels(KernelTable& table) {
  table.Add({
      {"FakeParam", "ref", FromClass<FakeParamKernel>},
      {"DeviceIndex", "ref", FromClass<DeviceIndexKernel>},
      {"ToBool", "ref", FromFunction<RunToBool>},
      {"_ForCount", "ref", FromFunction<RunForCount>},
  });
}

}  // namespace carillon
