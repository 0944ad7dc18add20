#include "base/strings.h"
#include "graph/passes/function_expansion.h"

namespace carillon {

Status FunctionExpansion::LowerIf(Node* node) {
  const std::vector<Endpoint> inputs(node->inputs().begin() + 1, node->inputs().end());
  CARILLON_ASSIGN_OR_RETURN(const Endpoint pred,
                            AddBool(*node, "pred", node->input(0), node->control_inputs()));
  return LowerBranches(
      node, inputs,
      {{node->attr<FunctionRef>("else_branch"), pred, /*taken_when=*/false, "else"},
       {node->attr<FunctionRef>("then_branch"), pred, /*taken_when=*/true, "then"}});
}

Status FunctionExpansion::LowerCase(Node* node) {
  const std::vector<Endpoint> inputs(node->inputs().begin() + 1, node->inputs().end());
  const auto& functions = node->attr<std::vector<FunctionRef>>("branches");
  CARILLON_ASSIGN_OR_RETURN(const Endpoint index,
                            AddOne(*node, "index", "Identity", {node->input(0)},
                                   {{"T", AttrValue(DType::kInt32)}}, node->control_inputs()));
  const auto compare = [&](std::string_view op, std::string_view name,
                           int32_t with) -> StatusOr<Endpoint> {
    CARILLON_ASSIGN_OR_RETURN(const Endpoint constant,
                              AddInt32(*node, StrCat(name, "/y"), with, index));
    return AddOne(*node, name, op, {index, constant}, {{"T", AttrValue(DType::kInt32)}});
  };
  std::vector<Branch> branches;
  const int32_t last = static_cast<int32_t>(functions.size()) - 1;
  for (int32_t i = 0; i < last; ++i) {
    CARILLON_ASSIGN_OR_RETURN(const Endpoint pred, compare("Equal", StrCat("is_", i), i));
    branches.push_back({functions[static_cast<size_t>(i)], pred, true, StrCat("branch_", i)});
  }
  // Whatever is out of range takes the last branch.
  CARILLON_ASSIGN_OR_RETURN(const Endpoint below, compare("Less", "is_below", 0));
  CARILLON_ASSIGN_OR_RETURN(const Endpoint above, compare("GreaterEqual", "is_above", last));
  CARILLON_ASSIGN_OR_RETURN(const Endpoint pred,
                            AddOne(*node, StrCat("is_", last), "LogicalOr", {below, above}));
  branches.push_back({functions.back(), pred, true, StrCat("branch_", last)});
  return LowerBranches(node, inputs, branches);
}

Status FunctionExpansion::LowerBranches(Node* node, const std::vector<Endpoint>& inputs,
                                        const std::vector<Branch>& branches) {
  has_control_flow_ = true;
  std::vector<DType> dtypes;
  for (int i = 0; i < node->num_outputs(); ++i) dtypes.push_back(node->output(i).dtype);
  std::vector<std::vector<Endpoint>> results(dtypes.size());  // of each branch, by output
  std::vector<Endpoint> ends;
  for (const Branch& branch : branches) {
    const auto choose = [&](std::string_view name, const Endpoint& value) -> StatusOr<Endpoint> {
      CARILLON_ASSIGN_OR_RETURN(
          Node * chosen, Add(*node, StrCat(branch.name, "/", name), "Switch", {value, branch.pred},
                             {{"T", AttrValue(DTypeAt(value))}}));
      return Endpoint{chosen, branch.taken_when ? 1 : 0};
    };
    // Alive when the branch is taken.
    CARILLON_ASSIGN_OR_RETURN(const Endpoint taken, choose("taken", branch.pred));
    CARILLON_ASSIGN_OR_RETURN(const Endpoint pivot,
                              AddOne(*node, StrCat(branch.name, "/pivot"), "Identity", {taken},
                                     {{"T", AttrValue(DType::kBool)}}));
    std::vector<Endpoint> args;
    for (size_t i = 0; i < inputs.size(); ++i) {
      CARILLON_ASSIGN_OR_RETURN(Endpoint arg, choose(StrCat("switch_", i), inputs[i]));
      args.push_back(arg);
    }
    CARILLON_ASSIGN_OR_RETURN(Node * call, AddCall(*node, branch.name, branch.function,
                                                   std::move(args), dtypes, {pivot.node}));
    for (size_t i = 0; i < dtypes.size(); ++i) results[i].push_back({call, static_cast<int>(i)});
    CARILLON_ASSIGN_OR_RETURN(Endpoint end,
                              AddOne(*node, StrCat(branch.name, "/done"), "Identity", {pivot},
                                     {{"T", AttrValue(DType::kBool)}}, {call}));
    ends.push_back(end);
  }
  const auto merge = [&](std::string_view name, std::vector<Endpoint> values) {
    const AttrValue dtype(DTypeAt(values.front()));
    const AttrValue count(static_cast<int64_t>(values.size()));
    return AddOne(*node, name, "Merge", std::move(values), {{"T", dtype}, {"N", count}});
  };
  for (size_t i = 0; i < results.size(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(const Endpoint merged,
                              merge(StrCat("merge_", i), std::move(results[i])));
    rewiring_.Redirect({node, static_cast<int>(i)}, merged);
  }
  CARILLON_ASSIGN_OR_RETURN(const Endpoint end, merge("done", std::move(ends)));
  rewiring_.RedirectControl(node, end.node);
  return absl::OkStatus();
}

}  // namespace carillon
