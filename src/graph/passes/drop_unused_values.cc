#include <algorithm>

#include "base/strings.h"
#include "graph/frames.h"
#include "graph/op_spec.h"
#include "graph/passes/pass.h"
#include "graph/passes/rewiring.h"

namespace carillon {
namespace {

// True when all that the node does is to compute its outputs, and it is dead when an input is.
bool OnlyComputes(const Node& node) {
  if (node.spec().is_stateful || IsControlFlow(node) || node.num_inputs() == 0 ||
      node.op().starts_with('_'))
    return false;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input_wants_ref(i) || node.input_dtype(i) == DType::kResource ||
        IsSwitch(*node.input(i).node))
      return false;
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (node.output(i).is_ref) return false;
  }
  return true;
}

}  // namespace

Status DropUnusedValues(NodeGraph* graph) {
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph->TopologicalOrder());
  const UseMap uses(*graph);
  std::vector<int> readers(graph->nodes().size(), 0);
  std::vector<bool> is_target(graph->nodes().size(), false);
  for (const Node* node : order) {
    for (const UseMap::Use& use : uses.uses(*node)) {
      if (use.input >= 0) ++readers[static_cast<size_t>(node->id())];
      if (use.node->op() == "_Targets") is_target[static_cast<size_t>(node->id())] = true;
    }
  }
  Rewiring rewiring(graph);
  // Readers first: once one is gone, what it read may be unused, too.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Node* node = *it;
    const auto id = static_cast<size_t>(node->id());
    if (readers[id] > 0 || is_target[id] || uses.uses(*node).empty() || !OnlyComputes(*node))
      continue;
    std::vector<Node*> before = node->control_inputs();
    for (const Endpoint& input : node->inputs()) {
      before.push_back(input.node);
      --readers[static_cast<size_t>(input.node->id())];
    }
    CARILLON_ASSIGN_OR_RETURN(Node * order_only,
                              graph->Add({.name = graph->UniqueName(StrCat(node->name(), "/order")),
                                          .op = "NoOp",
                                          .control_inputs = std::move(before),
                                          .device = node->device()}));
    rewiring.RedirectControl(node, order_only);
  }
  rewiring.Finish();
  RemoveUnused(graph);
  return absl::OkStatus();
}

}  // namespace carillon
