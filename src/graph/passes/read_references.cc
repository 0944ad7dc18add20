#include "base/strings.h"
#include "graph/node_mark.h"
#include "graph/passes/pass.h"

namespace carillon {
namespace {

// Ops that hand a reference on when they are given one, though their spec says T.
bool PassesReference(const std::string& op) { return op == "IsVariableInitialized"; }

}  // namespace

Status ReadReferences(NodeGraph* graph) {
  const int n = graph->num_nodes();
  for (int id = 0; id < n; ++id) {
    Node* node = graph->nodes()[static_cast<size_t>(id)].get();
    if (node == nullptr || PassesReference(node->op())) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Endpoint from = node->input(i);
      if (from.node == nullptr || !from.node->output(from.index).is_ref || node->input_wants_ref(i))
        continue;
      // Each consumer reads for itself, when its own control inputs have run.
      AttrMap attrs;
      attrs.emplace("T", AttrValue(from.node->output(from.index).dtype));
      attrs.emplace(kStandsForAttr, AttrValue(node->name()));
      CARILLON_ASSIGN_OR_RETURN(
          Node * read, graph->Add({.name = graph->UniqueName(StrCat(node->name(), "/_read_", i)),
                                   .op = "_ReadRef",
                                   .inputs = {from},
                                   .control_inputs = node->control_inputs(),
                                   .attrs = std::move(attrs),
                                   .device = from.node->device()}));
      CARILLON_RETURN_IF_ERROR(graph->SetInput(node, i, {read, 0}));
    }
  }
  return absl::OkStatus();
}

}  // namespace carillon
