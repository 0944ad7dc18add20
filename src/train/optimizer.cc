#include "carillon/optimizer.h"

#include <algorithm>

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/ops/control_flow.h"
#include "train/variable_kind.h"

namespace carillon {
namespace {

constexpr char kUpdateOps[] = "update_ops";

void CheckPairs(const std::vector<GradientAndVariable>& pairs) {
  if (std::ranges::all_of(pairs, [](const auto& pair) { return pair.gradient.empty(); })) {
    std::string names;
    for (const GradientAndVariable& pair : pairs)
      StrAppend(&names, names.empty() ? "'" : ", '", pair.variable.name(), "'");
    Throw(InvalidArgument(
        "no variable has a gradient (", names.empty() ? "there are no variables" : names,
        "): check that the loss depends on trainable variables through ops that have gradients"));
  }
}

}  // namespace

Operation Optimizer::Minimize(const Output& loss, const std::optional<Variable>& global_step,
                              const MinimizeOptions& options) {
  const std::vector<GradientAndVariable> gradients = ComputeGradients(loss, options.variables);
  std::vector<Operation> also;
  if (options.update_ops) {
    for (const Output& update : loss.graph().Collection(kUpdateOps)) also.push_back(update.op());
  }
  return ApplyGradients(gradients, global_step, also, options.name);
}

std::vector<GradientAndVariable> Optimizer::ComputeGradients(
    const Output& loss, const std::vector<Variable>& variables) {
  if (!loss.valid()) Throw(InvalidArgument("the loss refers to nothing"));
  if (!IsFloating(loss.dtype())) {
    Throw(InvalidArgument("the loss '", loss.name(), "' is ", DTypeName(loss.dtype()),
                          ": only floating-point values have gradients"));
  }
  const std::vector<Variable> trained =
      variables.empty() ? TrainableVariables(loss.graph()) : variables;
  std::vector<Output> handles;
  for (const Variable& variable : trained) handles.push_back(variable.handle());
  const std::vector<Gradient> gradients = Gradients({loss}, handles);
  std::vector<GradientAndVariable> pairs;
  for (size_t i = 0; i < trained.size(); ++i) pairs.push_back({gradients[i], trained[i]});
  return pairs;
}

Operation Optimizer::ApplyGradients(const std::vector<GradientAndVariable>& gradients,
                                    const std::optional<Variable>& global_step,
                                    const std::vector<Operation>& also, const std::string& name) {
  CheckPairs(gradients);
  std::vector<Variable> variables;
  for (const GradientAndVariable& pair : gradients) {
    if (!pair.gradient.empty()) variables.push_back(pair.variable);
  }
  Graph& graph = variables.front().graph();
  {
    // Initialisers must not wait for a batch.
    const ControlDependencies none(graph, nullptr);
    rule_->CreateSlots(variables);
  }

  const std::string& op_name = name.empty() ? name_ : name;
  std::vector<Operation> updates;
  Operation all_done;
  {
    const NameScope scope(graph, op_name);
    rule_->Prepare(graph);
    for (const auto& [gradient, variable] : gradients) {
      if (gradient.empty()) continue;
      const NameScope update(graph, StrCat("update_", variable.name()));
      const ColocateWith placed(graph, variable.handle().op());
      updates.push_back(gradient.is_slices() ? rule_->ApplySlices(gradient.slices(), variable)
                                             : rule_->ApplyDense(gradient.tensor(), variable));
    }
    {
      const ControlDependencies after(graph, updates);
      const std::vector<Operation> last = rule_->Finish();
      updates.insert(updates.end(), last.begin(), last.end());
    }
    updates.insert(updates.end(), also.begin(), also.end());
    if (global_step.has_value()) all_done = Group(graph, updates, "update");
  }
  if (!global_step.has_value()) return Group(graph, updates, op_name);
  const ColocateWith placed(graph, global_step->handle().op());
  const ControlDependencies after(graph, {all_done});
  return OpBuilder(IsResource(*global_step) ? "AssignAddVariableOp" : "AssignAdd")
      .Name(op_name)
      .Arg(global_step->handle())
      .Arg(Tensor::Scalar<int64_t>(1))
      .Build();
}

}  // namespace carillon
