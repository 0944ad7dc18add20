#include "graph/loop_gradient.h"

#include <algorithm>

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/graph_state.h"

namespace carillon {
namespace {

Output IntConstant(Graph& graph, int32_t value) {
  return OpBuilder(graph, "Const")
      .Attr("value", Tensor::Scalar<int32_t>(value))
      .Attr("dtype", DType::kInt32);
}

Output OutputOf(const Endpoint& endpoint) { return Output(endpoint.node, endpoint.index); }

Output EnterFrame(const Output& value, const Loop& loop, bool is_constant) {
  return OpBuilder("Enter")
      .Arg(value)
      .Attr("frame_name", loop.name)
      .Attr("is_constant", is_constant)
      .Attr("parallel_iterations", loop.parallel_iterations);
}

// What the body of the loop reads of a variable: its value when the loop goes on.
Output BodyInput(const LoopVariable& variable) {
  return variable.switch_node == nullptr ? Output(variable.merge, 0)
                                         : Output(variable.switch_node, 1);
}

}  // namespace

BackwardLoopContext::BackwardLoopContext(Graph& graph, std::string frame_name,
                                         ControlFlowContext* outer, const Loop& forward,
                                         LoopMap* loops)
    : LoopContext(graph, std::move(frame_name), outer, forward.parallel_iterations),
      forward_(forward),
      loops_(loops) {
  BuildForwardCounter();
}

BackwardLoopContext* BackwardLoopContext::outer_backward() const {
  return dynamic_cast<BackwardLoopContext*>(outer());
}

void BackwardLoopContext::BuildForwardCounter() {
  const NameScope scope(graph(), "f_count");
  const ControlDependencies none(graph(), nullptr);
  const Output first = OutputOf(forward_.variables.front().enter->input(0));
  GraftContext outside(graph(), *first.node());
  GraftContext inside(graph(), *forward_.variables.front().merge);
  Output entered;
  {
    const ContextScope context(graph(), &outside);
    // The count starts where the loop does: in the same frame, and dead when the loop is.
    const Output anchor = OpBuilder("Identity").Arg(first);
    OpBuilder zero(graph(), "Const");
    zero.Attr("value", Tensor::Scalar<int32_t>(0)).Attr("dtype", DType::kInt32);
    zero.After(anchor.op());
    // Pushes of one run of this loop come after those of the run in the outer loop's iteration
    // before.
    if (outer_backward() != nullptr) zero.After(Operation(outer_backward()->counter_.in_body));
    entered = EnterFrame(zero, forward_, false);
  }
  PlaceBeside(graph(), *entered.node(), *forward_.variables.front().merge);
  const ContextScope context(graph(), &inside);
  const Output merged = OpBuilder("Merge").Args(std::vector<Output>{entered, entered});
  const Operation choice =
      OpBuilder("Switch").Arg(merged).Arg(Output(forward_.condition, 0)).Build();
  const Output in_body = OpBuilder("Identity").Arg(choice.output(1));
  const Output one = OpBuilder(graph(), "Const")
                         .Attr("value", Tensor::Scalar<int32_t>(1))
                         .Attr("dtype", DType::kInt32)
                         .After(in_body.op());
  const Operation sync = OpBuilder(graph(), "ControlTrigger").After(in_body.op()).Build();
  const Output count = OpBuilder("AddV2").Arg(in_body).Arg(one).After(sync);
  const Output next = OpBuilder("NextIteration").Arg(count);
  ThrowIfError(graph().nodes().SetInput(merged.node(), 1, {next.node(), 0}));
  const Output total = OpBuilder("Exit").Arg(choice.output(0));
  PlaceBeside(graph(), *total.node(), *first.node());
  loops_->AddLike(*total.node(), first);
  counter_ = {.in_body = in_body.node(), .sync = sync.node(), .total = total};
}

void BackwardLoopContext::AddToSync(Node* node) { graph().nodes().AddControlInput(sync_, node); }

BackwardLoopContext* BackwardLoopContext::OwnerOf(const Output& value) {
  if (IsConstantEnter(*value.node()) || value.node()->op() == "Const") return nullptr;
  const int frame = loops_->FrameOf(*value.node());
  BackwardLoopContext* context = this;
  while (context != nullptr && context->forward_.frame != frame)
    context = context->outer_backward();
  return context;
}

bool BackwardLoopContext::MovesForward(std::string_view op, const Output& input) {
  // Their results are small: better to compute them in the forward loop and keep these.
  return (op == "Shape" || op == "Size" || op == "Rank") && OwnerOf(input) != nullptr;
}

void BackwardLoopContext::Adopt(NodeInit& init) {
  if (init.inputs.size() == 1 && MovesForward(init.op, OutputOf(init.inputs[0]))) {
    init.control_inputs.clear();
    return;
  }
  LoopContext::Adopt(init);
}

void BackwardLoopContext::AddOp(Node* node) {
  if (node->num_inputs() == 1 && MovesForward(node->op(), OutputOf(node->input(0)))) {
    PlaceBeside(graph(), *node, *node->input(0).node);
    loops_->AddLike(*node, OutputOf(node->input(0)));
    return;
  }
  LoopContext::AddOp(node);
}

Output BackwardLoopContext::Capture(const Output& value) {
  Node* node = value.node();
  if (loops_->FrameOf(*node) != forward_.frame) return LoopContext::Capture(value);
  if (IsConstantEnter(*node)) return Capture(OutputOf(node->input(0)));
  const auto [found, is_new] = popped_.try_emplace({node->id(), value.index()});
  if (!is_new) return found->second;
  const ControlDependencies none(graph(), nullptr);
  if (node->op() == "Const") {
    const ContextScope context(graph(), this);
    const auto& constant = node->attr<Tensor>("value");
    return found->second =
               OpBuilder(graph(), "Const").Attr("value", constant).Attr("dtype", constant.dtype());
  }
  const Output popped = PopForward(value);
  return popped_[{node->id(), value.index()}] = popped;
}

Output BackwardLoopContext::PopForward(const Output& value) {
  const Output stack = MakeStack(value);
  const Output entered = EnterForward(stack);
  {
    GraftContext beside(graph(), *value.node());
    const ContextScope context(graph(), &beside);
    const Operation push =
        OpBuilder("StackPushV2").Arg(entered).Arg(value).After(Operation(counter_.in_body)).Build();
    graph().nodes().AddControlInput(counter_.sync, push.node());
  }
  const ContextScope context(graph(), this);
  Output handle = LoopContext::Capture(stack);
  // What was not pushed, because its branch was not taken, must not be popped.
  for (const auto& [pred, wanted] : loops_->GuardsOf(value)) {
    handle = OpBuilder("Switch").Arg(handle).Arg(Capture(pred)).Build().output(wanted ? 1 : 0);
  }
  const Output popped = OpBuilder("StackPopV2").Arg(handle).Attr("elem_type", value.dtype());
  popped.node()->mutable_output(0).shape = value.shape();
  AddToSync(popped.node());
  return popped;
}

Output BackwardLoopContext::MakeStack(const Output& value) {
  const BackwardLoopContext* outermost = this;
  while (outermost->outer_backward() != nullptr) outermost = outermost->outer_backward();
  const Node& first = *outermost->forward_.variables.front().enter->input(0).node;
  const ContextScope context(graph(), ContextOf(graph(), first));
  return OpBuilder(graph(), "StackV2")
      .Arg(IntConstant(graph(), -1))
      .Attr("elem_type", value.dtype());
}

Output BackwardLoopContext::EnterForward(const Output& handle) {
  const BackwardLoopContext* outside = outer_backward();
  const Output visible = outside == nullptr ? handle : outer_backward()->EnterForward(handle);
  GraftContext inside(graph(), *forward_.variables.front().merge);
  const ContextScope context(graph(), &inside);
  return EnterFrame(visible, forward_, true);
}

void LoopGradient::FindActive(const std::vector<Gradient>& exit_grads,
                              const std::function<bool(const Output&)>& is_connected) {
  const size_t n = loop_.variables.size();
  for (Node* enter : loop_.invariants) {
    if (IsTrainable(Output(enter, 0)) && is_connected(OutputOf(enter->input(0))))
      invariants_.push_back(enter);
  }
  // Which variables the next value of each is computed from, and whether invariants come in.
  std::vector<Output> inputs;
  for (const LoopVariable& variable : loop_.variables) {
    inputs.push_back(BodyInput(variable));
    inputs.emplace_back(variable.merge, 0);
  }
  for (Node* enter : invariants_) inputs.emplace_back(enter, 0);
  std::vector<std::vector<bool>> reads(n, std::vector<bool>(n, false));
  std::vector<bool> connected(n, false), wanted(n, false);
  const BackwardPass body(graph_, loop_.frame, options_);
  for (size_t i = 0; i < n; ++i) {
    const LoopVariable& variable = loop_.variables[i];
    if (!IsTrainable(Output(variable.merge, 0))) continue;
    const std::vector<bool> depends = body.DependsOn(OutputOf(variable.next->input(0)), inputs);
    for (size_t j = 0; j < n; ++j) reads[i][j] = depends[2 * j] || depends[2 * j + 1];
    connected[i] = is_connected(OutputOf(variable.enter->input(0))) ||
                   std::find(depends.begin() + static_cast<int64_t>(2 * n), depends.end(), true) !=
                       depends.end();
    wanted[i] = !exit_grads[i].empty();
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) {
        if (!reads[i][j]) continue;
        if (connected[j] && !connected[i]) connected[i] = changed = true;
        if (wanted[i] && !wanted[j]) wanted[j] = changed = true;
      }
    }
  }
  for (size_t i = 0; i < n; ++i) {
    if (connected[i] && wanted[i] && IsTrainable(Output(loop_.variables[i].merge, 0)))
      active_.push_back(i);
  }
}

Output LoopGradient::InitialGradient(size_t i, const Gradient& exit_grad) {
  if (!exit_grad.empty()) return exit_grad.Dense();
  const LoopVariable& variable = loop_.variables[i];
  if (!variable.exits.empty()) return FillLike(Output(variable.exits.front(), 0), 0.0);
  GraftContext beside(graph_, *variable.enter->input(0).node);
  Output last;
  {
    const ContextScope context(graph_, &beside);
    last = OpBuilder("Exit").Arg(Output(variable.switch_node, 0));
  }
  options_.loops->AddLike(*last.node(), OutputOf(variable.enter->input(0)));
  return FillLike(last, 0.0);
}

void LoopGradient::OpenCounter(BackwardLoopContext& context) {
  const NameScope scope(graph_, "b_count");
  const Output entered = context.EnterVariable(context.counter().total);
  const Output merged = context.OpenMerge(entered, Shape{});
  context.set_pivot(merged);
  const Output more = OpBuilder("GreaterEqual").Arg(merged).Arg(IntConstant(graph_, 1));
  context.set_condition(OpBuilder("LoopCond").Arg(more));
  const LoopContext::Choice choice = context.Switch(merged);
  context.set_pivot(choice.body);
  const Operation sync = OpBuilder(graph_, "ControlTrigger").After(choice.body.op()).Build();
  context.set_sync(sync.node());
  const Output rest = OpBuilder("Sub").Arg(choice.body).Arg(IntConstant(graph_, 1)).After(sync);
  context.CloseMerge(merged, rest);
  const Output done = context.Exit(choice);
  // The pops of this run come before those of the run in the outer loop's next iteration.
  if (auto* outer = dynamic_cast<BackwardLoopContext*>(context.outer()))
    outer->AddToSync(done.node());
}

LoopGradient::Carried LoopGradient::Open(BackwardLoopContext& context, const Output& initial,
                                         const PartialShape& shape) {
  const Output merged = context.OpenMerge(context.EnterVariable(initial), shape);
  return {.merged = merged, .choice = context.Switch(merged)};
}

void LoopGradient::Build(const std::vector<Gradient>& exit_grads,
                         const std::function<bool(const Output&)>& is_connected,
                         const std::function<void(const Output&, Gradient)>& deliver) {
  FindActive(exit_grads, is_connected);
  if (active_.empty()) return;
  std::vector<Output> initial;
  for (const size_t i : active_) initial.push_back(InitialGradient(i, exit_grads[i]));

  auto& context =
      NewContext<BackwardLoopContext>(graph_, graph_.state().name_scope + "while_context",
                                      graph_.state().context, loop_, options_.loops);
  const ContextScope inside(graph_, &context);
  const ControlDependencies none(graph_, nullptr);
  OpenCounter(context);
  std::vector<Carried> carried;
  std::vector<Output> ys, xs;
  std::vector<Gradient> y_grads;
  for (size_t i = 0; i < active_.size(); ++i) {
    const LoopVariable& variable = loop_.variables[active_[i]];
    carried.push_back(Open(context, initial[i], Output(variable.merge, 0).shape()));
    ys.push_back(OutputOf(variable.next->input(0)));
    y_grads.push_back(carried.back().choice.body);
    xs.push_back(BodyInput(variable));
    xs.emplace_back(variable.merge, 0);
  }
  for (Node* enter : invariants_) xs.emplace_back(enter, 0);
  const std::vector<Gradient> grads =
      BackwardPass(graph_, loop_.frame, options_).Run(ys, y_grads, xs);

  for (size_t i = 0; i < active_.size(); ++i) {
    const LoopVariable& variable = loop_.variables[active_[i]];
    Gradient next = SumGradients({grads[2 * i], grads[2 * i + 1]});
    if (next.empty()) next = FillLike(BodyInput(variable), 0.0);
    context.CloseMerge(carried[i].merged, next.Dense());
    deliver(OutputOf(variable.enter->input(0)), context.Exit(carried[i].choice));
  }
  for (size_t i = 0; i < invariants_.size(); ++i) {
    const Gradient& part = grads[2 * active_.size() + i];
    if (part.empty()) continue;
    const Output value = OutputOf(invariants_[i]->input(0));
    Output zeros;
    {
      const ContextScope outside(graph_, context.outer());
      zeros = FillLike(value, 0.0);
    }
    const Carried sum = Open(context, zeros, zeros.shape());
    const Output next = OpBuilder("AddV2").Arg(sum.choice.body).Arg(part.Dense());
    context.CloseMerge(sum.merged, next);
    deliver(value, context.Exit(sum.choice));
  }
}

}  // namespace carillon
