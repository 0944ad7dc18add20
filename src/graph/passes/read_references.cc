#include "base/strings.h"
#include "graph/node_mark.h"
#include "graph/passes/pass.h"

namespace carillon {
namespace {

// Ops that hand a reference on when they are given one, though their spec says T.
bool PassesReference(const std::string& op) { return op == "IsVariableInitialized"; }

// The reference that `value` was read from by an Identity; null when it is something else.
Endpoint ReferenceBehind(Endpoint value) {
  if (value.node == nullptr || value.node->op() != "Identity") return {};
  Endpoint from = value.node->input(0);
  if (from.node != nullptr && from.node->op() == "_ReadRef") from = from.node->input(0);
  return from.node != nullptr && from.node->output(from.index).is_ref ? from : Endpoint{};
}

// What `node` runs after, but for the values that it computes from: its control inputs, and those
// of its constants, which TensorFlow's Python gives the control dependencies in place of the node.
std::vector<Node*> RunsAfter(const Node& node) {
  std::vector<Node*> before = node.control_inputs();
  for (const Endpoint& input : node.inputs()) {
    if (input.node == nullptr || input.node->op() != "Const") continue;
    const std::vector<Node*>& also = input.node->control_inputs();
    before.insert(before.end(), also.begin(), also.end());
  }
  return before;
}

}  // namespace

Status ReadReferences(NodeGraph* graph) {
  const int n = graph->num_nodes();
  for (int id = 0; id < n; ++id) {
    Node* node = graph->nodes()[static_cast<size_t>(id)].get();
    if (node == nullptr || PassesReference(node->op())) continue;
    const std::vector<Node*> runs_after = RunsAfter(*node);
    std::vector<Endpoint> inputs = node->inputs();
    bool has_changed = false;
    for (int i = 0; i < node->num_inputs(); ++i) {
      Endpoint from = node->input(i);
      const Node* also_after = nullptr;
      // In TensorFlow an Identity of a variable is the variable's memory: who reads it after an
      // update, because a control dependency says so, sees the new value. What another device gets
      // is sent when the Identity runs.
      if (const Endpoint behind = ReferenceBehind(from); behind.node != nullptr &&
                                                         !runs_after.empty() &&
                                                         behind.node->device() == node->device()) {
        also_after = from.node;
        from = behind;
      }
      if (from.node == nullptr || !from.node->output(from.index).is_ref || node->input_wants_ref(i))
        continue;
      // Each consumer reads for itself, when its own control inputs have run; those on other
      // devices get what the variable is when the step begins.
      const bool is_here = node->device() == from.node->device();
      std::vector<Node*> before = is_here ? runs_after : from.node->control_inputs();
      if (is_here && also_after != nullptr) {
        const std::vector<Node*>& also = also_after->control_inputs();
        before.insert(before.end(), also.begin(), also.end());
      }
      AttrMap attrs;
      attrs.emplace("T", AttrValue(from.node->output(from.index).dtype));
      attrs.emplace(kStandsForAttr, AttrValue(node->name()));
      CARILLON_ASSIGN_OR_RETURN(
          Node * read, graph->Add({.name = graph->UniqueName(StrCat(node->name(), "/_read_", i)),
                                   .op = "_ReadRef",
                                   .inputs = {from},
                                   .control_inputs = std::move(before),
                                   .attrs = std::move(attrs),
                                   .device = from.node->device()}));
      inputs[static_cast<size_t>(i)] = {read, 0};
      has_changed = true;
    }
    if (has_changed) graph->SetInputs(node, std::move(inputs));
  }
  return absl::OkStatus();
}

}  // namespace carillon
