#include "base/strings.h"
#include "graph/passes/function_expansion.h"

namespace carillon {
namespace {

AttrMap OfType(DType dtype) { return {{"T", AttrValue(dtype)}}; }

}  // namespace

Status FunctionExpansion::LowerWhile(Node* node) {
  const int64_t parallel = node->attr<int64_t>("parallel_iterations");
  if (parallel < 1)
    return InvalidArgument("parallel_iterations is ", parallel, " but should be 1 or more");
  std::vector<DType> dtypes;
  for (int i = 0; i < node->num_outputs(); ++i) dtypes.push_back(node->output(i).dtype);
  const Loop loop{
      .initial = node->inputs(),
      .parallel_iterations = parallel,
      .condition = [&](const std::vector<Endpoint>& values) -> StatusOr<Endpoint> {
        CARILLON_ASSIGN_OR_RETURN(const std::vector<DType> results,
                                  ResultTypes(node->attr<FunctionRef>("cond")));
        if (results.size() != 1)
          return InvalidArgument("the condition gives ", results.size(), " results, not one");
        CARILLON_ASSIGN_OR_RETURN(
            Node * call, AddCall(*node, "cond", node->attr<FunctionRef>("cond"), values, results));
        return Endpoint{call, 0};
      },
      .body = [&](const std::vector<Endpoint>& values) -> StatusOr<std::vector<Endpoint>> {
        CARILLON_ASSIGN_OR_RETURN(
            Node * call, AddCall(*node, "body", node->attr<FunctionRef>("body"), values, dtypes));
        std::vector<Endpoint> next;
        for (int i = 0; i < call->num_outputs(); ++i) next.push_back({call, i});
        return next;
      }};
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Endpoint> results, LowerLoop(node, loop));
  for (size_t i = 0; i < results.size(); ++i)
    rewiring_.Redirect({node, static_cast<int>(i)}, results[i]);
  return absl::OkStatus();
}

Status FunctionExpansion::LowerFor(Node* node) {
  // The loop counts from 0: _ForCount checks the range and says how far.
  CARILLON_ASSIGN_OR_RETURN(
      const Endpoint count,
      AddOne(*node, "count", "_ForCount", {node->input(0), node->input(1), node->input(2)}, {},
             node->control_inputs()));
  CARILLON_ASSIGN_OR_RETURN(const Endpoint zero, AddInt32(*node, "zero", 0, count));
  const size_t n = static_cast<size_t>(node->num_outputs());
  std::vector<DType> dtypes;
  for (int i = 0; i < node->num_outputs(); ++i) dtypes.push_back(node->output(i).dtype);
  // The loop's variables: the counter; count, start and delta, which stay; and those of the node.
  Loop loop{.initial = {zero, count, node->input(0), node->input(2)}};
  const size_t own = loop.initial.size();
  loop.initial.insert(loop.initial.end(), node->inputs().begin() + 3, node->inputs().end());
  loop.condition = [&](const std::vector<Endpoint>& values) {
    return AddOne(*node, "go_on", "Less", {values[0], values[1]}, OfType(DType::kInt32));
  };
  loop.body = [&](const std::vector<Endpoint>& values) -> StatusOr<std::vector<Endpoint>> {
    const auto add = [&](std::string_view name, std::string_view op, const Endpoint& a,
                         const Endpoint& b) {
      return AddOne(*node, name, op, {a, b}, OfType(DType::kInt32));
    };
    // A constant here has to wait for something that is dead with the iteration.
    CARILLON_ASSIGN_OR_RETURN(const Endpoint counter, AddOne(*node, "counter", "Identity",
                                                             {values[0]}, OfType(DType::kInt32)));
    CARILLON_ASSIGN_OR_RETURN(const Endpoint one, AddInt32(*node, "one", 1, counter));
    CARILLON_ASSIGN_OR_RETURN(const Endpoint next_counter, add("next", "AddV2", counter, one));
    CARILLON_ASSIGN_OR_RETURN(const Endpoint steps, add("steps", "Mul", counter, values[3]));
    CARILLON_ASSIGN_OR_RETURN(const Endpoint index, add("i", "AddV2", values[2], steps));
    std::vector<Endpoint> args = {index};
    args.insert(args.end(), values.begin() + static_cast<int64_t>(own), values.end());
    CARILLON_ASSIGN_OR_RETURN(Node * call, AddCall(*node, "body", node->attr<FunctionRef>("body"),
                                                   std::move(args), dtypes));
    std::vector<Endpoint> next = {next_counter, values[1], values[2], values[3]};
    for (int i = 0; i < call->num_outputs(); ++i) next.push_back({call, i});
    return next;
  };
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Endpoint> results, LowerLoop(node, loop));
  for (size_t i = 0; i < n; ++i) rewiring_.Redirect({node, static_cast<int>(i)}, results[own + i]);
  return absl::OkStatus();
}

StatusOr<std::vector<Endpoint>> FunctionExpansion::LowerLoop(Node* node, const Loop& loop) {
  if (loop.initial.empty())
    return InvalidArgument("a loop needs at least one variable, or it never changes");
  has_control_flow_ = true;
  std::vector<Node*> merges;
  std::vector<Endpoint> merged;
  for (size_t i = 0; i < loop.initial.size(); ++i) {
    const DType dtype = DTypeAt(loop.initial[i]);
    CARILLON_ASSIGN_OR_RETURN(const Endpoint entered,
                              AddOne(*node, StrCat("enter_", i), "Enter", {loop.initial[i]},
                                     {{"T", AttrValue(dtype)},
                                      {"frame_name", AttrValue(node->name())},
                                      {"parallel_iterations", AttrValue(loop.parallel_iterations)}},
                                     node->control_inputs()));
    CARILLON_ASSIGN_OR_RETURN(Node * merge,
                              Add(*node, StrCat("merge_", i), "Merge", {entered, Endpoint{}},
                                  {{"T", AttrValue(dtype)}, {"N", AttrValue(2)}}));
    merges.push_back(merge);
    merged.push_back({merge, 0});
  }
  CARILLON_ASSIGN_OR_RETURN(const Endpoint condition, loop.condition(merged));
  CARILLON_ASSIGN_OR_RETURN(const Endpoint pred, AddBool(*node, "pred", condition, {}));
  CARILLON_ASSIGN_OR_RETURN(const Endpoint go_on, AddOne(*node, "loop_cond", "LoopCond", {pred}));
  std::vector<Endpoint> in_body, results;
  std::vector<Node*> exits;
  for (size_t i = 0; i < merged.size(); ++i) {
    const AttrMap type = OfType(DTypeAt(merged[i]));
    CARILLON_ASSIGN_OR_RETURN(Node * choice,
                              Add(*node, StrCat("switch_", i), "Switch", {merged[i], go_on}, type));
    in_body.push_back({choice, 1});
    CARILLON_ASSIGN_OR_RETURN(const Endpoint left,
                              AddOne(*node, StrCat("exit_", i), "Exit", {{choice, 0}}, type));
    results.push_back(left);
    exits.push_back(left.node);
  }
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Endpoint> next, loop.body(in_body));
  for (size_t i = 0; i < next.size(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(const Endpoint again,
                              AddOne(*node, StrCat("next_iteration_", i), "NextIteration",
                                     {next[i]}, OfType(DTypeAt(next[i]))));
    CARILLON_RETURN_IF_ERROR(graph_.SetInput(merges[i], 1, again));
  }
  CARILLON_ASSIGN_OR_RETURN(Node * end, Add(*node, "end", "NoOp", {}, {}, std::move(exits)));
  rewiring_.RedirectControl(node, end);
  return results;
}

StatusOr<std::vector<DType>> FunctionExpansion::ResultTypes(const FunctionRef& function) {
  CARILLON_ASSIGN_OR_RETURN(const FunctionBody* body,
                            BodyOf(function, AttrValue(function).ToString()));
  std::vector<DType> dtypes;
  for (const Endpoint& result : body->results) dtypes.push_back(DTypeAt(result));
  return dtypes;
}

}  // namespace carillon
