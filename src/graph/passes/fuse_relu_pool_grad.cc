#include "graph/passes/fusion.h"

namespace carillon {

Status FuseReluPoolGrad(NodeGraph* graph) {
  Fusion fusion(graph);
  return fusion.Walk([&](Node* node) -> Status {
    // ReluGrad(MaxPoolGrad(features, pooled, grad), features), features a Relu and pooled its
    // MaxPool.
    if (node->op() != "ReluGrad") return absl::OkStatus();
    const Endpoint pool_grad = node->input(0), features = node->input(1);
    const Node& source = *pool_grad.node;
    if (source.op() != "MaxPoolGrad" || !fusion.FeedsOnly(pool_grad, *node))
      return absl::OkStatus();
    const Endpoint pooled = source.input(1);
    if (features.node->op() != "Relu" || !(source.input(0) == features) ||
        pooled.node->op() != "MaxPool" || !(pooled.node->input(0) == features)) {
      return absl::OkStatus();
    }
    const std::string& format = source.attr<std::string>("data_format");
    if (!IsFloating(node->output(0).dtype) || (format != "NHWC" && format != "NCHW"))
      return absl::OkStatus();
    CARILLON_ASSIGN_OR_RETURN(
        Node * both,
        fusion.Add("_FusedReluPoolGrad", *node, {features, pooled, source.input(2)}, source,
                   {"T", "ksize", "strides", "padding", "explicit_paddings", "data_format"}));
    fusion.Replace(node, both);
    return absl::OkStatus();
  });
}

}  // namespace carillon
