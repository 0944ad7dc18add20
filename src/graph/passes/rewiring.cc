#include "graph/passes/rewiring.h"

namespace carillon {

Endpoint Rewiring::Resolve(Endpoint value) const {
  for (auto next = values_.find(Key(value)); next != values_.end(); next = values_.find(Key(value)))
    value = next->second;
  return value;
}

void Rewiring::Update(Node* node) {
  if (!values_.empty()) {
    bool changed = false;
    std::vector<Endpoint> inputs = node->inputs();
    for (Endpoint& input : inputs) {
      if (input.node == nullptr) continue;
      const Endpoint now = Resolve(input);
      changed |= !(now == input);
      input = now;
    }
    if (changed) graph_.SetInputs(node, std::move(inputs));
  }
  if (!controls_.empty() && !node->control_inputs().empty()) {
    std::vector<Node*> before = node->control_inputs();
    for (Node*& one : before) {
      for (auto next = controls_.find(one); next != controls_.end(); next = controls_.find(one))
        one = next->second;
    }
    graph_.SetControlInputs(node, std::move(before));
  }
}

void Rewiring::Finish() {
  for (const auto& node : graph_.nodes()) {
    if (node != nullptr) Update(node.get());
  }
}

}  // namespace carillon
