#include <algorithm>

#include "base/strings.h"
#include "graph/device_name.h"
#include "graph/frames.h"
#include "graph/function_gradient.h"
#include "graph/node_mark.h"
#include "graph/passes/function_expansion.h"

namespace carillon {
namespace {

// A graph may be small and yet stand for more nodes than any memory holds.
constexpr int64_t kMaxAddedNodes = 1 << 19;
constexpr int kMaxDepth = 100;

StatusOr<std::string> InheritedDevice(const std::string& own, const std::string& outer) {
  if (outer.empty()) return own;
  if (own.empty()) return outer;
  CARILLON_ASSIGN_OR_RETURN(DeviceName device, ParseDeviceName(own));
  CARILLON_ASSIGN_OR_RETURN(const DeviceName open, ParseDeviceName(outer));
  device.FillFrom(open);
  return device.ToString();
}

// Attributes that name something else in the body: frames and neighbours.
void RenameReferences(const std::string& prefix, const FunctionBody& body, NodeInit* init) {
  if (init->op == "Enter" || init->op == "RefEnter") {
    AttrValue& frame = init->attrs.at("frame_name");
    frame = AttrValue(StrCat(prefix, *frame.get_if<std::string>()));
  }
  const auto found = init->attrs.find("_class");
  if (found == init->attrs.end()) return;
  const auto* groups = found->second.get_if<std::vector<std::string>>();
  if (groups == nullptr) return;
  constexpr std::string_view kNeighbour = "loc:@";
  std::vector<std::string> renamed;
  for (const std::string& group : *groups) {
    const Node* neighbour = group.starts_with(kNeighbour)
                                ? body.graph.nodes().Find(group.substr(kNeighbour.size()))
                                : nullptr;
    if (neighbour == nullptr || neighbour->op() == "_Arg") continue;
    renamed.push_back(StrCat(kNeighbour, prefix, neighbour->name()));
  }
  if (renamed.empty()) {
    init->attrs.erase(found);
  } else {
    found->second = AttrValue(std::move(renamed));
  }
}

}  // namespace

FunctionExpansion::FunctionExpansion(NodeGraph* graph)
    : graph_(*graph), rewiring_(graph), first_added_(graph->num_nodes()) {
  for (const auto& node : graph_.nodes())
    has_control_flow_ |= node != nullptr && IsControlFlow(*node);
}

Status FunctionExpansion::Run() {
  // What is added comes later in the list, so that it is expanded in its turn.
  for (int id = 0; id < graph_.num_nodes(); ++id) {
    Node* node = graph_.nodes()[static_cast<size_t>(id)].get();
    if (node == nullptr) continue;
    if (const Status status = Expand(node); !status.ok()) {
      return Status(status.code(),
                    StrCat("node ", node->Describe(), ": ", status.message(), NodeMark(*node)));
    }
  }
  if (graph_.num_nodes() == first_added_) return absl::OkStatus();
  rewiring_.Finish();
  RemoveUnused(&graph_);
  return absl::OkStatus();
}

Status FunctionExpansion::Expand(Node* node) {
  const std::string& op = node->op();
  if (op == "If" || op == "StatelessIf") return LowerIf(node);
  if (op == "Case" || op == "StatelessCase") return LowerCase(node);
  if (op == "While" || op == "StatelessWhile") return LowerWhile(node);
  if (op == "For") return LowerFor(node);
  if (op == "SymbolicGradient") {
    const FunctionRef function = node->attr<FunctionRef>("f");
    return Inline(node, {.name = "SymbolicGradient", .attrs = {{"f", AttrValue(function)}}},
                  node->inputs(), node->device());
  }
  if (!IsFunctionCall(*node)) return absl::OkStatus();
  std::vector<Endpoint> inputs = node->inputs();
  std::string device = node->device();
  if (op == "RemoteCall") {
    const Node* target = inputs.front().node;
    if (target->op() != "Const" || target->attr<Tensor>("value").num_elements() != 1)
      return Unimplemented("the target of a RemoteCall has to be a constant");
    CARILLON_ASSIGN_OR_RETURN(
        device, InheritedDevice(target->attr<Tensor>("value").data<std::string>()[0], device));
    inputs.erase(inputs.begin());
  }
  return Inline(node, CalledFunction(*node), std::move(inputs), device);
}

StatusOr<const FunctionBody*> FunctionExpansion::BodyOf(const FunctionRef& function,
                                                        const std::string& key) {
  std::unique_ptr<FunctionBody>& body = bodies_[key];
  if (body != nullptr) return body.get();
  if (graph_.functions() == nullptr)
    return NotFound("the graph has no library, but function '", function.name, "' is called");
  if (function.name == "SymbolicGradient") {
    CARILLON_ASSIGN_OR_RETURN(
        body, InstantiateGradient(*graph_.functions(),
                                  *function.attrs.front().second.get_if<FunctionRef>()));
  } else {
    CARILLON_ASSIGN_OR_RETURN(body, graph_.functions()->Instantiate(function));
  }
  return body.get();
}

Status FunctionExpansion::OpenScope(const Node& call, const FunctionRef& function,
                                    const std::string& key, const FunctionBody& body) {
  const int outer = ScopeOf(call);
  for (int scope = outer; scope >= 0; scope = scopes_[static_cast<size_t>(scope)].outer) {
    if (scopes_[static_cast<size_t>(scope)].function == key)
      return Unimplemented("function '", function.name, "' calls itself");
  }
  const int depth = outer < 0 ? 1 : scopes_[static_cast<size_t>(outer)].depth + 1;
  if (depth > kMaxDepth)
    return InvalidArgument("function '", function.name, "' is called more than ", kMaxDepth,
                           " calls deep");
  const int64_t added = graph_.num_nodes() - first_added_ + body.graph.nodes().num_nodes();
  if (added > kMaxAddedNodes)
    return ResourceExhausted("the calls of functions stand for more than ", kMaxAddedNodes,
                             " nodes; the limit is passed in function '", function.name, "'");
  scopes_.push_back({.function = key, .outer = outer, .depth = depth});
  return absl::OkStatus();
}

Status FunctionExpansion::Inline(Node* call, const FunctionRef& function,
                                 std::vector<Endpoint> inputs, const std::string& device) {
  const std::string key = AttrValue(function).ToString();
  CARILLON_ASSIGN_OR_RETURN(const FunctionBody* body, BodyOf(function, key));
  CARILLON_RETURN_IF_ERROR(CheckSignature(*call, *body, inputs));
  CARILLON_RETURN_IF_ERROR(OpenScope(*call, function, key, *body));

  // The body waits for what the call waits for, and is dead where the call is dead: through its
  // arguments, and for nodes without any through `start`.
  const bool guarded = has_control_flow_ || !call->control_inputs().empty();
  std::vector<Node*> started_by = call->control_inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_ref = inputs[i].node->output(inputs[i].index).is_ref;
    if (!guarded && !is_ref) continue;
    CARILLON_ASSIGN_OR_RETURN(inputs[i],
                              AddOne(*call, StrCat("input_", i), "Identity", {inputs[i]},
                                     {{"T", DTypeAt(inputs[i])}}, call->control_inputs()));
    // Whether the shapes of this call fit is found out once all are inferred anew: the call may be
    // in a branch that is not taken.
    OutputInfo& known = inputs[i].node->mutable_output(0);
    known.shape = body->args[i]->output(0).shape;
    known.handle.reset();
    known.partial_value.reset();
    started_by.push_back(inputs[i].node);
  }
  Node* start = nullptr;
  if (guarded && !started_by.empty()) {
    CARILLON_ASSIGN_OR_RETURN(start, Add(*call, "start", "NoOp", {}, {}, started_by));
  }
  std::vector<Node*> copies(body->graph.nodes().nodes().size(), nullptr);
  CARILLON_RETURN_IF_ERROR(CopyBody(*call, *body, inputs, start, device, &copies));

  const auto copied = [&](const Endpoint& value) {
    if (value.node->op() == "_Arg")
      return inputs[static_cast<size_t>(value.node->attr<int64_t>("index"))];
    return Endpoint{copies[static_cast<size_t>(value.node->id())], value.index};
  };
  std::vector<Node*> ends;
  if (start != nullptr) ends.push_back(start);
  for (const Node* effect : body->effects) {
    if (effect->op() != "_Arg") ends.push_back(copies[static_cast<size_t>(effect->id())]);
  }
  for (const Endpoint& result : body->results) {
    const Endpoint value = copied(result);
    if (body->effects.empty() && !IsSwitch(*value.node)) ends.push_back(value.node);
  }
  CARILLON_ASSIGN_OR_RETURN(Node * end, Add(*call, "end", "NoOp", {}, {}, std::move(ends)));
  rewiring_.RedirectControl(call, end);
  for (size_t i = 0; i < body->results.size(); ++i) {
    Endpoint value = copied(body->results[i]);
    if (!body->effects.empty() || value.node->output(value.index).is_ref) {
      CARILLON_ASSIGN_OR_RETURN(value, AddOne(*call, StrCat("output_", i), "Identity", {value},
                                              {{"T", DTypeAt(value)}}, {end}));
    }
    rewiring_.Redirect({call, static_cast<int>(i)}, value);
  }
  return absl::OkStatus();
}

Status FunctionExpansion::CheckSignature(const Node& call, const FunctionBody& body,
                                         const std::vector<Endpoint>& inputs) {
  if (inputs.size() != body.args.size())
    return InvalidArgument("function '", body.name, "' takes ", body.args.size(),
                           " arguments but is given ", inputs.size());
  if (static_cast<size_t>(call.num_outputs()) != body.results.size())
    return InvalidArgument("function '", body.name, "' gives ", body.results.size(),
                           " results but ", call.num_outputs(), " are expected");
  const auto check = [&](const char* what, size_t i, DType given, DType wanted) -> Status {
    if (given == wanted) return absl::OkStatus();
    return InvalidArgument(what, " ", i, " of function '", body.name, "' is ", DTypeName(wanted),
                           ", not ", DTypeName(given));
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    CARILLON_RETURN_IF_ERROR(
        check("argument", i, DTypeAt(inputs[i]), body.args[i]->output(0).dtype));
  for (size_t i = 0; i < body.results.size(); ++i)
    CARILLON_RETURN_IF_ERROR(
        check("result", i, call.output(static_cast<int>(i)).dtype, DTypeAt(body.results[i])));
  return absl::OkStatus();
}

Status FunctionExpansion::CopyBody(const Node& call, const FunctionBody& body,
                                   const std::vector<Endpoint>& args, Node* start,
                                   const std::string& device, std::vector<Node*>* copies) {
  const int scope = static_cast<int>(scopes_.size()) - 1;
  const std::string prefix = call.name() + "/";
  struct BackEdge {
    Node* merge;
    int input;
    Endpoint from;
  };
  std::vector<BackEdge> back_edges;
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, body.graph.nodes().TopologicalOrder());
  for (const Node* node : order) {
    if (node->op() == "_Arg") continue;
    NodeInit init{.name = graph_.UniqueName(prefix + node->name()), .op = node->op()};
    std::vector<std::pair<int, Endpoint>> open;
    for (const Endpoint& from : node->inputs()) {
      if (from.node->op() == "_Arg") {
        init.inputs.push_back(args[static_cast<size_t>(from.node->attr<int64_t>("index"))]);
        continue;
      }
      Node* copy = (*copies)[static_cast<size_t>(from.node->id())];
      if (copy == nullptr) open.emplace_back(static_cast<int>(init.inputs.size()), from);
      init.inputs.push_back({copy, from.index});
    }
    for (const Node* before : node->control_inputs()) {
      Node* copy = before->op() == "_Arg" ? start : (*copies)[static_cast<size_t>(before->id())];
      if (copy != nullptr) init.control_inputs.push_back(copy);
    }
    if (init.inputs.empty() && init.control_inputs.empty() && start != nullptr)
      init.control_inputs.push_back(start);
    init.attrs = node->attrs();
    RenameReferences(prefix, body, &init);
    CARILLON_ASSIGN_OR_RETURN(init.device, InheritedDevice(node->device(), device));
    StatusOr<Node*> copy = graph_.Add(std::move(init));
    if (!copy.ok()) return copy.status();
    has_control_flow_ |= IsControlFlow(**copy);
    scope_of_[(*copy)->id()] = scope;
    (*copies)[static_cast<size_t>(node->id())] = *copy;
    for (const auto& [input, from] : open) back_edges.push_back({*copy, input, from});
  }
  for (const BackEdge& edge : back_edges) {
    Node* from = (*copies)[static_cast<size_t>(edge.from.node->id())];
    CARILLON_RETURN_IF_ERROR(graph_.SetInput(edge.merge, edge.input, {from, edge.from.index}));
  }
  return absl::OkStatus();
}

StatusOr<Node*> FunctionExpansion::Add(const Node& origin, std::string_view name,
                                       std::string_view op, std::vector<Endpoint> inputs,
                                       AttrMap attrs, std::vector<Node*> control_inputs) {
  attrs.emplace(kStandsForAttr, AttrValue(UserNameOf(origin)));
  CARILLON_ASSIGN_OR_RETURN(Node * node,
                            graph_.Add({.name = graph_.UniqueName(StrCat(origin.name(), "/", name)),
                                        .op = std::string(op),
                                        .inputs = std::move(inputs),
                                        .control_inputs = std::move(control_inputs),
                                        .attrs = std::move(attrs),
                                        .device = origin.device()}));
  if (const int scope = ScopeOf(origin); scope >= 0) scope_of_[node->id()] = scope;
  return node;
}

StatusOr<Endpoint> FunctionExpansion::AddOne(const Node& origin, std::string_view name,
                                             std::string_view op, std::vector<Endpoint> inputs,
                                             AttrMap attrs, std::vector<Node*> control_inputs) {
  CARILLON_ASSIGN_OR_RETURN(Node * node, Add(origin, name, op, std::move(inputs), std::move(attrs),
                                             std::move(control_inputs)));
  return Endpoint{node, 0};
}

StatusOr<Node*> FunctionExpansion::AddCall(const Node& origin, std::string_view name,
                                           const FunctionRef& function,
                                           std::vector<Endpoint> inputs,
                                           const std::vector<DType>& results,
                                           std::vector<Node*> control_inputs) {
  std::vector<DType> dtypes;
  for (const Endpoint& input : inputs) dtypes.push_back(DTypeAt(input));
  return Add(origin, name, "PartitionedCall", std::move(inputs),
             {{"Tin", AttrValue(std::move(dtypes))},
              {"Tout", AttrValue(results)},
              {"f", AttrValue(function)}},
             std::move(control_inputs));
}

StatusOr<Endpoint> FunctionExpansion::AddInt32(const Node& origin, std::string_view name,
                                               int32_t value, const Endpoint& with) {
  return AddOne(origin, name, "Const", {},
                {{"dtype", AttrValue(DType::kInt32)}, {"value", AttrValue(Tensor::Scalar(value))}},
                {with.node});
}

StatusOr<Endpoint> FunctionExpansion::AddBool(const Node& origin, std::string_view name,
                                              const Endpoint& value,
                                              std::vector<Node*> control_inputs) {
  const DType dtype = DTypeAt(value);
  const OutputInfo& info = value.node->output(value.index);
  const bool is_bool = dtype == DType::kBool && (!info.shape.has_rank() || info.shape.rank() == 0);
  return AddOne(origin, name, is_bool ? "Identity" : "ToBool", {value}, {{"T", AttrValue(dtype)}},
                std::move(control_inputs));
}

int FunctionExpansion::ScopeOf(const Node& node) const {
  const auto found = scope_of_.find(node.id());
  return found == scope_of_.end() ? -1 : found->second;
}

Status ExpandFunctions(NodeGraph* graph) { return FunctionExpansion(graph).Run(); }

}  // namespace carillon
