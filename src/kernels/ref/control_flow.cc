// Conditionals and loops. The kernels only pass values on: which frame and iteration a value
// belongs to, and what is dead, is the executor's business. The Ref forms pass on the reference
// itself.
#include "kernels/ref/control_flow.h"

#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {
namespace {

Status RunNothing(KernelContext&) { return absl::OkStatus(); }

Status RunForward(KernelContext& context) {
  context.set_output(0, context.input(0));
  return absl::OkStatus();
}

Status RunSwitch(KernelContext& context) {
  const Tensor& pred = context.input(1);
  if (pred.rank() != 0) {
    return InvalidArgument("pred should be a scalar but has shape ", pred.shape().ToString());
  }
  context.set_output(pred.scalar<bool>() ? 1 : 0, context.input(0));
  return absl::OkStatus();
}

Status RunMerge(KernelContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    context.set_output(0, context.input(i));
    CARILLON_ASSIGN_OR_RETURN(Tensor * index, context.AllocateOutput(1, Shape{}));
    *index->mutable_data<int32_t>() = i;
    return absl::OkStatus();
  }
  return Internal("a merge ran although no input arrived");
}

KernelResult MakeForward(const KernelRequest&) {
  return MakeFunctionKernel(RunForward, {.aliases = {{0, 0}}});
}

KernelResult MakeSwitch(const KernelRequest&) {
  return MakeFunctionKernel(RunSwitch, {.aliases = {{0, 0}, {0, 1}}});
}

KernelResult MakeMerge(const KernelRequest& request) {
  KernelTraits traits;
  for (int i = 0; i < request.node.num_inputs(); ++i) traits.aliases.push_back({i, 0});
  return MakeFunctionKernel(RunMerge, std::move(traits));
}

// TensorFlow's Abort ends the process. A library must not: the step fails instead.
class AbortKernel final : public Kernel {
 public:
  explicit AbortKernel(const KernelRequest& request)
      : message_(request.attr<std::string>("error_msg")) {}
  Status Run(KernelContext&) override {
    return absl::AbortedError(message_.empty() ? "the graph asked to abort" : message_);
  }

 private:
  const std::string message_;
};

}  // namespace

void AddControlFlowReferenceKernels(KernelTable& table) {
  table.Add({
      {"NoOp", "ref", FromFunction<RunNothing>},
      {"ControlTrigger", "ref", FromFunction<RunNothing>},
      {"Abort", "ref", FromClass<AbortKernel>},
      {"Switch", "ref", MakeSwitch},
      {"RefSwitch", "ref", MakeSwitch},
      {"Merge", "ref", MakeMerge},
      {"RefMerge", "ref", MakeMerge},
      {"Enter", "ref", MakeForward},
      {"RefEnter", "ref", MakeForward},
      {"Exit", "ref", MakeForward},
      {"RefExit", "ref", MakeForward},
      {"NextIteration", "ref", MakeForward},
      {"RefNextIteration", "ref", MakeForward},
      {"LoopCond", "ref", MakeForward},
  });
  AddPrintKernels(table);
}

}  // namespace carillon
