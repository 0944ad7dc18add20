#include "graph/frames.h"

#include <algorithm>

#include "base/strings.h"

namespace carillon {

bool IsSwitch(const Node& node) { return node.op() == "Switch" || node.op() == "RefSwitch"; }
bool IsMerge(const Node& node) { return node.op() == "Merge" || node.op() == "RefMerge"; }
bool IsEnter(const Node& node) { return node.op() == "Enter" || node.op() == "RefEnter"; }
bool IsExit(const Node& node) { return node.op() == "Exit" || node.op() == "RefExit"; }
bool IsNextIteration(const Node& node) {
  return node.op() == "NextIteration" || node.op() == "RefNextIteration";
}
bool IsControlFlow(const Node& node) {
  return IsSwitch(node) || IsMerge(node) || IsEnter(node) || IsExit(node) ||
         IsNextIteration(node) || node.op() == "LoopCond";
}
bool IsConstantEnter(const Node& node) { return IsEnter(node) && node.attr<bool>("is_constant"); }

StatusOr<FrameMap> FrameMap::Make(const NodeGraph& graph) {
  FrameMap map;
  map.frames_.push_back({.name = ""});
  map.runs_in_.assign(static_cast<size_t>(graph.num_nodes()), -1);
  map.appears_in_ = map.runs_in_;
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph.TopologicalOrder());
  for (const Node* node : order) {
    CARILLON_ASSIGN_OR_RETURN(const int frame, map.FrameOfInputs(*node));
    int appears = frame;
    if (IsEnter(*node)) {
      CARILLON_ASSIGN_OR_RETURN(appears, map.FindOrAddFrame(*node, frame));
    } else if (IsExit(*node)) {
      if (frame == 0)
        return InvalidArgument("node ", node->Describe(), " leaves a loop but is inside none");
      appears = map.frames_[static_cast<size_t>(frame)].parent;
    }
    map.runs_in_[static_cast<size_t>(node->id())] = frame;
    map.appears_in_[static_cast<size_t>(node->id())] = appears;
  }
  // The edges that close loops were left out above.
  for (const Node* node : order) CARILLON_RETURN_IF_ERROR(map.FrameOfInputs(*node).status());
  return map;
}

StatusOr<int> FrameMap::FrameOfInputs(const Node& node) const {
  if (node.op() == "_Targets") return 0;  // targets may be anywhere
  const Node* first = nullptr;
  Status mixed;
  const auto look = [&](const Node* input) {
    if (input == nullptr || appears_in(*input) < 0) return;
    if (first == nullptr) first = input;
    if (appears_in(*input) == appears_in(*first) || !mixed.ok()) return;
    const auto name = [&](const Node* in) {
      return frames_[static_cast<size_t>(appears_in(*in))].name;
    };
    mixed = InvalidArgument("node ", node.Describe(), " has inputs from different frames: '",
                            first->name(), "' is in frame '", name(first), "', '", input->name(),
                            "' in frame '", name(input), "'");
  };
  for (const Endpoint& input : node.inputs()) look(input.node);
  for (const Node* before : node.control_inputs()) look(before);
  CARILLON_RETURN_IF_ERROR(mixed);
  return first == nullptr ? 0 : appears_in(*first);
}

StatusOr<int> FrameMap::FindOrAddFrame(const Node& enter, int parent) {
  const auto& name = enter.attr<std::string>("frame_name");
  const int64_t parallel = enter.attr<int64_t>("parallel_iterations");
  const auto [found, is_new] = by_name_.try_emplace(name, static_cast<int>(frames_.size()));
  if (!is_new) {
    if (frames_[static_cast<size_t>(found->second)].parent == parent) return found->second;
    return InvalidArgument("node ", enter.Describe(), " enters frame '", name,
                           "' from another frame than other nodes do");
  }
  if (parallel < 1) {
    return InvalidArgument("node ", enter.Describe(), " has parallel_iterations ", parallel,
                           ", which should be 1 or more");
  }
  constexpr int64_t kMost = 1 << 20;
  frames_.push_back({.name = name,
                     .parent = parent,
                     .parallel_iterations = static_cast<int>(std::min(parallel, kMost))});
  return found->second;
}

bool FrameMap::IsInside(int inner, int outer) const {
  while (inner > outer && inner > 0) inner = frames_[static_cast<size_t>(inner)].parent;
  return inner == outer;
}

}  // namespace carillon
