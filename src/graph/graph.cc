#include "carillon/graph.h"

#include <algorithm>

#include "base/strings.h"
#include "base/throw.h"
#include "graph/device_name.h"
#include "graph/graph_def.h"
#include "graph/graph_state.h"
#include "graph/graphviz.h"

namespace carillon {

Graph& Output::graph() const { return op().graph(); }
Operation Output::op() const { return Operation(node_); }
std::string Output::name() const { return StrCat(op().name(), ":", index_); }
DType Output::dtype() const {
  return node_ == nullptr ? DType::kInvalid : node_->output(index_).dtype;
}
PartialShape Output::shape() const {
  return node_ == nullptr ? PartialShape() : node_->output(index_).shape;
}

Graph& Operation::graph() const {
  if (node_ == nullptr || node_->graph().owner() == nullptr)
    Throw(InvalidArgument("an Output or Operation that refers to nothing was used"));
  return *node_->graph().owner();
}
const std::string& Operation::name() const {
  graph();  // throws when there is none
  return node_->name();
}
const std::string& Operation::type() const { return node_->op(); }
const std::string& Operation::device() const { return node_->device(); }
int Operation::num_inputs() const { return node_->num_inputs(); }
Output Operation::input(int i) const { return Output(node_->input(i).node, node_->input(i).index); }
int Operation::num_outputs() const { return node_->num_outputs(); }
Output Operation::output(int i) const {
  if (i < 0 || i >= num_outputs()) {
    Throw(OutOfRange("node ", node_->Describe(), " has ", num_outputs(),
                     " outputs: there is no output ", i));
  }
  return Output(node_, i);
}

Graph::Graph() : state_(std::make_unique<State>()) { state_->nodes.set_owner(this); }
Graph::~Graph() = default;

NodeGraph& Graph::nodes() const { return state_->nodes; }

void Graph::ImportBinary(std::string_view graph_def, const std::string& prefix) {
  if (frozen()) Throw(FailedPrecondition("the graph is frozen: nothing can be imported"));
  ThrowIfError(ImportGraphDefBinary(graph_def, prefix, &nodes()));
}
void Graph::ImportText(std::string_view graph_def, const std::string& prefix) {
  if (frozen()) Throw(FailedPrecondition("the graph is frozen: nothing can be imported"));
  ThrowIfError(ImportGraphDefText(graph_def, prefix, &nodes()));
}
std::string Graph::ExportBinary() const { return ExportGraphDefBinary(nodes()); }
std::string Graph::ExportText() const { return ExportGraphDefText(nodes()); }
std::string Graph::ExportGraphviz() const { return ToGraphviz(nodes()); }

Operation Graph::FindOperation(std::string_view name) const {
  return Operation(ValueOrThrow(FindNode(nodes(), name)));
}

Output Graph::FindOutput(std::string_view name) const {
  return ValueOrThrow([&]() -> StatusOr<Output> {
    CARILLON_ASSIGN_OR_RETURN(const Endpoint found, FindEndpoint(nodes(), name));
    return Output(found.node, found.index);
  }());
}

std::vector<Operation> Graph::operations() const {
  std::vector<Operation> all;
  for (const auto& node : nodes().nodes()) {
    if (node != nullptr) all.emplace_back(node.get());
  }
  return all;
}

void Graph::Freeze() { state_->frozen = true; }
void Graph::Unfreeze() { state_->frozen = false; }
bool Graph::frozen() const { return state_->frozen; }
void Graph::SetSeed(int64_t seed) { state_->seed = seed; }

void Graph::AddToCollection(const std::string& key, const Output& output) {
  state_->collections[key].push_back(output);
}
std::vector<Output> Graph::Collection(const std::string& key) const {
  const auto found = state_->collections.find(key);
  return found == state_->collections.end() ? std::vector<Output>() : found->second;
}

NameScope::NameScope(Graph& graph, std::string_view name)
    : graph_(graph), outer_(graph.state().name_scope) {
  Graph::State& state = graph.state();
  if (name.ends_with('/')) {
    prefix_ = name;
  } else {
    prefix_ = StrCat(outer_, name);
    const int times = state.used_scopes[prefix_]++;
    if (times > 0) StrAppend(&prefix_, "_", times);
    prefix_ += "/";
  }
  state.name_scope = prefix_ == "/" ? "" : prefix_;
}
NameScope::~NameScope() { graph_.state().name_scope = outer_; }

DeviceScope::DeviceScope(Graph& graph, std::string device) : graph_(graph) {
  ThrowIfError(ParseDeviceName(device).status());
  graph.state().devices.push_back({.device = std::move(device)});
}
DeviceScope::DeviceScope(Graph& graph, DeviceFunction function) : graph_(graph) {
  graph.state().devices.push_back({.function = std::move(function)});
}
DeviceScope::DeviceScope(Graph& graph, std::nullptr_t) : graph_(graph) {
  graph.state().devices.push_back({});
}
DeviceScope::~DeviceScope() { graph_.state().devices.pop_back(); }

ControlDependencies::ControlDependencies(Graph& graph, std::vector<Operation> before)
    : graph_(graph) {
  ControlLayer layer;
  for (const Operation& op : before) layer.before.push_back(op.node());
  graph.state().controls.push_back(std::move(layer));
}
ControlDependencies::ControlDependencies(Graph& graph, std::nullptr_t) : graph_(graph) {
  graph.state().controls.push_back({.clear = true});
}
ControlDependencies::~ControlDependencies() { graph_.state().controls.pop_back(); }

ColocateWith::ColocateWith(Graph& graph, Operation with) : graph_(graph) {
  graph.state().colocations.push_back(with.node());
}
ColocateWith::~ColocateWith() { graph_.state().colocations.pop_back(); }

namespace {

// Innermost scope first; an outer one only fills what is still open. A None scope ends the walk.
Status ApplyDeviceScopes(const Graph::State& state, Node* node) {
  CARILLON_ASSIGN_OR_RETURN(DeviceName merged, ParseDeviceName(node->device()));
  for (auto layer = state.devices.rbegin(); layer != state.devices.rend(); ++layer) {
    if (!layer->function && !layer->device.has_value()) break;
    std::string device;
    if (layer->function) {
      node->set_device(merged.ToString());
      device = layer->function(Operation(node));
    } else {
      device = *layer->device;
    }
    CARILLON_ASSIGN_OR_RETURN(const DeviceName outer, ParseDeviceName(device));
    if (layer->function) {
      merged = outer;  // a function sees the op's device and returns the whole of it
    } else {
      merged.FillFrom(outer);
    }
  }
  node->set_device(merged.ToString());
  return absl::OkStatus();
}

}  // namespace

StatusOr<Node*> AddUnderScopes(Graph& graph, NodeInit init) {
  Graph::State& state = graph.state();
  if (state.frozen)
    return FailedPrecondition("the graph is frozen: node '", init.name, "' (", init.op,
                              ") cannot be added");
  for (auto layer = state.controls.rbegin(); layer != state.controls.rend() && !layer->clear;
       ++layer) {
    init.control_inputs.insert(init.control_inputs.end(), layer->before.begin(),
                               layer->before.end());
  }
  if (state.context == nullptr) {
    CARILLON_RETURN_IF_ERROR(CheckOutsideLoops(graph, init));
  } else {
    CARILLON_RETURN_IF_ERROR(CatchAsStatus([&] { state.context->Adopt(init); }));
  }
  init.name = state.nodes.UniqueName(StrCat(state.name_scope, init.name));
  // What a node reads already runs before it.
  std::erase_if(init.control_inputs, [&](const Node* before) {
    return std::ranges::any_of(init.inputs,
                               [&](const Endpoint& input) { return input.node == before; });
  });
  if (!state.colocations.empty()) {
    const Node* with = state.colocations.back();
    std::vector<std::string> groups;
    if (const AttrValue* existing = with->FindAttr("_class"))
      groups = *existing->get_if<std::vector<std::string>>();
    if (groups.empty()) groups.push_back(StrCat("loc:@", with->name()));
    init.attrs.insert_or_assign("_class", AttrValue(std::move(groups)));
    if (init.device.empty()) init.device = with->device();
  }
  CARILLON_ASSIGN_OR_RETURN(Node * node, state.nodes.Add(std::move(init)));
  if (state.context != nullptr) state.context->AddOp(node);
  if (state.colocations.empty()) CARILLON_RETURN_IF_ERROR(ApplyDeviceScopes(state, node));
  return node;
}

}  // namespace carillon
