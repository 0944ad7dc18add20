#include "carillon/ops/control_flow.h"

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/control_flow_context.h"
#include "graph/graph_state.h"

namespace carillon {
namespace {

// The name of the innermost scope without its closing slash.
std::string ScopeName(const Graph& graph) {
  const std::string& scope = graph.state().name_scope;
  return scope.substr(0, scope.size() - 1);
}

std::vector<Output> BuildBranch(BranchContext& context, const Output& pivot,
                                const std::function<BranchResult()>& branch_fn) {
  Graph& graph = context.graph();
  const ContextScope scope(graph, &context);
  const BranchResult result = branch_fn();
  if (result.op().valid()) return {WithDependencies({result.op()}, pivot)};
  std::vector<Output> outputs;
  for (const Output& output : result.outputs()) {
    if (!output.valid()) Throw(InvalidArgument("a branch of a Cond returned an invalid output"));
    outputs.push_back(context.Capture(output));
  }
  return outputs;
}

void CheckBranchesAgree(const std::vector<Output>& if_true, const std::vector<Output>& if_false) {
  if (if_true.size() != if_false.size()) {
    Throw(InvalidArgument("the true branch of the Cond gives ", if_true.size(),
                          " outputs but the false branch ", if_false.size()));
  }
  for (size_t i = 0; i < if_true.size(); ++i) {
    if (if_true[i].dtype() == if_false[i].dtype()) continue;
    Throw(InvalidArgument("output ", i, " of the Cond is ", DTypeName(if_true[i].dtype()),
                          " in the true branch ('", if_true[i].name(), "') but ",
                          DTypeName(if_false[i].dtype()), " in the false branch ('",
                          if_false[i].name(), "')"));
  }
}

Output AsOutput(Graph& graph, const Input& input) {
  if (!input.valid()) Throw(InvalidArgument("a loop variable refers to nothing"));
  if (!input.is_output()) {
    return OpBuilder(graph, "Const")
        .Attr("value", input.value())
        .Attr("dtype", input.value().dtype());
  }
  const Output value = input.output();
  // A loop carries the value, not the variable.
  if (value.node()->output(value.index()).is_ref) return OpBuilder("Identity").Arg(value);
  return value;
}

}  // namespace

std::vector<Output> Cond(const Output& pred, const std::function<BranchResult()>& true_fn,
                         const std::function<BranchResult()>& false_fn, const std::string& name) {
  if (!pred.valid() || pred.dtype() != kBool) {
    Throw(InvalidArgument(
        "the predicate of a Cond should be a bool scalar",
        pred.valid() ? StrCat(" but '", pred.name(), "' is ", DTypeName(pred.dtype())) : ""));
  }
  Graph& graph = pred.graph();
  const NameScope scope(graph, name);
  const auto [pivot_false, pivot_true] = Switch(pred, pred);
  const Output switch_t = OpBuilder("Identity").Name("switch_t").Arg(pivot_true);
  const Output switch_f = OpBuilder("Identity").Name("switch_f").Arg(pivot_false);
  const Output pred_id = OpBuilder("Identity").Name("pred_id").Arg(pred);

  ControlFlowContext* outer = graph.state().context;
  auto& context_t =
      NewContext<BranchContext>(graph, ScopeName(graph), outer, pred_id, true, switch_t.node());
  const std::vector<Output> if_true = BuildBranch(context_t, switch_t, true_fn);
  auto& context_f =
      NewContext<BranchContext>(graph, ScopeName(graph), outer, pred_id, false, switch_f.node());
  const std::vector<Output> if_false = BuildBranch(context_f, switch_f, false_fn);
  CheckBranchesAgree(if_true, if_false);

  std::vector<Output> merged;
  for (size_t i = 0; i < if_true.size(); ++i) {
    merged.push_back(Merge({if_false[i], if_true[i]}).output);
  }
  return merged;
}

std::vector<Output> WhileLoop(Graph& graph, const std::vector<Input>& initial,
                              const std::function<Output(const LoopVariables&)>& cond_fn,
                              const std::function<LoopVariables(const LoopVariables&)>& body_fn,
                              const WhileOptions& options) {
  const size_t n = initial.size();
  if (n == 0) Throw(InvalidArgument("a WhileLoop needs at least one loop variable"));
  if (options.parallel_iterations < 1) {
    Throw(InvalidArgument("parallel_iterations should be 1 or more but is ",
                          options.parallel_iterations));
  }
  if (!options.shape_invariants.empty() && options.shape_invariants.size() != n) {
    Throw(InvalidArgument("there are ", options.shape_invariants.size(), " shape invariants for ",
                          n, " loop variables"));
  }
  const NameScope scope(graph, options.name);
  std::vector<Output> values;
  for (const Input& input : initial) values.push_back(AsOutput(graph, input));

  auto& loop = NewContext<LoopContext>(graph, graph.state().name_scope + "while_context",
                                       graph.state().context, options.parallel_iterations);
  // The Enters wait for what is outside, so nothing inside needs to.
  std::vector<Output> entered;
  for (const Output& value : values) entered.push_back(loop.EnterVariable(value));
  const ContextScope inside(graph, &loop);
  const ControlDependencies none(graph, nullptr);

  LoopVariables merged;
  for (size_t i = 0; i < n; ++i) {
    const PartialShape invariant =
        options.shape_invariants.empty() ? entered[i].shape() : options.shape_invariants[i];
    merged.push_back(loop.OpenMerge(entered[i], invariant));
  }
  loop.set_pivot(merged[0]);
  const Output condition = cond_fn(merged);
  if (!condition.valid() || condition.dtype() != kBool)
    Throw(InvalidArgument("the condition of a WhileLoop should be a bool scalar"));
  loop.set_condition(OpBuilder("LoopCond").Arg(condition));

  std::vector<LoopContext::Choice> choices;
  LoopVariables in_body;
  for (const Output& value : merged) {
    choices.push_back(loop.Switch(value));
    in_body.push_back(choices.back().body);
  }
  loop.set_pivot(in_body[0]);
  const LoopVariables next = body_fn(in_body);
  if (next.size() != n) {
    Throw(InvalidArgument("the body of the WhileLoop gives ", next.size(), " values for ", n,
                          " loop variables"));
  }
  for (size_t i = 0; i < n; ++i) {
    if (!next[i].valid() || next[i].dtype() != merged[i].dtype()) {
      Throw(InvalidArgument("loop variable ", i, " is ", DTypeName(merged[i].dtype()),
                            " but the body gives ",
                            next[i].valid() ? DTypeName(next[i].dtype()) : "nothing", " for it"));
    }
    const Output inside = loop.Capture(next[i]);
    ThrowIfError(LoopContext::CheckInvariant(merged[i], inside));
    loop.CloseMerge(merged[i], inside);
  }
  std::vector<Output> results;
  for (const LoopContext::Choice& choice : choices) results.push_back(loop.Exit(choice));
  return results;
}

Operation NoOp(Graph& graph, const std::string& name) {
  return OpBuilder(graph, "NoOp").Name(name).Build();
}

Operation Group(Graph& graph, const std::vector<Operation>& ops, const std::string& name) {
  OpBuilder builder(graph, "NoOp");
  builder.Name(name.empty() ? "group_deps" : name);
  for (const Operation& op : ops) builder.After(op);
  return builder.Build();
}

Output WithDependencies(const std::vector<Operation>& before, const Output& value) {
  OpBuilder builder("Identity");
  builder.Name("control_dependency").Arg(value);
  for (const Operation& op : before) builder.After(op);
  return builder;
}

Operation ControlTrigger(Graph& graph, const std::vector<Operation>& before) {
  OpBuilder builder(graph, "ControlTrigger");
  for (const Operation& op : before) builder.After(op);
  return builder.Build();
}

SwitchOutputs Switch(const Input& data, const Output& pred) {
  const Operation op = OpBuilder("Switch").Arg(data).Arg(pred).Build();
  return {op.output(0), op.output(1)};
}

MergeOutputs Merge(const std::vector<Output>& inputs) {
  bool all_refs = !inputs.empty();
  for (const Output& input : inputs)
    all_refs &= input.valid() && input.node()->output(input.index()).is_ref;
  const Operation op =
      OpBuilder(all_refs ? "RefMerge" : "Merge").Name("Merge").Args(inputs).Build();
  return {op.output(0), op.output(1)};
}

Operation Assert(const Output& condition, const std::vector<Input>& data, int64_t summarize) {
  return OpBuilder("Assert").Arg(condition).Args(data).Attr("summarize", summarize).Build();
}

Operation Abort(Graph& graph, const std::string& message) {
  return OpBuilder(graph, "Abort").Attr("error_msg", message).Build();
}

Output Print(const Input& input, const std::vector<Input>& data, const PrintOptions& options) {
  return OpBuilder("Print")
      .Arg(input)
      .Args(data)
      .Attr("message", options.message)
      .Attr("first_n", options.first_n)
      .Attr("summarize", options.summarize);
}

Operation PrintV2(const Input& text, const std::string& stream, const std::string& end) {
  return OpBuilder("PrintV2").Arg(text).Attr("output_stream", stream).Attr("end", end).Build();
}

Output StringFormat(Graph& graph, const std::vector<Input>& inputs, const std::string& text,
                    const std::string& placeholder, int64_t summarize) {
  return OpBuilder(graph, "StringFormat")
      .Args(inputs)
      .Attr("template", text)
      .Attr("placeholder", placeholder)
      .Attr("summarize", summarize);
}

}  // namespace carillon
