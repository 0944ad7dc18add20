// The loops of a graph and the conditions under which its nodes run, for building gradients.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "carillon/graph.h"
#include "graph/frames.h"
#include "graph/node_graph.h"

namespace carillon {

struct LoopVariable {
  Node* enter = nullptr;
  Node* merge = nullptr;
  Node* next = nullptr;         // the NextIteration
  Node* switch_node = nullptr;  // null when neither body nor exit uses the variable
  std::vector<Node*> exits;
};

struct Loop {
  int frame = 0;
  int parent = 0;  // the closest enclosing frame that is a finished loop, or 0
  std::string name;
  int parallel_iterations = 1;
  Node* condition = nullptr;  // the LoopCond
  std::vector<LoopVariable> variables;
  std::vector<Node*> invariants;  // constant Enters
  bool pops_stacks = false;       // in its body or that of a loop inside: it is a gradient itself
};

// A snapshot; nodes that are added later are outside of all loops unless AddLike says otherwise.
// Loops that are still being built do not count: their nodes belong to what is around them.
class LoopMap {
 public:
  // Null for the same reasons as FrameMap, which are InvalidArgument.
  static StatusOr<LoopMap> Make(const NodeGraph& graph);

  // The frame in which the node's outputs appear.
  int FrameOf(const Node& node) const;
  // Null for frame 0.
  const Loop* FindLoop(int frame) const;
  // The finished loop that an Exit leaves; null for any other node.
  const Loop* LoopLeftBy(const Node& node) const;
  // True for what hands values into the body of the finished loop around it.
  bool IsLoopInput(const Node& node) const;

  // `value` is dead unless each of these has the value that stands beside it. Conditions are those
  // of its own frame.
  using Guard = std::pair<Output, bool>;
  std::vector<Guard> GuardsOf(const Output& value) const;

  // From now on the new `node` counts as being where `value` is.
  void AddLike(const Node& node, const Output& value);

 private:
  using GuardSet = std::vector<std::pair<std::pair<int, int>, bool>>;  // sorted
  void FindLoops(const NodeGraph& graph, const FrameMap& frames);
  void FindGuards(const std::vector<Node*>& order, const FrameMap& frames);
  GuardSet EndpointGuards(const Endpoint& value) const;
  bool IsLoopSwitch(const Node& node) const;

  const NodeGraph* graph_ = nullptr;
  std::unordered_map<int, Loop> loops_;       // by frame; finished ones
  std::vector<int> frame_of_;                 // by node id
  std::vector<int> exit_frame_;               // by node id: the loop that an Exit leaves, else 0
  std::unordered_map<int, GuardSet> guards_;  // by node id; absent: none
};

}  // namespace carillon
