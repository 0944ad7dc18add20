// Stacks of tensors: what the gradient of a while loop keeps of each iteration.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/named_resource.h"
#include "kernels/ref/state_kernels.h"

namespace carillon {
namespace {

// Lives in the handles to it, so it goes with the step that made it. Its list counts against the
// limit of `allocator`.
class Stack final : public Resource {
 public:
  Stack(std::string name, DType dtype, int64_t max_size, Allocator* allocator)
      : name_(std::move(name)), dtype_(dtype), max_size_(max_size), charge_(allocator) {}

  Status Push(Tensor value) {
    std::lock_guard lock(mutex_);
    CARILLON_RETURN_IF_ERROR(CheckOpen());
    if (value.dtype() != dtype_) {
      return InvalidArgument("stack ", name_, " holds ", DTypeName(dtype_), ", not ",
                             DTypeName(value.dtype()));
    }
    if (max_size_ > 0 && static_cast<int64_t>(values_.size()) >= max_size_) {
      return InvalidArgument("stack ", name_, " is full: its max_size is ", max_size_);
    }
    CARILLON_RETURN_IF_ERROR(ReserveOnAccount(values_, values_.size() + 1, charge_));
    values_.push_back(std::move(value));
    return absl::OkStatus();
  }

  StatusOr<Tensor> Pop() {
    std::lock_guard lock(mutex_);
    CARILLON_RETURN_IF_ERROR(CheckOpen());
    if (values_.empty()) return InvalidArgument("stack ", name_, " is empty: nothing to pop");
    Tensor value = std::move(values_.back());
    values_.pop_back();
    return value;
  }

  void Close() {
    std::lock_guard lock(mutex_);
    std::vector<Tensor>().swap(values_);  // and their room
    charge_.Remove(charge_.bytes());
    closed_ = true;
  }

  std::string DebugString() const override { return StrCat("stack of ", DTypeName(dtype_)); }

 private:
  Status CheckOpen() const {
    return closed_ ? InvalidArgument("stack ", name_, " has been closed") : absl::OkStatus();
  }

  const std::string name_;
  const DType dtype_;
  const int64_t max_size_;  // no limit when not positive
  std::mutex mutex_;
  MemoryCharge charge_;
  std::vector<Tensor> values_;
  bool closed_ = false;
};

// Stack, StackV2. Only the latter has an input, the largest size.
class StackKernel final : public Kernel {
 public:
  explicit StackKernel(const KernelRequest& request)
      : dtype_(request.attr<DType>("elem_type")),
        name_(request.attr<std::string>("stack_name").empty()
                  ? request.node.name()
                  : request.attr<std::string>("stack_name")) {}

  Status Run(KernelContext& context) override {
    int64_t max_size = -1;
    if (context.num_inputs() > 0) {
      const Tensor& size = context.input(0);
      if (size.rank() != 0) {
        return InvalidArgument("max_size must be a scalar, not of shape ", size.shape().ToString());
      }
      max_size = size.data<int32_t>()[0];
    }
    Allocator* const allocator = context.services().allocator;
    CARILLON_ASSIGN_OR_RETURN(
        auto stack, MakeOnAccount(allocator, name_, [&]() -> StatusOr<std::shared_ptr<Stack>> {
          return std::make_shared<Stack>(name_, dtype_, max_size, allocator);
        }));
    context.set_output(0, Tensor::Scalar(ResourceHandle{std::move(stack), "stack", name_}));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
  const std::string name_;
};

Status RunPush(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto stack, context.Resource<Stack>(0));
  CARILLON_RETURN_IF_ERROR(stack->Push(context.Keep(1)));
  context.set_output(0, context.input(1));
  return absl::OkStatus();
}

KernelResult MakePush(const KernelRequest&) {
  KernelTraits traits;
  traits.aliases.push_back({1, 0});
  return MakeFunctionKernel(RunPush, std::move(traits));
}

Status RunPop(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto stack, context.Resource<Stack>(0));
  CARILLON_ASSIGN_OR_RETURN(Tensor value, stack->Pop());
  if (value.dtype() != context.output_dtype(0)) {
    return InvalidArgument("the stack holds ", DTypeName(value.dtype()), " but ",
                           DTypeName(context.output_dtype(0)), " is wanted");
  }
  context.set_output(0, std::move(value));
  return absl::OkStatus();
}

Status RunClose(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto stack, context.Resource<Stack>(0));
  stack->Close();
  return absl::OkStatus();
}

}  // namespace

void AddStateStackKernels(KernelTable& table) {
  table.Add({
      {"Stack", "ref", FromClass<StackKernel>},
      {"StackV2", "ref", FromClass<StackKernel>},
      {"StackPush", "ref", MakePush},
      {"StackPushV2", "ref", MakePush},
      {"StackPop", "ref", FromFunction<RunPop>},
      {"StackPopV2", "ref", FromFunction<RunPop>},
      {"StackClose", "ref", FromFunction<RunClose>},
      {"StackCloseV2", "ref", FromFunction<RunClose>},
  });
}

}  // namespace carillon
