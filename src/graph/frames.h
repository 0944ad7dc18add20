// Frames and loops, read off the graph: which loop a node runs in, and what its loops are made of.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "graph/node_graph.h"

namespace carillon {

bool IsSwitch(const Node& node);  // Switch, RefSwitch; and so on
bool IsMerge(const Node& node);
bool IsEnter(const Node& node);
bool IsExit(const Node& node);
bool IsNextIteration(const Node& node);
// Any of these, and LoopCond: the node needs the dataflow executor.
bool IsControlFlow(const Node& node);
bool IsConstantEnter(const Node& node);  // its value is there in every iteration

// One frame: the iterations of one loop, or (index 0) what is outside of all loops.
struct Frame {
  std::string name;
  int parent = -1;
  int parallel_iterations = 1;
};

// Every node runs in one frame and its outputs appear in one: the same, but for Enter (runs
// outside, appears inside) and Exit (runs inside, appears outside).
class FrameMap {
 public:
  // InvalidArgument when a node has inputs from several frames, when an Exit leaves no loop, or
  // when one frame name is entered from several frames.
  static StatusOr<FrameMap> Make(const NodeGraph& graph);

  const std::vector<Frame>& frames() const { return frames_; }
  bool has_loops() const { return frames_.size() > 1; }
  int runs_in(const Node& node) const { return runs_in_[static_cast<size_t>(node.id())]; }
  int appears_in(const Node& node) const { return appears_in_[static_cast<size_t>(node.id())]; }
  // True when `inner` is `outer` or nested in it.
  bool IsInside(int inner, int outer) const;

 private:
  StatusOr<int> FrameOfInputs(const Node& node) const;
  StatusOr<int> FindOrAddFrame(const Node& enter, int parent);

  std::vector<Frame> frames_;
  std::unordered_map<std::string, int> by_name_;
  std::vector<int> runs_in_;
  std::vector<int> appears_in_;
};

}  // namespace carillon
