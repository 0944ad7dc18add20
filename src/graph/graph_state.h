// What a public Graph holds besides its nodes: the scopes that are open while a program builds it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "carillon/graph.h"
#include "graph/control_flow_context.h"
#include "graph/node_graph.h"

namespace carillon {

// One open DeviceScope. Neither function nor text: outer scopes do not apply.
struct DeviceLayer {
  DeviceFunction function;
  std::optional<std::string> device;
};

// One open ControlDependencies. `clear`: outer ones do not apply.
struct ControlLayer {
  std::vector<Node*> before;
  bool clear = false;
};

struct Graph::State {
  NodeGraph nodes;
  std::string name_scope;  // "" or "a/b/"
  std::vector<DeviceLayer> devices;
  std::vector<ControlLayer> controls;
  std::vector<Node*> colocations;
  ControlFlowContext* context = nullptr;  // the innermost branch or loop that is being built
  std::vector<std::unique_ptr<ControlFlowContext>> contexts;
  std::unordered_map<int, ControlFlowContext*> context_of;  // by node id; absent: outside of all
  std::map<std::string, std::vector<Output>> collections;
  std::map<std::string, int> used_scopes;  // how often a name scope was opened
  std::optional<int64_t> seed;
  bool frozen = false;
};

// Adds a node under the scopes that are open: full name, device, control inputs, colocation.
// `init.name` is the wanted name without scope.
StatusOr<Node*> AddUnderScopes(Graph& graph, NodeInit init);

}  // namespace carillon
