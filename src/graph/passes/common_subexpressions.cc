#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "graph/frames.h"
#include "graph/passes/pass.h"
#include "graph/passes/rewiring.h"

namespace carillon {
namespace {

bool MayMerge(const Node& node) {
  if (node.spec().is_stateful || node.num_outputs() == 0 || node.op().starts_with('_'))
    return false;
  for (int i = 0; i < node.num_outputs(); ++i) {
    // Data sets are variants, and two that look alike may each draw seeds of their own.
    if (node.output(i).is_ref || node.output(i).dtype == DType::kVariant) return false;
  }
  // What takes a reference may change what is behind it (QueueDequeue, StackPop), whatever its spec
  // says.
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input_wants_ref(i)) return false;
  }
  return !IsControlFlow(node) && node.op() != "Placeholder";
}

// Nodes with equal keys compute the same: op, inputs, control inputs, device and attributes.
std::string KeyOf(const Node& node) {
  std::string key = StrCat(node.op(), "|", node.device());
  std::vector<Endpoint> inputs = node.inputs();
  if (node.spec().is_commutative && inputs.size() == 2 &&
      std::pair(inputs[1].node->id(), inputs[1].index) <
          std::pair(inputs[0].node->id(), inputs[0].index)) {
    std::swap(inputs[0], inputs[1]);
  }
  for (const Endpoint& input : inputs)
    StrAppend(&key, "|", input.node == nullptr ? -1 : input.node->id(), ":", input.index);
  std::vector<int> before;
  for (const Node* node_before : node.control_inputs()) before.push_back(node_before->id());
  std::ranges::sort(before);
  for (const int id : before) StrAppend(&key, "|^", id);
  for (const auto& [name, value] : node.attrs()) {
    if (!name.starts_with('_')) StrAppend(&key, "|", name, "=", value.ToString());
  }
  return key;
}

bool SameAttrs(const Node& a, const Node& b) {
  return std::ranges::all_of(a.attrs(), [&](const auto& attr) {
    const AttrValue* other = b.FindAttr(attr.first);
    return attr.first.starts_with('_') || (other != nullptr && *other == attr.second);
  });
}

}  // namespace

Status MergeCommonSubexpressions(NodeGraph* graph) {
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph->TopologicalOrder());
  std::unordered_map<std::string, Node*> seen;
  Rewiring rewiring(graph);
  for (Node* node : order) {
    rewiring.Update(node);
    if (!MayMerge(*node)) continue;
    const auto [found, is_new] = seen.emplace(KeyOf(*node), node);
    if (is_new || !SameAttrs(*node, *found->second)) continue;
    for (int i = 0; i < node->num_outputs(); ++i) rewiring.Redirect({node, i}, {found->second, i});
    rewiring.RedirectControl(node, found->second);
  }
  rewiring.Finish();
  RemoveUnused(graph);
  return absl::OkStatus();
}

}  // namespace carillon
