// Rewiring: redirects uses of values while a pass walks the graph in topological order, at a cost
// that does not grow with the graph for each redirection.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "graph/node_graph.h"

namespace carillon {

// A pass calls Update(node) when it comes to a node, looks at its inputs, redirects what it
// replaces, and calls Finish() at the end, which also updates edges that go backward.
class Rewiring {
 public:
  explicit Rewiring(NodeGraph* graph) : graph_(*graph) {}
  void Redirect(Endpoint from, Endpoint to) { values_[Key(from)] = to; }
  void RedirectControl(const Node* from, Node* to) { controls_[from] = to; }
  void Update(Node* node);
  void Finish();

 private:
  static std::pair<int, int> Key(const Endpoint& e) { return {e.node->id(), e.index}; }
  Endpoint Resolve(Endpoint value) const;

  NodeGraph& graph_;
  std::map<std::pair<int, int>, Endpoint> values_;
  std::unordered_map<const Node*, Node*> controls_;
};

}  // namespace carillon
