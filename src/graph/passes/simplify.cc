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

}  // namespace

Status Simplify(NodeGraph* graph) {
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph->TopologicalOrder());
  const bool has_control_flow = std::ranges::any_of(
      order, [](const Node* node) { return node->op() == "Switch" || node->op() == "Enter"; });
  Rewiring rewiring(graph);
  for (Node* node : order) {
    rewiring.Update(node);
    // An identity with control inputs orders things; inside control flow one may be what a branch's
    // dead signal travels on.
    if (has_control_flow || !node->control_inputs().empty() || node->num_inputs() == 0 ||
        !KeepsEverything(*node))
      continue;
    const Endpoint input = node->input(0);
    if (input.node->output(input.index).is_ref) continue;
    rewiring.Redirect({node, 0}, input);
    rewiring.RedirectControl(node, input.node);
  }
  rewiring.Finish();
  RemoveUnused(graph);
  return absl::OkStatus();
}

}  // namespace carillon
