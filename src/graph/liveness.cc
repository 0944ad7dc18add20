#include "graph/liveness.h"

#include <algorithm>

#include "graph/frames.h"

namespace carillon {

std::vector<bool> NodesThatMayNotRun(const NodeGraph& graph) {
  const StatusOr<std::vector<Node*>> order = graph.TopologicalOrder();
  if (!order.ok()) return {};
  std::vector<bool> may_not_run(graph.nodes().size(), false);
  const auto is_marked = [&](const Node* node) {
    return node != nullptr && may_not_run[static_cast<size_t>(node->id())];
  };
  for (const Node* node : *order) {
    may_not_run[static_cast<size_t>(node->id())] =
        IsSwitch(*node) || std::ranges::any_of(node->inputs(), is_marked, &Endpoint::node) ||
        std::ranges::any_of(node->control_inputs(), is_marked);
  }
  return may_not_run;
}

}  // namespace carillon
