#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/strings.h"
#include "graph/passes/pass.h"

namespace carillon {
namespace {

bool IsPlaceholder(const Node& node) {
  return node.op() == "Placeholder" || node.op() == "PlaceholderV2";
}

// Marks everything that `start` needs; fed endpoints cut the walk. Returns the first unfed
// placeholder met, if any.
class Marker {
 public:
  Marker(const NodeGraph& graph, std::span<const Endpoint> feeds)
      : keep_(graph.nodes().size(), false) {
    for (const Endpoint& feed : feeds) feeds_.emplace(feed.node, feed.index);
  }

  bool IsFed(const Endpoint& endpoint) const {
    return feeds_.contains({endpoint.node, endpoint.index});
  }

  const Node* Mark(const Node* start) {
    const Node* unfed = nullptr;
    std::vector<const Node*> stack = {start};
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      if (keep_[static_cast<size_t>(node->id())]) continue;
      keep_[static_cast<size_t>(node->id())] = true;
      if (IsPlaceholder(*node) && unfed == nullptr) unfed = node;
      for (const Endpoint& input : node->inputs()) {
        if (input.node != nullptr && !IsFed(input)) stack.push_back(input.node);
      }
      for (const Node* before : node->control_inputs()) stack.push_back(before);
    }
    return unfed;
  }

  std::vector<bool>& keep() { return keep_; }

 private:
  std::set<std::pair<const Node*, int>> feeds_;
  std::vector<bool> keep_;
};

// What waited for a fed placeholder waits for the feed instead: a placeholder cannot run.
void WaitForFeed(NodeGraph* graph, const Node* placeholder, Node* arg) {
  for (const auto& node : graph->nodes()) {
    if (node == nullptr ||
        std::ranges::find(node->control_inputs(), placeholder) == node->control_inputs().end())
      continue;
    std::vector<Node*> before = node->control_inputs();
    std::ranges::replace(before, const_cast<Node*>(placeholder), arg);
    graph->SetControlInputs(node.get(), std::move(before));
  }
}

Status Unfed(const Node& placeholder, const std::string& wanted) {
  const OutputInfo& info = placeholder.output(0);
  return InvalidArgument("You must feed a value for placeholder tensor '", placeholder.name(),
                         "' with dtype ", DTypeName(info.dtype), " and shape ",
                         info.shape.ToString(), ": '", wanted, "' needs it\n\t [[{{node ",
                         placeholder.name(), "}}]]");
}

}  // namespace

StatusOr<std::unique_ptr<NodeGraph>> PruneToSignature(const NodeGraph& graph,
                                                      const Signature& signature) {
  Marker marker(graph, signature.feeds);
  // A fed placeholder may be met behind control dependencies, which feeding does not cut.
  for (const Endpoint& fetch : signature.fetches) {
    if (marker.IsFed(fetch)) continue;
    if (const Node* unfed = marker.Mark(fetch.node)) {
      const bool fed_elsewhere = marker.IsFed({const_cast<Node*>(unfed), 0});
      if (!fed_elsewhere) return Unfed(*unfed, StrCat(fetch.node->name(), ":", fetch.index));
    }
  }
  for (const Node* target : signature.targets) {
    if (const Node* unfed = marker.Mark(target)) {
      if (!marker.IsFed({const_cast<Node*>(unfed), 0})) return Unfed(*unfed, target->name());
    }
  }
  // Copying needs every input of a copied node: what lies behind a feed comes along, and goes again
  // once the _Arg has taken over its uses.
  Marker everything(graph, {});
  for (const Endpoint& feed : signature.feeds) everything.Mark(feed.node);
  for (const auto& node : graph.nodes()) {
    if (node != nullptr && marker.keep()[static_cast<size_t>(node->id())])
      everything.Mark(node.get());
  }
  std::vector<Node*> copies;
  std::unique_ptr<NodeGraph> copy = graph.CopySubset(everything.keep(), &copies);
  const auto copied = [&](const Endpoint& endpoint) {
    return Endpoint{copies[static_cast<size_t>(endpoint.node->id())], endpoint.index};
  };
  std::vector<Endpoint> fetches;
  for (const Endpoint& fetch : signature.fetches) fetches.push_back(copied(fetch));
  std::vector<Node*> targets;
  for (const Node* target : signature.targets)
    targets.push_back(copies[static_cast<size_t>(target->id())]);
  for (size_t i = 0; i < signature.feeds.size(); ++i) {
    const Endpoint fed = copied(signature.feeds[i]);
    AttrMap attrs;
    attrs.emplace("T", AttrValue(fed.node->output(fed.index).dtype));
    attrs.emplace("index", AttrValue(static_cast<int64_t>(i)));
    attrs.emplace("shape", AttrValue(signature.feed_shapes[i]));
    CARILLON_ASSIGN_OR_RETURN(
        Node * arg,
        copy->Add({.name = copy->UniqueName(StrCat("_arg_", fed.node->name(), "_", fed.index)),
                   .op = "_Arg",
                   .attrs = std::move(attrs)}));
    copy->ReplaceUses(fed, {arg, 0});
    if (IsPlaceholder(*fed.node)) WaitForFeed(copy.get(), fed.node, arg);
    for (Endpoint& fetch : fetches) {
      if (fetch == fed) fetch = {arg, 0};
    }
  }
  for (size_t i = 0; i < fetches.size(); ++i) {
    AttrMap attrs;
    attrs.emplace("T", AttrValue(fetches[i].node->output(fetches[i].index).dtype));
    attrs.emplace("index", AttrValue(static_cast<int64_t>(i)));
    CARILLON_RETURN_IF_ERROR(copy->Add({.name = copy->UniqueName(StrCat("_retval_", i)),
                                        .op = "_Retval",
                                        .inputs = {fetches[i]},
                                        .attrs = std::move(attrs)})
                                 .status());
  }
  if (!targets.empty()) {
    CARILLON_RETURN_IF_ERROR(
        copy->Add(
                {.name = copy->UniqueName("_targets"), .op = "_Targets", .control_inputs = targets})
            .status());
  }
  RemoveUnused(copy.get());
  return copy;
}

void RemoveUnused(NodeGraph* graph) {
  Marker marker(*graph, {});
  for (const auto& node : graph->nodes()) {
    if (node != nullptr &&
        (node->op() == "_Retval" || node->op() == "_Targets" || node->op() == "_Send"))
      marker.Mark(node.get());
  }
  for (const auto& node : graph->nodes()) {
    if (node != nullptr && !marker.keep()[static_cast<size_t>(node->id())])
      graph->Remove(node.get());
  }
}

}  // namespace carillon
