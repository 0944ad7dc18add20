#include "graph/passes/fusion.h"

namespace carillon {
namespace {

// Groups that end with a Relu, or with a BiasAdd.
Status FuseGroups(NodeGraph* graph, bool relu) {
  Fusion fusion(graph);
  return fusion.Walk([&](Node* node) -> Status {
    if (node->op() != (relu ? "Relu" : "BiasAdd")) return absl::OkStatus();
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

}  // namespace

Status FuseBias(NodeGraph* graph) {
  // The longer groups first: a BiasAdd comes before its Relu and would go without it.
  CARILLON_RETURN_IF_ERROR(FuseGroups(graph, /*relu=*/true));
  return FuseGroups(graph, /*relu=*/false);
}

}  // namespace carillon
