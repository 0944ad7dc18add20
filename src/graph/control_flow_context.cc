#include "graph/control_flow_context.h"

#include <algorithm>

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/graph_state.h"

namespace carillon {
namespace {

// Values leave a branch through ops that are dead when it is not taken, but a loop only through its
// Exits.
Status CheckNotInInnerLoop(const Graph& graph, const Output& value,
                           const ControlFlowContext* until) {
  for (const ControlFlowContext* c = ContextOf(graph, *value.node()); c != until; c = c->outer()) {
    if (!c->is_loop()) continue;
    return InvalidArgument("'", value.name(), "' is inside the loop '", c->name(),
                           "' and cannot be used outside of it: return it from the loop's body");
  }
  return absl::OkStatus();
}

bool IsRef(const Output& value) { return value.node()->output(value.index()).is_ref; }

bool IsLoopConstant(const Endpoint& input) {
  return (input.node->op() == "Enter" || input.node->op() == "RefEnter") &&
         input.node->attr<bool>("is_constant");
}

}  // namespace

ControlFlowContext* ContextOf(const Graph& graph, const Node& node) {
  const auto& contexts = graph.state().context_of;
  const auto found = contexts.find(node.id());
  return found == contexts.end() ? nullptr : found->second;
}

void PlaceBeside(Graph& graph, const Node& node, const Node& neighbour) {
  auto& contexts = graph.state().context_of;
  if (ControlFlowContext* context = ContextOf(graph, neighbour)) {
    contexts.insert_or_assign(node.id(), context);
  } else {
    contexts.erase(node.id());
  }
}

void KeepContext(Graph& graph, std::unique_ptr<ControlFlowContext> context) {
  graph.state().contexts.push_back(std::move(context));
}

bool ControlFlowContext::Contains(const Node* node) const {
  const ControlFlowContext* c = ContextOf(graph_, *node);
  while (c != nullptr && c != this) c = c->outer();
  return c == this;
}

Output ControlFlowContext::Capture(const Output& value) {
  if (Contains(value.node())) {
    ThrowIfError(CheckNotInInnerLoop(graph_, value, this));
    return value;
  }
  const std::pair<int, int> key(value.node()->id(), value.index());
  if (const auto found = captured_.find(key); found != captured_.end()) return found->second;
  Output outside = value;
  if (outer_ != nullptr) {
    outside = outer_->Capture(value);
  } else {
    ThrowIfError(CheckNotInInnerLoop(graph_, value, nullptr));
  }
  Output inside;
  {
    const ContextScope scope(graph_, outer_);
    const ControlDependencies none(graph_, nullptr);
    inside = BringIn(outside);
  }
  AddOp(inside.node());
  captured_.emplace(key, inside);
  return inside;
}

Node* ControlFlowContext::CaptureControl(Node* before) {
  return outer_ == nullptr || Contains(before) ? before : outer_->CaptureControl(before);
}

void ControlFlowContext::Adopt(NodeInit& init) {
  for (Endpoint& input : init.inputs) {
    if (input.node == nullptr) continue;
    const Output inside = Capture(Output(input.node, input.index));
    input = {inside.node(), inside.index()};
  }
  for (Node*& before : init.control_inputs) before = CaptureControl(before);
  if (init.inputs.empty() && pivot_ != nullptr) init.control_inputs.push_back(pivot_);
}

void ControlFlowContext::AddOp(Node* node) {
  graph_.state().context_of.insert_or_assign(node->id(), this);
}

BranchContext::BranchContext(Graph& graph, std::string name, ControlFlowContext* outer, Output pred,
                             bool branch, Node* pivot)
    : ControlFlowContext(graph, std::move(name), outer), pred_(pred), branch_(branch) {
  pivot_ = pivot;
  AddOp(pivot);
}

Output BranchContext::BringIn(const Output& value) {
  const Operation op =
      OpBuilder(IsRef(value) ? "RefSwitch" : "Switch").Name("Switch").Arg(value).Arg(pred_).Build();
  return op.output(branch_ ? 1 : 0);
}

LoopContext::LoopContext(Graph& graph, std::string frame_name, ControlFlowContext* outer,
                         int parallel_iterations)
    : ControlFlowContext(graph, std::move(frame_name), outer),
      parallel_iterations_(parallel_iterations) {}

void LoopContext::Adopt(NodeInit& init) {
  ControlFlowContext::Adopt(init);
  // Loop constants are there in every iteration, also in the one that is not to be.
  const bool free = init.control_inputs.empty() && std::ranges::all_of(init.inputs, IsLoopConstant);
  if (free && pivot_ != nullptr) init.control_inputs.push_back(pivot_);
}

Node* LoopContext::CaptureControl(Node* before) {
  if (Contains(before)) return before;
  const auto [at, is_new] = tokens_.try_emplace(before->id(), nullptr);
  if (!is_new) return at->second;
  // A control dependency cannot cross into a frame, but a value that waits for the op can.
  Output token;
  {
    const ContextScope scope(graph(), outer());
    const ControlDependencies none(graph(), nullptr);
    token = OpBuilder(graph(), "Const")
                .Name("control_token")
                .Attr("value", Tensor::Scalar<int32_t>(0))
                .Attr("dtype", DType::kInt32)
                .After(Operation(before));
  }
  return at->second = Capture(token).node();
}

Output LoopContext::Enter(const Output& value, bool is_constant) {
  return OpBuilder(IsRef(value) ? "RefEnter" : "Enter")
      .Name("Enter")
      .Arg(value)
      .Attr("frame_name", name())
      .Attr("is_constant", is_constant)
      .Attr("parallel_iterations", parallel_iterations_);
}

Output LoopContext::EnterVariable(const Output& value) {
  const ContextScope scope(graph(), outer());
  Output entered = Enter(value, false);
  AddOp(entered.node());
  return entered;
}

Output LoopContext::OpenMerge(const Output& entered, const PartialShape& invariant) {
  // Until the loop is closed the entered value stands in for what comes back, so that the graph is
  // well-formed even when the body throws.
  const Output merged = OpBuilder("Merge").Args(std::vector<Output>{entered, entered});
  merged.node()->mutable_output(0).shape = invariant;
  return merged;
}

LoopContext::Choice LoopContext::Switch(const Output& merged) {
  const Operation op = OpBuilder("Switch").Arg(merged).Arg(condition_).Build();
  return {.body = OpBuilder("Identity").Arg(op.output(1)), .switch_node = op.node()};
}

Status LoopContext::CheckInvariant(const Output& merged, const Output& next) {
  const PartialShape invariant = merged.shape();
  PartialShape refined;
  if (!invariant.MergeWith(next.shape(), &refined) || !(refined == next.shape())) {
    return InvalidArgument("the loop variable '", merged.node()->input(0).node->name(),
                           "' enters with shape ", invariant.ToString(), " but has shape ",
                           next.shape().ToString(),
                           " after an iteration: give a shape invariant that fits both");
  }
  return absl::OkStatus();
}

void LoopContext::CloseMerge(const Output& merged, const Output& next) {
  const Output fed_back = OpBuilder("NextIteration").Arg(next);
  ThrowIfError(graph().nodes().SetInput(merged.node(), 1, {fed_back.node(), fed_back.index()}));
}

Output LoopContext::Exit(const Choice& choice) {
  const Output exit = OpBuilder("Exit").Arg(Output(choice.switch_node, 0));
  if (outer() == nullptr) {
    graph().state().context_of.erase(exit.node()->id());
  } else {
    outer()->AddOp(exit.node());
  }
  return exit;
}

GraftContext::GraftContext(Graph& graph, const Node& neighbour)
    : ControlFlowContext(graph, "", nullptr), neighbour_(neighbour) {}

void GraftContext::AddOp(Node* node) { PlaceBeside(graph(), *node, neighbour_); }

ContextScope::ContextScope(Graph& graph, ControlFlowContext* context)
    : graph_(graph), outer_(graph.state().context) {
  graph.state().context = context;
}
ContextScope::~ContextScope() { graph_.state().context = outer_; }

Status CheckOutsideLoops(const Graph& graph, const NodeInit& init) {
  if (graph.state().context_of.empty()) return absl::OkStatus();
  for (const Endpoint& input : init.inputs) {
    if (input.node == nullptr) continue;
    CARILLON_RETURN_IF_ERROR(CheckNotInInnerLoop(graph, Output(input.node, input.index), nullptr));
  }
  return absl::OkStatus();
}

}  // namespace carillon
