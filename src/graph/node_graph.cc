#include "graph/node_graph.h"

#include <algorithm>
#include <unordered_set>

#include "absl/strings/str_join.h"
#include "base/edit_distance.h"
#include "base/strings.h"
#include "base/throw.h"
#include "base/work_scope.h"
#include "graph/frames.h"
#include "graph/function_library.h"
#include "graph/node_check.h"
#include "graph/node_mark.h"
#include "graph/shape_context.h"
#include "graph/value_inference.h"

namespace carillon {
namespace {

bool MayHaveOpenInputs(const OpSpec& spec) {
  return spec.name == "Merge" || spec.name == "RefMerge";
}

}  // namespace

const AttrValue* Node::FindAttr(std::string_view name) const {
  const auto found = attrs_.find(name);
  return found == attrs_.end() ? nullptr : &found->second;
}

void Node::ThrowNoAttr(std::string_view name) const {
  Throw(Internal("node ", Describe(), " was asked for attribute '", name,
                 "' of a kind that it does not have"));
}

std::pair<int, int> Node::InputRange(std::string_view argument) const {
  int begin = 0;
  for (const ArgSpec& arg : spec_->inputs) {
    const int count = static_cast<int>(ArgDTypes(arg, attrs_).size());
    if (arg.name == argument) return {begin, begin + count};
    begin += count;
  }
  Throw(Internal("op ", op(), " has no input called '", argument, "'"));
}

std::string Node::Describe() const { return StrCat("'", name_, "' (", op(), ")"); }

namespace {

// They find the function in the client's process.
bool RunsPython(std::string_view op) {
  return op == "PyFunc" || op == "PyFuncStateless" || op == "EagerPyFunc" ||
         op == "GeneratorDataset";
}

}  // namespace

const OpSpec* NodeGraph::FindSpec(const std::string& op) const {
  const OpSpec* spec = ops_.Find(op);
  return spec == nullptr && functions_ != nullptr ? functions_->FindSpec(op) : spec;
}

Status NodeGraph::CheckOp(const std::string& op, const std::string& node) const {
  if (FindSpec(op) != nullptr) return absl::OkStatus();
  return UnknownOp(op, node, HintForOp(ops_, op));
}

Status UnknownOp(const std::string& op, const std::string& node, const std::string& hint) {
  if (RunsPython(op)) {
    return NotFound("node '", node, "' (", op,
                    ") calls a function of Python, which cannot run on a server: feed the values "
                    "that it makes, or make them with other ops");
  }
  return NotFound("op type '", op, "' of node '", node, "' is not known", hint);
}

std::string HintForOp(const OpTable& ops, const std::string& op) {
  // One that is far off would only mislead.
  const std::string nearest = ops.NearestName(op);
  if (EditDistance(nearest, op.substr(0, 64)) > op.size() / 4) return "";
  return StrCat("; the nearest known one is '", nearest, "'");
}

StatusOr<Node*> NodeGraph::Add(NodeInit init) {
  CARILLON_RETURN_IF_ERROR(CheckOp(init.op, init.name));
  const OpSpec* const spec = FindSpec(init.op);
  const auto fail = [&](const Status& status) {
    return Annotate(status, StrCat("node '", init.name, "' (", init.op, "): "));
  };
  if (Status status = CheckNodeName(init.name); !status.ok()) return fail(status);
  if (by_name_.contains(init.name)) {
    return InvalidArgument("node '", init.name, "' (", init.op,
                           "): a node of that name is already in the graph");
  }
  if (Status status = CompleteAttrs(*spec, &init.attrs); !status.ok()) return fail(status);

  auto node = std::make_unique<Node>();
  node->name_ = std::move(init.name);
  node->spec_ = spec;
  node->device_ = std::move(init.device);
  node->graph_ = this;
  node->attrs_ = std::move(init.attrs);
  node->inputs_ = std::move(init.inputs);
  // Each once. Few are compared with each other, many (of a graph from outside) are looked up.
  constexpr size_t kFew = 32;
  std::unordered_set<const Node*> seen;
  if (init.control_inputs.size() > kFew) seen.reserve(init.control_inputs.size());
  for (Node* before : init.control_inputs) {
    const bool is_new =
        init.control_inputs.size() > kFew
            ? seen.insert(before).second
            : std::ranges::find(node->control_inputs_, before) == node->control_inputs_.end();
    if (is_new) node->control_inputs_.push_back(before);
  }
  for (const ArgSpec& arg : spec->inputs) {
    node->input_wants_ref_.insert(node->input_wants_ref_.end(), ArgDTypes(arg, node->attrs_).size(),
                                  arg.is_ref);
  }
  const std::string& op = spec->name;
  const std::string name = node->name_;
  const auto annotate = [&](const Status& status) {
    return Annotate(status, StrCat("node '", name, "' (", op, "): "));
  };
  if (Status status = CheckInputs(*node, MayHaveOpenInputs(*spec)); !status.ok())
    return annotate(status);
  for (const ArgSpec& arg : spec->outputs) {
    if (!arg.number_attr.empty() && node->attr<int64_t>(arg.number_attr) > kMostListed) {
      return annotate(InvalidArgument("attribute '", arg.number_attr, "' is ",
                                      node->attr<int64_t>(arg.number_attr),
                                      ", but a node has at most ", kMostListed, " outputs"));
    }
    const std::vector<DType> dtypes = ArgDTypes(arg, node->attrs_);
    node->outputs_.reserve(node->outputs_.size() + dtypes.size());
    for (const DType dtype : dtypes)
      node->outputs_.push_back({.dtype = dtype, .is_ref = arg.is_ref});
  }
  if (Status status = InferShapes(node.get()); !status.ok()) return status;
  node->id_ = num_nodes();
  by_name_.emplace(name, node.get());
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

Node* NodeGraph::Find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : found->second;
}

Status NodeGraph::SetInput(Node* node, int i, Endpoint input) {
  const Endpoint old = node->input(i);
  node->inputs_[static_cast<size_t>(i)] = input;
  Status status = CheckInputs(*node, MayHaveOpenInputs(node->spec()));
  if (!status.ok()) node->inputs_[static_cast<size_t>(i)] = old;
  return Annotate(status, StrCat("node ", node->Describe(), ": "));
}

void NodeGraph::SetInputs(Node* node, std::vector<Endpoint> inputs) {
  node->inputs_ = std::move(inputs);
  node->input_wants_ref_.clear();
  for (const ArgSpec& arg : node->spec().inputs) {
    node->input_wants_ref_.insert(node->input_wants_ref_.end(), ArgDTypes(arg, node->attrs_).size(),
                                  arg.is_ref);
  }
}

void NodeGraph::AddControlInput(Node* node, Node* before) {
  if (std::ranges::find(node->control_inputs_, before) == node->control_inputs_.end()) {
    node->control_inputs_.push_back(before);
  }
}

void NodeGraph::SetControlInputs(Node* node, std::vector<Node*> before) {
  std::unordered_set<const Node*> seen;
  std::erase_if(before, [&](const Node* one) { return !seen.insert(one).second; });
  node->control_inputs_ = std::move(before);
}

void NodeGraph::ReplaceUses(Endpoint from, Endpoint to, const Node* except) {
  for (const auto& node : nodes_) {
    if (node == nullptr || node.get() == except) continue;
    for (Endpoint& input : node->inputs_) {
      if (input == from) input = to;
    }
  }
}

void NodeGraph::Remove(Node* node) {
  by_name_.erase(node->name_);
  nodes_[static_cast<size_t>(node->id_)].reset();
}

StatusOr<std::vector<Node*>> NodeGraph::TopologicalOrder() const {
  // Kahn's algorithm with the lowest id first, so that the order is stable and close to the order
  // of creation.
  std::vector<int> waiting(nodes_.size(), 0);
  std::vector<std::vector<Node*>> consumers(nodes_.size());
  std::vector<Node*> ready;
  size_t live = 0;
  for (const auto& node : nodes_) {
    if (node == nullptr) continue;
    ++live;
    int& count = waiting[static_cast<size_t>(node->id())];
    const auto depend = [&](const Node* before) {
      if (before == nullptr || IsNextIteration(*before)) return;
      ++count;
      consumers[static_cast<size_t>(before->id())].push_back(node.get());
    };
    for (const Endpoint& input : node->inputs_) depend(input.node);
    for (const Node* before : node->control_inputs_) depend(before);
    if (count == 0) ready.push_back(node.get());
  }
  const auto later = [](const Node* a, const Node* b) { return a->id() > b->id(); };
  std::ranges::make_heap(ready, later);
  std::vector<Node*> order;
  order.reserve(live);
  while (!ready.empty()) {
    std::ranges::pop_heap(ready, later);
    Node* node = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (Node* consumer : consumers[static_cast<size_t>(node->id())]) {
      if (--waiting[static_cast<size_t>(consumer->id())] == 0) {
        ready.push_back(consumer);
        std::ranges::push_heap(ready, later);
      }
    }
  }
  if (order.size() == live) return order;
  std::vector<std::string> stuck;
  for (const auto& node : nodes_) {
    if (node != nullptr && waiting[static_cast<size_t>(node->id())] > 0 && stuck.size() < 8)
      stuck.push_back(node->name());
  }
  return InvalidArgument("the graph has a cycle through or before these nodes: ",
                         absl::StrJoin(stuck, ", "));
}

Status NodeGraph::InferShapes(Node* node) {
  for (OutputInfo& output : node->outputs_) {
    output.shape = PartialShape();
    output.handle.reset();
    output.partial_value.reset();
  }
  if (node->spec().shape_fn != nullptr) {
    ShapeContext context(*node);
    Status status;
    try {
      status = node->spec().shape_fn(context);
    } catch (const BudgetExceeded&) {
      throw;  // not what is wrong with the shapes
    } catch (const WorkStopped&) {
      throw;
    } catch (...) {
      status = StatusFromException(std::current_exception());
    }
    if (!status.ok())
      return Status(status.code(), StrCat("node ", node->Describe(), ": ", DescribeInputs(*node),
                                          status.message(), NodeMark(*node)));
  }
  InferPartialValue(*node);
  return absl::OkStatus();
}

std::unique_ptr<NodeGraph> NodeGraph::CopySubset(const std::vector<bool>& keep,
                                                 std::vector<Node*>* copies) const {
  auto copy = std::make_unique<NodeGraph>(ops_);
  copy->functions_ = functions_;
  std::vector<Node*> map(nodes_.size(), nullptr);
  for (const auto& node : nodes_) {
    if (node == nullptr || !keep[static_cast<size_t>(node->id())]) continue;
    auto made = std::make_unique<Node>(*node);
    made->id_ = copy->num_nodes();
    made->graph_ = copy.get();
    map[static_cast<size_t>(node->id())] = made.get();
    copy->by_name_.emplace(made->name_, made.get());
    copy->nodes_.push_back(std::move(made));
  }
  for (const auto& node : copy->nodes_) {
    for (Endpoint& input : node->inputs_) {
      if (input.node != nullptr) input.node = map[static_cast<size_t>(input.node->id())];
    }
    std::erase_if(node->control_inputs_, [&](const Node* before) {
      return map[static_cast<size_t>(before->id())] == nullptr;
    });
    for (Node*& before : node->control_inputs_) before = map[static_cast<size_t>(before->id())];
  }
  if (copies != nullptr) *copies = std::move(map);
  return copy;
}

std::string NodeGraph::UniqueName(std::string_view wanted) const {
  std::string name(wanted);
  if (!by_name_.contains(name)) return name;
  int& suffix = next_suffix_[name];
  std::string candidate;
  do candidate = StrCat(name, "_", ++suffix);
  while (by_name_.contains(candidate));
  return candidate;
}

UseMap::UseMap(const NodeGraph& graph) : uses_(graph.nodes().size()) {
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (node->input(i).node != nullptr)
        uses_[static_cast<size_t>(node->input(i).node->id())].push_back({node.get(), i});
    }
    for (const Node* before : node->control_inputs())
      uses_[static_cast<size_t>(before->id())].push_back({node.get(), -1});
  }
}

std::vector<UseMap::Use> UseMap::uses(Endpoint output) const {
  std::vector<Use> matching;
  for (const Use& use : uses(*output.node)) {
    if (use.input >= 0 && use.node->input(use.input).index == output.index) matching.push_back(use);
  }
  return matching;
}

}  // namespace carillon
