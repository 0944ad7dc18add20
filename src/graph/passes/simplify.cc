#include <algorithm>

#include "graph/frames.h"
#include "graph/passes/pass.h"
#include "graph/passes/rewiring.h"

namespace carillon {
namespace {

const PartialShape& ShapeOf(const Endpoint& value) { return value.node->output(value.index).shape; }

bool KeepsEverything(const Node& node) {
  const std::string& op = node.op();
  if (op == "Identity" || op == "StopGradient" || op == "PreventGradient" || op == "Snapshot" ||
      op == "DeepCopy")
    return true;
  if (op == "Reshape" || op == "EnsureShape" || op == "ExpandDims" || op == "Squeeze" ||
      op == "BroadcastTo") {
    // A shape that only the step knows may turn out not to fit.
    if (node.num_inputs() > 1 && node.input(1).node->op() != "Const") return false;
    return ShapeOf(node.input(0)).IsFullyKnown() && ShapeOf(node.input(0)) == node.output(0).shape;
  }
  if (op == "Sum" || op == "Mean" || op == "Max" || op == "Min" || op == "Prod" || op == "All" ||
      op == "Any") {
    const Endpoint& axes = node.input(1);
    return axes.node->op() == "Const" && axes.node->attr<Tensor>("value").num_elements() == 0;
  }
  if (op == "AddN") return node.num_inputs() == 1;
  if (op == "Cast") return node.input_dtype(0) == node.output(0).dtype;
  return false;
}

// True when what waits for the node may as well wait for the producer of its first input: not for a
// Switch, which is alive when the output that is read is dead, and not when another input decides.
bool IsDeadWithInput(const Node& node) {
  if (IsSwitch(*node.input(0).node)) return false;
  for (int i = 1; i < node.num_inputs(); ++i) {
    const Node& other = *node.input(i).node;
    if (other.op() != "Const" || !other.control_inputs().empty()) return false;
  }
  return true;
}

}  // namespace

Status Simplify(NodeGraph* graph) {
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph->TopologicalOrder());
  const bool has_control_flow =
      std::ranges::any_of(order, [](const Node* node) { return IsControlFlow(*node); });
  Rewiring rewiring(graph);
  for (Node* node : order) {
    rewiring.Update(node);
    // An identity with control inputs orders things.
    if (!node->control_inputs().empty() || node->num_inputs() == 0 || !KeepsEverything(*node))
      continue;
    const Endpoint input = node->input(0);
    if (input.node->output(input.index).is_ref) continue;
    if (has_control_flow && !IsDeadWithInput(*node)) continue;
    rewiring.Redirect({node, 0}, input);
    rewiring.RedirectControl(node, input.node);
  }
  rewiring.Finish();
  RemoveUnused(graph);
  return absl::OkStatus();
}

}  // namespace carillon
