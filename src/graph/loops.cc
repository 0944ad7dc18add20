#include "graph/loops.h"

#include <algorithm>
#include <iterator>

namespace carillon {
namespace {

size_t Index(int i) { return static_cast<size_t>(i); }

// Conditionals put an Identity around their predicate: the one behind it stands for all.
std::pair<int, int> PredicateKey(Endpoint pred) {
  while (pred.node->op() == "Identity") pred = pred.node->input(0);
  return {pred.node->id(), pred.index};
}

const Node* InputOf(const Node& merge, bool (*is_kind)(const Node&)) {
  for (const Endpoint& input : merge.inputs()) {
    if (input.node != nullptr && is_kind(*input.node)) return input.node;
  }
  return nullptr;
}

}  // namespace

StatusOr<LoopMap> LoopMap::Make(const NodeGraph& graph) {
  LoopMap map;
  map.graph_ = &graph;
  CARILLON_ASSIGN_OR_RETURN(const FrameMap frames, FrameMap::Make(graph));
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph.TopologicalOrder());
  map.FindLoops(graph, frames);
  map.FindGuards(order, frames);
  return map;
}

void LoopMap::FindLoops(const NodeGraph& graph, const FrameMap& frames) {
  std::unordered_map<const Node*, LoopVariable> by_merge;
  std::vector<bool> unfinished(frames.frames().size(), false);
  for (size_t i = 1; i < frames.frames().size(); ++i) {
    const Frame& frame = frames.frames()[i];
    loops_[static_cast<int>(i)] = {.frame = static_cast<int>(i),
                                   .name = frame.name,
                                   .parallel_iterations = frame.parallel_iterations};
  }
  const auto frame_of = [&](const Node& node) { return frames.appears_in(node); };
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || frame_of(*node) == 0) continue;
    Loop& loop = loops_[frame_of(*node)];
    if (IsConstantEnter(*node)) loop.invariants.push_back(node.get());
    if (node->op() == "StackPopV2") {
      for (int at = loop.frame; at != 0; at = frames.frames()[Index(at)].parent)
        loops_[at].pops_stacks = true;
    }
    if (!IsMerge(*node)) continue;
    const Node* enter = InputOf(*node, IsEnter);
    if (enter == nullptr) continue;
    const Node* next = InputOf(*node, IsNextIteration);
    if (next == nullptr) unfinished[Index(loop.frame)] = true;
    by_merge[node.get()] = {
        .enter = const_cast<Node*>(enter), .merge = node.get(), .next = const_cast<Node*>(next)};
  }
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || !IsSwitch(*node) || node->input(1).node->op() != "LoopCond") continue;
    const auto variable = by_merge.find(node->input(0).node);
    if (variable == by_merge.end()) continue;
    variable->second.switch_node = node.get();
    loops_[frame_of(*node)].condition = node->input(1).node;
  }
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || !IsExit(*node)) continue;
    const Node* from = node->input(0).node;
    const auto variable = IsSwitch(*from) ? by_merge.find(from->input(0).node) : by_merge.end();
    if (variable != by_merge.end()) variable->second.exits.push_back(node.get());
  }
  for (const auto& node : graph.nodes()) {  // in the order of the nodes, for stable graphs
    if (node == nullptr || !by_merge.contains(node.get())) continue;
    loops_[frame_of(*node)].variables.push_back(by_merge[node.get()]);
  }

  const auto finished = [&](int frame) {
    while (frame != 0 && (unfinished[Index(frame)] || loops_[frame].condition == nullptr)) {
      frame = frames.frames()[Index(frame)].parent;
    }
    return frame;
  };
  frame_of_.assign(Index(graph.num_nodes()), 0);
  exit_frame_.assign(Index(graph.num_nodes()), 0);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    frame_of_[Index(node->id())] = finished(frames.appears_in(*node));
    if (IsExit(*node)) exit_frame_[Index(node->id())] = finished(frames.runs_in(*node));
  }
  for (size_t i = 1; i < frames.frames().size(); ++i) {
    const int frame = static_cast<int>(i);
    if (finished(frame) == frame) {
      loops_[frame].parent = finished(frames.frames()[i].parent);
    } else {
      loops_.erase(frame);
    }
  }
}

int LoopMap::FrameOf(const Node& node) const {
  return Index(node.id()) < frame_of_.size() ? frame_of_[Index(node.id())] : 0;
}

const Loop* LoopMap::FindLoop(int frame) const {
  const auto found = loops_.find(frame);
  return found == loops_.end() ? nullptr : &found->second;
}

const Loop* LoopMap::LoopLeftBy(const Node& node) const {
  return Index(node.id()) < exit_frame_.size() ? FindLoop(exit_frame_[Index(node.id())]) : nullptr;
}

bool LoopMap::IsLoopSwitch(const Node& node) const {
  return IsSwitch(node) && node.input(1).node->op() == "LoopCond";
}

bool LoopMap::IsLoopInput(const Node& node) const {
  if (FrameOf(node) == 0) return false;
  return IsEnter(node) || IsLoopSwitch(node) ||
         (IsMerge(node) && InputOf(node, IsEnter) != nullptr);
}

LoopMap::GuardSet LoopMap::EndpointGuards(const Endpoint& value) const {
  if (value.node == nullptr) return {};
  const auto found = guards_.find(value.node->id());
  GuardSet guards = found == guards_.end() ? GuardSet() : found->second;
  if (IsSwitch(*value.node) && !IsLoopSwitch(*value.node)) {
    guards.emplace_back(PredicateKey(value.node->input(1)), value.index == 1);
    std::ranges::sort(guards);
    const auto [first, last] = std::ranges::unique(guards);
    guards.erase(first, last);
  }
  return guards;
}

void LoopMap::FindGuards(const std::vector<Node*>& order, const FrameMap& frames) {
  const auto unite = [](const GuardSet& a, const GuardSet& b) {
    GuardSet both;
    std::ranges::set_union(a, b, std::back_inserter(both));
    return both;
  };
  std::vector<GuardSet> of_frame(frames.frames().size());  // of what enters it
  for (const Node* node : order) {
    GuardSet guards;
    if (IsMerge(*node)) {
      if (InputOf(*node, IsEnter) != nullptr) continue;
      guards = EndpointGuards(node->input(0));
      for (const Endpoint& input : node->inputs()) {
        GuardSet common;
        std::ranges::set_intersection(guards, EndpointGuards(input), std::back_inserter(common));
        guards = std::move(common);
      }
    } else if (IsExit(*node)) {
      guards = of_frame[Index(frames.runs_in(*node))];
    } else if (node->op() != "ControlTrigger") {
      for (const Endpoint& input : node->inputs()) guards = unite(guards, EndpointGuards(input));
      for (Node* before : node->control_inputs()) {
        const auto found = guards_.find(before->id());
        if (found != guards_.end()) guards = unite(guards, found->second);
      }
    }
    if (IsEnter(*node)) {
      // Inside, everything is as dead as what enters: only conditions inside make a difference.
      GuardSet& outside = of_frame[Index(frames.appears_in(*node))];
      outside = unite(outside, guards);
    } else if (!guards.empty()) {
      guards_.emplace(node->id(), std::move(guards));
    }
  }
}

std::vector<LoopMap::Guard> LoopMap::GuardsOf(const Output& value) const {
  std::vector<Guard> guards;
  for (const auto& [key, wanted] : EndpointGuards({value.node(), value.index()})) {
    guards.emplace_back(Output(graph_->nodes()[Index(key.first)].get(), key.second), wanted);
  }
  return guards;
}

void LoopMap::AddLike(const Node& node, const Output& value) {
  if (Index(node.id()) >= frame_of_.size()) {
    frame_of_.resize(Index(node.id()) + 1, 0);
    exit_frame_.resize(Index(node.id()) + 1, 0);
  }
  frame_of_[Index(node.id())] = FrameOf(*value.node());
  GuardSet guards = EndpointGuards({value.node(), value.index()});
  if (!guards.empty()) guards_[node.id()] = std::move(guards);
}

}  // namespace carillon
