#include <map>

#include "graph/passes/fusion.h"

namespace carillon {

Status FuseFilterBiasGrad(NodeGraph* graph) {
  // The bias gradient of each value that has one.
  std::map<std::pair<const Node*, int>, Node*> bias_grads;
  for (const auto& node : graph->nodes()) {
    if (node != nullptr && node->op() == "BiasAddGrad")
      bias_grads[{node->input(0).node, node->input(0).index}] = node.get();
  }
  if (bias_grads.empty()) return absl::OkStatus();
  Fusion fusion(graph);
  return fusion.Walk([&](Node* node) -> Status {
    if (node->op() != "Conv2DBackpropFilter" || !IsFloating(node->output(0).dtype))
      return absl::OkStatus();
    const Endpoint grad = node->input(2);
    const auto found = bias_grads.find({grad.node, grad.index});
    if (found == bias_grads.end()) return absl::OkStatus();
    Node* bias_grad = found->second;
    if (!fusion.IsUnordered(*bias_grad) ||
        bias_grad->attr<std::string>("data_format") != node->attr<std::string>("data_format"))
      return absl::OkStatus();
    CARILLON_ASSIGN_OR_RETURN(
        Node * both,
        fusion.Add("_ConvBackpropFilterBias", *node, node->inputs(), *node,
                   {"T", "strides", "padding", "explicit_paddings", "data_format", "dilations"}));
    fusion.Replace(node, both);
    fusion.Redirect({bias_grad, 0}, {both, 1});
    bias_grads.erase(found);
    return absl::OkStatus();
  });
}

}  // namespace carillon
