#include "graph/passes/fusion.h"

namespace carillon {
namespace {

bool IsBatchNorm(const Node& node) {
  return node.op() == "FusedBatchNormV3" && node.attr<DType>("U") == DType::kFloat;
}

// Relu(y) or Relu(y + residual), y the output of a batch norm that nothing else reads.
Status FuseForward(Fusion& fusion, Node* relu) {
  const Endpoint sum = relu->input(0);
  Endpoint normalised = sum;
  std::vector<Endpoint> residual;
  if (sum.node->op() == "AddV2" || sum.node->op() == "Add") {
    if (!fusion.FeedsOnly(sum, *relu)) return absl::OkStatus();
    for (const int side : {0, 1}) {
      const Endpoint candidate = sum.node->input(side), other = sum.node->input(1 - side);
      const PartialShape &mine = candidate.node->output(candidate.index).shape,
                         &theirs = other.node->output(other.index).shape;
      if (IsBatchNorm(*candidate.node) && candidate.index == 0 &&
          fusion.CountUses(candidate) == 1 && mine.IsFullyKnown() && mine == theirs) {
        normalised = candidate;
        residual = {other};
        break;
      }
    }
    if (residual.empty()) return absl::OkStatus();
  } else if (fusion.CountUses(sum) != 1) {
    return absl::OkStatus();
  }
  Node* norm = normalised.node;
  if (!IsBatchNorm(*norm) || normalised.index != 0 || !fusion.IsUnordered(*norm) ||
      !relu->control_inputs().empty())
    return absl::OkStatus();
  std::vector<Endpoint> inputs = norm->inputs();
  inputs.insert(inputs.end(), residual.begin(), residual.end());
  AttrMap attrs;
  attrs.emplace("N", AttrValue(static_cast<int64_t>(residual.size())));
  CARILLON_ASSIGN_OR_RETURN(
      Node * both,
      fusion.Add("_FusedBatchNormRelu", *relu, std::move(inputs), *norm,
                 {"T", "U", "epsilon", "exponential_avg_factor", "data_format", "is_training"},
                 std::move(attrs)));
  fusion.Replace(relu, both);
  for (int i = 1; i < norm->num_outputs(); ++i) fusion.Redirect({norm, i}, {both, i});
  return absl::OkStatus();
}

// FusedBatchNormGradV3(ReluGrad(dy, y), x, …) of a forward pair that was fused. With a residual,
// the ReluGrad is also the residual's gradient.
Status FuseBackward(Fusion& fusion, Node* norm_grad) {
  const Endpoint grad = norm_grad->input(0);
  Node* relu_grad = grad.node;
  if (relu_grad->op() != "ReluGrad" || !fusion.IsUnordered(*relu_grad)) return absl::OkStatus();
  const Endpoint y = relu_grad->input(1);
  const Node& forward = *y.node;
  if (forward.op() != "_FusedBatchNormRelu" || y.index != 0 ||
      !(norm_grad->input(1) == forward.input(0)) || !(norm_grad->input(2) == forward.input(1)) ||
      !(norm_grad->input(3) == Endpoint{y.node, 3}) ||
      !(norm_grad->input(4) == Endpoint{y.node, 4})) {
    return absl::OkStatus();
  }
  const auto n = forward.attr<int64_t>("N");
  if (n == 0 && fusion.CountUses(grad) != 1) return absl::OkStatus();
  std::vector<Endpoint> inputs = {relu_grad->input(0), norm_grad->input(1), norm_grad->input(2),
                                  forward.input(2),    norm_grad->input(3), norm_grad->input(4)};
  if (n == 1) inputs.push_back(y);
  AttrMap attrs;
  attrs.emplace("N", AttrValue(n));
  CARILLON_ASSIGN_OR_RETURN(
      Node * both,
      fusion.Add("_FusedBatchNormReluGrad", *norm_grad, std::move(inputs), *norm_grad,
                 {"T", "U", "epsilon", "data_format", "is_training"}, std::move(attrs)));
  fusion.Replace(norm_grad, both);
  fusion.Redirect({norm_grad, 1}, {both, 1});
  fusion.Redirect({norm_grad, 2}, {both, 2});
  if (n == 1) fusion.Redirect({relu_grad, 0}, {both, 3});
  return absl::OkStatus();
}

}  // namespace

Status FuseBatchNorm(NodeGraph* graph) {
  Fusion fusion(graph);
  return fusion.Walk([&](Node* node) -> Status {
    if (node->op() == "Relu") return FuseForward(fusion, node);
    if (node->op() == "FusedBatchNormGradV3") return FuseBackward(fusion, node);
    return absl::OkStatus();
  });
}

}  // namespace carillon
