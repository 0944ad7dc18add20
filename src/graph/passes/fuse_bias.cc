#include "graph/passes/fusion.h"

namespace carillon {

Status FuseBias(NodeGraph* graph) {
  Fusion fusion(graph);
  return fusion.Walk([&](Node* node) -> Status {
    // The last of the group: a BiasAdd that no lone Relu follows, or the Relu.
    const bool relu = node->op() == "Relu";
    if (!relu && node->op() != "BiasAdd") return absl::OkStatus();
    Node* bias_add = relu ? node->input(0).node : node;
    if (bias_add->op() != "BiasAdd" || (relu && !fusion.FeedsOnly({bias_add, 0}, *node)))
      return absl::OkStatus();
    const Endpoint product = bias_add->input(0);
    if (!fusion.FeedsOnly(product, *bias_add)) return absl::OkStatus();
    const Node& source = *product.node;
    const bool is_conv = source.op() == "Conv2D";
    const std::string& format = bias_add->attr<std::string>("data_format");
    if (is_conv ? source.attr<std::string>("data_format") != format
                : source.op() != "MatMul" || format != "NHWC")
      return absl::OkStatus();
    if (!IsFloating(source.output(0).dtype)) return absl::OkStatus();
    AttrMap attrs;
    attrs.emplace("relu", AttrValue(relu));
    std::vector<Endpoint> inputs = {source.input(0), source.input(1), bias_add->input(1)};
    StatusOr<Node*> fused =
        is_conv ? fusion.Add(
                      "_FusedConv2D", *node, std::move(inputs), source,
                      {"T", "strides", "padding", "explicit_paddings", "data_format", "dilations"},
                      std::move(attrs))
                : fusion.Add("_FusedMatMul", *node, std::move(inputs), source,
                             {"T", "transpose_a", "transpose_b"}, std::move(attrs));
    CARILLON_RETURN_IF_ERROR(fused.status());
    fusion.Replace(node, *fused);
    return absl::OkStatus();
  });
}

}  // namespace carillon
