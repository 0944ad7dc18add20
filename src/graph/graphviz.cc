#include "graph/graphviz.h"

#include "absl/strings/str_join.h"
#include "base/strings.h"

namespace carillon {
namespace {

std::string ValueText(const OutputInfo& info) {
  return StrCat(DTypeName(info.dtype), info.is_ref ? "&" : "", info.shape.ToString());
}

std::string InputText(const Endpoint& input) {
  if (input.node == nullptr) return "(open)";
  return input.index == 0 ? input.node->name() : StrCat(input.node->name(), ":", input.index);
}

}  // namespace

std::string ToGraphviz(const NodeGraph& graph) {
  std::string out =
      "digraph carillon {\n  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n  edge "
      "[fontsize=8];\n";
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    StrAppend(&out, "  n", node->id(), " [label=\"", node->op(), "\\n", node->name(), "\"];\n");
    for (const Endpoint& input : node->inputs()) {
      if (input.node == nullptr) continue;
      StrAppend(&out, "  n", input.node->id(), " -> n", node->id(), " [label=\"",
                ValueText(input.node->output(input.index)), "\"];\n");
    }
    for (const Node* before : node->control_inputs())
      StrAppend(&out, "  n", before->id(), " -> n", node->id(), " [style=dashed];\n");
  }
  return out + "}\n";
}

std::string ToText(const NodeGraph& graph) {
  std::vector<Node*> order;
  if (StatusOr<std::vector<Node*>> sorted = graph.TopologicalOrder(); sorted.ok()) {
    order = *std::move(sorted);
  } else {
    for (const auto& node : graph.nodes()) {
      if (node != nullptr) order.push_back(node.get());
    }
  }
  std::string out;
  for (const Node* node : order) {
    StrAppend(&out, node->name(), " = ", node->op(), "(",
              absl::StrJoin(node->inputs(), ", ", [](std::string* text, const Endpoint& input) {
                text->append(InputText(input));
              }));
    for (const Node* before : node->control_inputs()) StrAppend(&out, ", ^", before->name());
    StrAppend(&out, ")");
    std::vector<std::string> outputs;
    for (int i = 0; i < node->num_outputs(); ++i) outputs.push_back(ValueText(node->output(i)));
    StrAppend(&out, " -> ", absl::StrJoin(outputs, ", "), "\n");
  }
  return out;
}

}  // namespace carillon
