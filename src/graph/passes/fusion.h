// What the fusing passes share.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "graph/passes/pass.h"
#include "graph/passes/rewiring.h"

namespace carillon {

// One fusing pass under way: walks the nodes, replaces groups of them by one. Uses are those before
// the pass began.
class Fusion {
 public:
  explicit Fusion(NodeGraph* graph) : graph_(*graph), uses_(*graph), rewiring_(graph) {}

  // Calls visit(node) for each node, producers first, its inputs up to date; then removes what
  // became unused.
  Status Walk(absl::FunctionRef<Status(Node*)> visit);

  // True when `user` is all that uses `value`, nothing waits for its node, and the node waits for
  // nothing: it may vanish into its user.
  bool FeedsOnly(Endpoint value, const Node& user) const;
  // True when nothing but data inputs orders the node, and nothing waits for it.
  bool IsUnordered(const Node& node) const;
  int CountUses(Endpoint value) const { return static_cast<int>(uses_.uses(value).size()); }

  // A node `op` that takes the place of `last`: its name, device and control inputs; attributes
  // `copied` from `source` and `attrs`.
  StatusOr<Node*> Add(std::string_view op, const Node& last, std::vector<Endpoint> inputs,
                      const Node& source, std::initializer_list<const char*> copied,
                      AttrMap attrs = {});
  void Redirect(Endpoint from, Endpoint to) { rewiring_.Redirect(from, to); }
  // Output 0 and what waits for `from` move to output 0 of `to`.
  void Replace(Node* from, Node* to);

 private:
  NodeGraph& graph_;
  const UseMap uses_;
  Rewiring rewiring_;
};

}  // namespace carillon
