#include <algorithm>
#include <iterator>

#include "graph/frames.h"
#include "graph/liveness.h"
#include "graph/passes/pass.h"

namespace carillon {
namespace {

bool ClosesLoop(const Node& node) {
  return IsMerge(node) && std::ranges::any_of(node.inputs(), [](const Endpoint& input) {
           return input.node != nullptr && IsNextIteration(*input.node);
         });
}

// What enters a loop, as if nothing ever came back.
void AssumeInvariant(Node* merge) {
  for (const Endpoint& input : merge->inputs()) {
    if (input.node == nullptr || IsNextIteration(*input.node)) continue;
    const OutputInfo& entered = input.node->output(input.index);
    merge->mutable_output(0).shape = entered.shape;
    merge->mutable_output(0).handle = entered.handle;
    merge->mutable_output(1).shape = Shape{};
    return;
  }
}

void AssumeNothing(Node* merge) {
  merge->mutable_output(0).shape = PartialShape();
  merge->mutable_output(0).handle.reset();
}

// Infers node by node. Shapes that do not fit are an error, but where the node may not run: there
// nothing is known of its outputs.
class Inference {
 public:
  explicit Inference(NodeGraph* graph) : graph_(*graph) {}

  Status Infer(Node* node) {
    const Status status = graph_.InferShapes(node);
    if (status.ok()) return status;
    if (!looked_) may_not_run_ = NodesThatMayNotRun(graph_);
    looked_ = true;
    if (may_not_run_.empty() || !may_not_run_[static_cast<size_t>(node->id())]) return status;
    for (int i = 0; i < node->num_outputs(); ++i) {
      node->mutable_output(i).shape = PartialShape();
      node->mutable_output(i).handle.reset();
      node->mutable_output(i).partial_value.reset();
    }
    return absl::OkStatus();
  }

 private:
  NodeGraph& graph_;
  std::vector<bool> may_not_run_;
  bool looked_ = false;
};

Status InferAllButMerges(Inference* inference, const std::vector<Node*>& order) {
  for (Node* node : order) {
    if (!ClosesLoop(*node)) CARILLON_RETURN_IF_ERROR(inference->Infer(node));
  }
  return absl::OkStatus();
}

// Those of `merges` whose shape is not what their inputs now say; it is then that.
StatusOr<std::vector<Node*>> Correct(NodeGraph* graph, const std::vector<Node*>& merges) {
  std::vector<Node*> wrong;
  for (Node* merge : merges) {
    const PartialShape before = merge->output(0).shape;
    CARILLON_RETURN_IF_ERROR(graph->InferShapes(merge));
    if (!(merge->output(0).shape == before)) wrong.push_back(merge);
  }
  return wrong;
}

Status InferThroughLoops(NodeGraph* graph, Inference* inference, const std::vector<Node*>& order,
                         const std::vector<Node*>& merges) {
  // First suppose that a loop leaves the shapes of its variables alone, then give up what turns out
  // to change, until all agrees. Each round gives up at least a dimension; most loops take one.
  constexpr int kRounds = 10;
  for (Node* node : order) {
    if (ClosesLoop(*node)) {
      AssumeInvariant(node);
    } else {
      CARILLON_RETURN_IF_ERROR(inference->Infer(node));
    }
  }
  for (int round = 0;; ++round) {
    CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> wrong, Correct(graph, merges));
    if (wrong.empty()) return absl::OkStatus();
    if (round == kRounds) return Internal("shapes of loops do not settle");
    CARILLON_RETURN_IF_ERROR(InferAllButMerges(inference, order));
  }
}

}  // namespace

Status InferShapesOf(NodeGraph* graph, const std::vector<Node*>& order) {
  std::vector<Node*> merges;
  std::ranges::copy_if(order, std::back_inserter(merges),
                       [](const Node* node) { return ClosesLoop(*node); });
  Inference inference(graph);
  if (!merges.empty()) {
    if (InferThroughLoops(graph, &inference, order, merges).ok()) return absl::OkStatus();
    // What a loop would do to shapes that do not fit it says nothing about a loop that never runs.
    for (Node* merge : merges) AssumeNothing(merge);
  }
  return InferAllButMerges(&inference, order);
}

Status InferAllShapes(NodeGraph* graph) {
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph->TopologicalOrder());
  return InferShapesOf(graph, order);
}

}  // namespace carillon
