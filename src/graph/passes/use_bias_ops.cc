#include "graph/passes/fusion.h"

namespace carillon {
namespace {

const OutputInfo& InfoOf(const Endpoint& value) { return value.node->output(value.index); }

bool IsNhwcProduct(const Node& node) {
  return node.op() == "MatMul" ||
         (node.op() == "Conv2D" && node.attr<std::string>("data_format") == "NHWC");
}

// Add(product, vector) with one element of the vector for each channel.
bool AddsBias(const Node& node, const Endpoint& product, const Endpoint& bias) {
  const PartialShape &shape = InfoOf(product).shape, &vector = InfoOf(bias).shape;
  return IsNhwcProduct(*product.node) && IsFloating(InfoOf(product).dtype) && shape.has_rank() &&
         shape.rank() >= 2 && vector.rank() == 1 && vector.dim(0) >= 0 &&
         vector.dim(0) == shape.dim(shape.rank() - 1);
}

// Sum over all dimensions but the last, as the gradient of such an addition takes it; with these
// dimensions kept as ones or not.
bool SumsToChannels(const Node& node) {
  if (node.op() != "Sum") return false;
  const Endpoint &input = node.input(0), &axes = node.input(1);
  const PartialShape& shape = InfoOf(input).shape;
  if (axes.node->op() != "Const" || !IsFloating(InfoOf(input).dtype) || shape.rank() < 2)
    return false;
  const Tensor& value = axes.node->attr<Tensor>("value");
  if (value.num_elements() != shape.rank() - 1) return false;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const int64_t axis =
        value.dtype() == DType::kInt32 ? value.data<int32_t>()[i] : value.data<int64_t>()[i];
    if (axis != i) return false;
  }
  return true;
}

// Reshape of such a sum to a vector.
bool ReshapesChannels(const Node& node) {
  if (node.op() != "Reshape" || node.input(1).node->op() != "Const") return false;
  const Node& sum = *node.input(0).node;
  return SumsToChannels(sum) && sum.control_inputs().empty() && node.output(0).shape.rank() == 1;
}

}  // namespace

Status UseBiasOps(NodeGraph* graph) {
  Fusion fusion(graph);
  return fusion.Walk([&](Node* node) -> Status {
    const auto replace = [&](const char* op, std::vector<Endpoint> inputs) -> Status {
      AttrMap attrs;
      attrs.emplace("data_format", AttrValue("NHWC"));
      CARILLON_ASSIGN_OR_RETURN(
          Node * made, fusion.Add(op, *node, std::move(inputs), *node, {"T"}, std::move(attrs)));
      fusion.Replace(node, made);
      return absl::OkStatus();
    };
    if (node->op() == "Add" || node->op() == "AddV2") {
      if (AddsBias(*node, node->input(0), node->input(1)))
        return replace("BiasAdd", {node->input(0), node->input(1)});
      if (AddsBias(*node, node->input(1), node->input(0)))
        return replace("BiasAdd", {node->input(1), node->input(0)});
    } else if (SumsToChannels(*node) && !node->attr<bool>("keep_dims")) {
      return replace("BiasAddGrad", {node->input(0)});
    } else if (ReshapesChannels(*node)) {
      return replace("BiasAddGrad", {node->input(0).node->input(0)});
    }
    return absl::OkStatus();
  });
}

}  // namespace carillon
