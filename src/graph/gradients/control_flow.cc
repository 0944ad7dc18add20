// Gradients of conditionals: Switch and Merge swap roles. Loops are differentiated as a whole, see
// graph/loop_gradient.h; here only appear the parts of a loop that is still being built.
#include "carillon/ops/control_flow.h"

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/frames.h"
#include "graph/gradient.h"

namespace carillon {
namespace {

[[noreturn]] void ThrowOpenLoop(const GradContext& c) {
  Throw(Unimplemented("node '", c.op().name(),
                      "' carries a variable of a loop that is being built: inside the body only "
                      "gradients of what the iteration itself computes can be taken"));
}

void SwitchGradient(GradContext& c) {
  if (c.input(1).op().type() == "LoopCond") ThrowOpenLoop(c);
  // In the branch that does not use the value its gradient is zero, alive when that branch is.
  std::vector<Output> branches;
  for (int i = 0; i < 2; ++i) branches.push_back(c.grad(i));
  c.set(0, Merge(branches).output);
}

void MergeGradient(GradContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (IsEnter(*c.input(i).node())) ThrowOpenLoop(c);
  }
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Output arrived = OpBuilder("Equal").Arg(c.output(1)).Arg(i);
    c.set(i, Switch(c.grad(), arrived).if_true);
  }
}

void EnterGradient(GradContext& c) {
  if (!IsConstantEnter(*c.op().node())) ThrowOpenLoop(c);
  c.set(0, c.raw_grad(0));
}

void PrintGradient(GradContext& c) { c.set(0, c.raw_grad(0)); }

}  // namespace

void AddControlFlowGradients(GradTable& grads) {
  grads.Add("Switch", SwitchGradient);
  grads.Add("RefSwitch", SwitchGradient);
  grads.Add("Merge", MergeGradient);
  grads.Add("RefMerge", MergeGradient);
  grads.Add("Enter", EnterGradient);
  grads.Add("RefEnter", EnterGradient);
  grads.Add("Print", PrintGradient);
  grads.AddNone({"StringFormat"});
}

}  // namespace carillon
