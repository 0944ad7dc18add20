#include "graph/passes/pass.h"

namespace carillon {

Status InferAllShapes(NodeGraph* graph) {
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph->TopologicalOrder());
  for (Node* node : order) CARILLON_RETURN_IF_ERROR(graph->InferShapes(node));
  return absl::OkStatus();
}

}  // namespace carillon
