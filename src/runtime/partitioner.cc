#include "runtime/partitioner.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/strings.h"
#include "graph/frames.h"
#include "graph/node_mark.h"

namespace carillon {
namespace {

class Cutter {
 public:
  explicit Cutter(NodeGraph* graph) : graph_(*graph) {}

  StatusOr<PartitionedGraph> Run() {
    CARILLON_RETURN_IF_ERROR(MoveEndsOfLoops());
    CARILLON_RETURN_IF_ERROR(DriveLoopsEverywhere());
    MoveJoins();
    CARILLON_RETURN_IF_ERROR(SplitTargets());
    CARILLON_RETURN_IF_ERROR(MeasureChains());
    CARILLON_RETURN_IF_ERROR(CutEdges());
    return TakeParts();
  }

 private:
  using Place = std::pair<int, std::string>;  // a frame, a device

  // Ids of the nodes that are there now: what is added on the way is not met again.
  std::vector<Node*> NodesNow() const {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr) nodes.push_back(node.get());
    }
    return nodes;
  }

  StatusOr<Node*> Add(const std::string& name, const std::string& op, const std::string& device,
                      std::vector<Endpoint> inputs, AttrMap attrs,
                      std::vector<Node*> control_inputs = {}) {
    return graph_.Add({.name = graph_.UniqueName(name),
                       .op = op,
                       .inputs = std::move(inputs),
                       .control_inputs = std::move(control_inputs),
                       .attrs = std::move(attrs),
                       .device = device});
  }

  // The values that cross the border of a loop are cut outside of it, where they are sent once: an
  // Enter is wherever its value is read, an Exit where its value comes from, a NextIteration where
  // the Merge is that it goes back to.
  Status MoveEndsOfLoops() {
    for (Node* node : NodesNow()) {
      if (IsExit(*node)) node->set_device(node->input(0).node->device());
      if (IsMerge(*node)) {
        for (const Endpoint& input : node->inputs()) {
          if (IsNextIteration(*input.node)) input.node->set_device(node->device());
        }
      }
    }
    std::map<std::pair<const Node*, std::string>, Node*> entrances;
    for (Node* node : NodesNow()) {
      for (int i = 0; i < node->num_inputs(); ++i) {
        Node* enter = node->input(i).node;
        if (!IsEnter(*enter) || enter->device() == node->device()) continue;
        Node*& copy = entrances[{enter, node->device()}];
        if (copy == nullptr) {
          CARILLON_ASSIGN_OR_RETURN(copy,
                                    Add(StrCat(enter->name(), "/copy"), enter->op(), node->device(),
                                        enter->inputs(), enter->attrs(), enter->control_inputs()));
        }
        CARILLON_RETURN_IF_ERROR(graph_.SetInput(node, i, {copy, 0}));
      }
    }
    return absl::OkStatus();
  }

  // Each device that takes part in a loop of several runs a loop of its own that only counts
  // iterations: its Merge starts the receives of each. It goes on as long as the loop's condition,
  // which it gets like any other value, says so.
  Status DriveLoopsEverywhere() {
    CARILLON_ASSIGN_OR_RETURN(const FrameMap frames, FrameMap::Make(graph_));
    if (!frames.has_loops()) return RememberFrames(frames);
    std::vector<std::set<std::string>> devices(frames.frames().size());
    std::vector<Node*> conditions(frames.frames().size(), nullptr);
    for (Node* node : NodesNow()) {
      for (int frame = frames.appears_in(*node); frame > 0;
           frame = frames.frames()[static_cast<size_t>(frame)].parent)
        devices[static_cast<size_t>(frame)].insert(node->device());
      if (node->op() == "LoopCond") conditions[static_cast<size_t>(frames.runs_in(*node))] = node;
    }
    // A frame has a smaller number than those inside of it.
    for (size_t frame = 1; frame < devices.size(); ++frame) {
      if (devices[frame].size() < 2) continue;
      if (conditions[frame] == nullptr)
        return InvalidArgument("the loop '", frames.frames()[frame].name,
                               "' spans devices but has no LoopCond");
      for (const std::string& device : devices[frame])
        CARILLON_RETURN_IF_ERROR(
            DriveLoop(frames.frames()[frame], static_cast<int>(frame), conditions[frame], device));
    }
    CARILLON_ASSIGN_OR_RETURN(const FrameMap now, FrameMap::Make(graph_));
    return RememberFrames(now);
  }

  Status DriveLoop(const Frame& loop, int frame, Node* condition, const std::string& device) {
    const std::string name = StrCat(loop.name, "/drive");
    const AttrMap type{{"T", AttrValue(DType::kBool)}};
    std::vector<Node*> before;
    if (const auto outer = drivers_.find({loop.parent, device}); outer != drivers_.end())
      before.push_back(outer->second);
    AttrMap value{{"dtype", AttrValue(DType::kBool)}, {"value", AttrValue(Tensor::Scalar(true))}};
    CARILLON_ASSIGN_OR_RETURN(Node * start,
                              Add(name, "Const", device, {}, std::move(value), std::move(before)));
    AttrMap entering = type;
    entering.emplace("frame_name", AttrValue(loop.name));
    entering.emplace("parallel_iterations",
                     AttrValue(static_cast<int64_t>(loop.parallel_iterations)));
    CARILLON_ASSIGN_OR_RETURN(Node * enter,
                              Add(name, "Enter", device, {{start, 0}}, std::move(entering)));
    AttrMap merging = type;
    merging.emplace("N", AttrValue(2));
    CARILLON_ASSIGN_OR_RETURN(
        Node * merge, Add(name, "Merge", device, {{enter, 0}, Endpoint{}}, std::move(merging)));
    CARILLON_ASSIGN_OR_RETURN(Node * choice,
                              Add(name, "Switch", device, {{merge, 0}, {condition, 0}}, type));
    CARILLON_ASSIGN_OR_RETURN(Node * next, Add(name, "NextIteration", device, {{choice, 1}}, type));
    drivers_[{frame, device}] = merge;
    return graph_.SetInput(merge, 1, {next, 0});
  }

  Status RememberFrames(const FrameMap& frames) {
    frame_of_.assign(graph_.nodes().size(), 0);
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr) frame_of_[static_cast<size_t>(node->id())] = frames.appears_in(*node);
    }
    return absl::OkStatus();
  }

  // A node that does nothing but come after others can do so wherever all of them are: nobody has
  // to be told.
  void MoveJoins() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Node* node : NodesNow()) {
        if (node->op() != "NoOp" || node->control_inputs().empty()) continue;
        const std::string& device = node->control_inputs().front()->device();
        if (device == node->device() ||
            !std::ranges::all_of(node->control_inputs(),
                                 [&](const Node* one) { return one->device() == device; }))
          continue;
        node->set_device(device);
        moved = true;
      }
    }
  }

  // Each part waits for its own targets.
  Status SplitTargets() {
    std::map<std::string, std::vector<Node*>> by_device;
    for (Node* node : NodesNow()) {
      if (node->op() != "_Targets") continue;
      for (Node* target : node->control_inputs()) by_device[target->device()].push_back(target);
      graph_.Remove(node);
    }
    for (auto& [device, targets] : by_device) {
      CARILLON_RETURN_IF_ERROR(
          Add("_targets", "_Targets", device, {}, {}, std::move(targets)).status());
    }
    return absl::OkStatus();
  }

  // How long the longest chain of nodes is that begins at each: the first layer of a network has
  // most of the step before it, however late its variables were made.
  Status MeasureChains() {
    CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph_.TopologicalOrder());
    chain_of_.assign(graph_.nodes().size(), 1);
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      const int longer = chain_of_[static_cast<size_t>((*node)->id())] + 1;
      const auto follow = [&](const Node* before) {
        if (IsNextIteration(*before)) return;  // an iteration's chain ends with it
        int& chain = chain_of_[static_cast<size_t>(before->id())];
        chain = std::max(chain, longer);
      };
      for (const Endpoint& input : (*node)->inputs()) follow(input.node);
      for (const Node* before : (*node)->control_inputs()) follow(before);
    }
    return absl::OkStatus();
  }

  // `received` is what Send or SendControl gave.
  void NeededBy(const Node* received, const Node& consumer) {
    const auto channel = channel_of_.find(received);
    if (channel == channel_of_.end() || static_cast<size_t>(consumer.id()) >= chain_of_.size())
      return;
    int& chain = channels_[channel->second].chain;
    chain = std::max(chain, chain_of_[static_cast<size_t>(consumer.id())]);
  }

  Status CutEdges() {
    for (Node* node : NodesNow()) {
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Endpoint from = node->input(i);
        if (from.node->device() == node->device()) continue;
        CARILLON_ASSIGN_OR_RETURN(Node * received, Send(from, node->device()));
        NeededBy(received, *node);
        CARILLON_RETURN_IF_ERROR(graph_.SetInput(node, i, {received, 0}));
      }
    }
    // Afterwards, so that a value that is sent anyway tells that its node has run.
    for (Node* node : NodesNow()) {
      std::vector<Node*> before;
      std::map<std::string, std::vector<Node*>> elsewhere;
      for (Node* one : node->control_inputs()) {
        if (one->device() == node->device()) {
          before.push_back(one);
        } else if (const auto sent = received_.find({one, node->device()});
                   sent != received_.end() && !sent->second.empty()) {
          before.push_back(sent->second.begin()->second);
          NeededBy(before.back(), *node);
        } else {
          elsewhere[one->device()].push_back(one);
        }
      }
      for (auto& [device, nodes] : elsewhere) {
        CARILLON_ASSIGN_OR_RETURN(nodes, JoinOutsideOfLoops(std::move(nodes), device));
        for (Node* one : nodes) {
          CARILLON_ASSIGN_OR_RETURN(Node * told, SendControl(one, node->device()));
          before.push_back(told);
          NeededBy(told, *node);
        }
      }
      if (before != node->control_inputs()) graph_.SetControlInputs(node, std::move(before));
    }
    return absl::OkStatus();
  }

  // One node that comes after several on a device, so that there is one thing to tell.
  StatusOr<std::vector<Node*>> JoinOutsideOfLoops(std::vector<Node*> nodes,
                                                  const std::string& device) {
    if (nodes.size() == 1 || std::ranges::any_of(nodes, [&](const Node* node) {
          return frame_of_[static_cast<size_t>(node->id())] != 0;
        }))
      return nodes;
    std::ranges::sort(nodes, {}, &Node::id);
    Node*& join = joins_[nodes];
    if (join == nullptr) {
      CARILLON_ASSIGN_OR_RETURN(
          join, Add(StrCat(nodes.front()->name(), "/and_others"), "NoOp", device, {}, {}, nodes));
      frame_of_.resize(graph_.nodes().size(), 0);
    }
    return std::vector<Node*>{join};
  }

  // Feeds and constants can be wherever they are used, without a message in every step.
  static bool CanBeCopied(const Node& node) {
    return node.control_inputs().empty() && (node.op() == "_Arg" || node.op() == "Const");
  }

  // The _Recv of a value on a device, or what takes its place.
  StatusOr<Node*> Send(const Endpoint& from, const std::string& device) {
    Node*& received = received_[{from.node, device}][from.index];
    if (received != nullptr) return received;
    if (CanBeCopied(*from.node)) {
      AttrMap attrs = from.node->attrs();
      CARILLON_ASSIGN_OR_RETURN(
          received, Add(from.node->name(), from.node->op(), device, {}, std::move(attrs)));
      return received;
    }
    const OutputInfo info = from.node->output(from.index);
    if (info.is_ref || info.dtype == DType::kResource || info.dtype == DType::kVariant)
      return Unimplemented("node ", from.node->Describe(), " on '", from.node->device(),
                           "' is used on '", device, "', but a ", DTypeName(info.dtype),
                           info.is_ref ? " reference" : "", " cannot be sent",
                           NodeMark(*from.node));
    const std::string key = StrCat("edge ", channels_.size());
    channels_.push_back({key, from.node->device(), device});
    AttrMap sending{{"T", AttrValue(info.dtype)}, {"key", AttrValue(key)}};
    AttrMap receiving = sending;
    receiving.emplace("shape", AttrValue(info.shape));
    CARILLON_RETURN_IF_ERROR(Add(StrCat(from.node->name(), "/send"), "_Send", from.node->device(),
                                 {from}, std::move(sending))
                                 .status());
    std::vector<Node*> before;
    const int frame = frame_of_[static_cast<size_t>(from.node->id())];
    if (const auto driver = drivers_.find({frame, device}); driver != drivers_.end())
      before.push_back(driver->second);
    CARILLON_ASSIGN_OR_RETURN(received, Add(StrCat(from.node->name(), "/recv"), "_Recv", device, {},
                                            std::move(receiving), std::move(before)));
    channel_of_.emplace(received, channels_.size() - 1);
    return received;
  }

  // A node on `device` that runs when `from` has.
  StatusOr<Node*> SendControl(Node* from, const std::string& device) {
    std::map<int, Node*>& values = received_[{from, device}];
    if (!values.empty()) return values.begin()->second;
    AttrMap nothing{{"dtype", AttrValue(DType::kBool)}, {"value", AttrValue(Tensor::Scalar(true))}};
    CARILLON_ASSIGN_OR_RETURN(Node * token, Add(StrCat(from->name(), "/done"), "Const",
                                                from->device(), {}, std::move(nothing), {from}));
    frame_of_.resize(graph_.nodes().size(), 0);
    frame_of_[static_cast<size_t>(token->id())] = frame_of_[static_cast<size_t>(from->id())];
    CARILLON_ASSIGN_OR_RETURN(Node * received, Send({token, 0}, device));
    values.emplace(0, received);
    return received;
  }

  StatusOr<PartitionedGraph> TakeParts() {
    std::map<std::string, std::vector<bool>> nodes_of;
    for (Node* node : NodesNow()) {
      std::vector<bool>& keep = nodes_of[node->device()];
      keep.resize(graph_.nodes().size(), false);
      keep[static_cast<size_t>(node->id())] = true;
    }
    PartitionedGraph result;
    std::map<std::string, int> part_of;
    for (const auto& [device, keep] : nodes_of) {
      part_of[device] = static_cast<int>(result.parts.size());
      Part part{.device = device, .graph = graph_.CopySubset(keep)};
      CARILLON_RETURN_IF_ERROR(NumberEnds(&part));
      result.parts.push_back(std::move(part));
    }
    std::ranges::stable_sort(channels_, std::greater{}, &Cut::chain);
    for (const Cut& cut : channels_)
      result.channels.push_back({cut.key, part_of[cut.from], part_of[cut.to]});
    return result;
  }

  // Feeds and fetches of a part are numbered from 0.
  static Status NumberEnds(Part* part) {
    NodeGraph& graph = *part->graph;
    for (int id = 0, n = graph.num_nodes(); id < n; ++id) {
      Node* node = graph.nodes()[static_cast<size_t>(id)].get();
      if (node == nullptr || (node->op() != "_Arg" && node->op() != "_Retval")) continue;
      std::vector<int>& ends = node->op() == "_Arg" ? part->feeds : part->fetches;
      AttrMap attrs = node->attrs();
      attrs.insert_or_assign("index", AttrValue(static_cast<int64_t>(ends.size())));
      ends.push_back(static_cast<int>(node->attr<int64_t>("index")));
      CARILLON_ASSIGN_OR_RETURN(Node * numbered, graph.Add({.name = graph.UniqueName(node->name()),
                                                            .op = node->op(),
                                                            .inputs = node->inputs(),
                                                            .attrs = std::move(attrs),
                                                            .device = node->device()}));
      if (node->op() == "_Arg") graph.ReplaceUses({node, 0}, {numbered, 0});
      ReplaceControl(&graph, node, numbered);
      graph.Remove(node);
    }
    return absl::OkStatus();
  }

  static void ReplaceControl(NodeGraph* graph, Node* from, Node* to) {
    for (const auto& node : graph->nodes()) {
      if (node == nullptr ||
          std::ranges::find(node->control_inputs(), from) == node->control_inputs().end())
        continue;
      std::vector<Node*> before = node->control_inputs();
      std::ranges::replace(before, from, to);
      graph->SetControlInputs(node.get(), std::move(before));
    }
  }

  struct Cut {
    std::string key;
    std::string from, to;  // devices
    int chain = 0;         // the longest of those who read it
  };

  NodeGraph& graph_;
  std::map<Place, Node*> drivers_;  // the Merge that counts the iterations of a loop on a device
  std::vector<int> frame_of_;       // in which a node's values appear, by id
  std::map<std::pair<const Node*, std::string>, std::map<int, Node*>> received_;  // by output
  std::map<std::vector<Node*>, Node*> joins_;
  std::vector<Cut> channels_;
  std::map<const Node*, size_t> channel_of_;  // of a _Recv
  std::vector<int> chain_of_;                 // by id; not of nodes that cutting adds
};

}  // namespace

StatusOr<PartitionedGraph> Partition(std::unique_ptr<NodeGraph> graph) {
  return Cutter(graph.get()).Run();
}

}  // namespace carillon
