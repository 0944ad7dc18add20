#include "graph/passes/fusion.h"

#include <algorithm>

#include "base/strings.h"

namespace carillon {

Status Fusion::Walk(absl::FunctionRef<Status(Node*)> visit) {
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph_.TopologicalOrder());
  for (Node* node : order) {
    rewiring_.Update(node);
    CARILLON_RETURN_IF_ERROR(visit(node));
  }
  rewiring_.Finish();
  RemoveUnused(&graph_);
  return absl::OkStatus();
}

bool Fusion::IsUnordered(const Node& node) const {
  if (!uses_.Knows(node)) return false;  // made by this pass
  return node.control_inputs().empty() &&
         std::ranges::none_of(uses_.uses(node),
                              [](const UseMap::Use& use) { return use.input < 0; });
}

bool Fusion::FeedsOnly(Endpoint value, const Node& user) const {
  if (!IsUnordered(*value.node)) return false;
  const auto& uses = uses_.uses(*value.node);
  return uses.size() == 1 && uses[0].node == &user;
}

StatusOr<Node*> Fusion::Add(std::string_view op, const Node& last, std::vector<Endpoint> inputs,
                            const Node& source, std::initializer_list<const char*> copied,
                            AttrMap attrs) {
  for (const char* name : copied) attrs.emplace(name, *source.FindAttr(name));
  CARILLON_ASSIGN_OR_RETURN(Node * node,
                            graph_.Add({.name = graph_.UniqueName(StrCat(last.name(), "/", op)),
                                        .op = std::string(op),
                                        .inputs = std::move(inputs),
                                        .control_inputs = last.control_inputs(),
                                        .attrs = std::move(attrs),
                                        .device = last.device()}));
  return node;
}

void Fusion::Replace(Node* from, Node* to) {
  Redirect({from, 0}, {to, 0});
  rewiring_.RedirectControl(from, to);
}

}  // namespace carillon
