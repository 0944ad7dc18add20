// Gradients of calls of functions, and of the conditionals that call them: calls of the functions'
// gradients, with the arguments and the gradients of the results. These compute again what they
// need of the function itself (once it is inlined, what is the same is computed once), so that
// functions with effects, or that read what may change, are refused.
#include <set>
#include <string>
#include <vector>

#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/attr.h"
#include "graph/function_library.h"
#include "graph/gradient.h"

namespace carillon {
namespace {

// The functions that a node refers to.
std::vector<FunctionRef> FunctionsOf(const Node& node) {
  std::vector<FunctionRef> functions;
  if (IsFunctionCall(node)) functions.push_back(CalledFunction(node));
  for (const auto& [name, value] : node.attrs()) {
    if (const auto* one = value.get_if<FunctionRef>()) functions.push_back(*one);
    if (const auto* many = value.get_if<std::vector<FunctionRef>>())
      functions.insert(functions.end(), many->begin(), many->end());
  }
  return functions;
}

// Throws Unimplemented when a function has nodes that cannot be run twice; `seen` are those that
// have been looked at.
void CheckRepeatable(const GradContext& c, const FunctionRef& function,
                     std::set<std::string>* seen) {
  const auto& library = c.graph().nodes().functions();
  if (library == nullptr || !seen->insert(function.name).second) return;
  if (!library->GradientOf(function.name).empty()) return;
  const auto body = ValueOrThrow(library->Instantiate(function));
  for (const auto& node : body->graph.nodes().nodes()) {
    if (node == nullptr || node->op() == "_Arg") continue;
    const std::vector<FunctionRef> functions = FunctionsOf(*node);
    for (const FunctionRef& called : functions) CheckRepeatable(c, called, seen);
    if (!node->spec().is_stateful || !functions.empty()) continue;
    Throw(Unimplemented("node '", c.op().name(), "' calls function '", function.name,
                        "', in which '", node->name(), "' (", node->op(),
                        ") has state or effects: only gradients of functions without can be taken; "
                        "pass its outputs as stop_gradients to treat them as constants"));
  }
}

// Makes the op that calls the gradients of what c.op() calls, and sets the gradients of the inputs
// from `first` on to its outputs. `build` makes it, of given inputs and dtypes of outputs.
template <typename Build>
void CallGradients(GradContext& c, int first, const Build& build) {
  std::set<std::string> seen;
  for (const FunctionRef& function : FunctionsOf(*c.op().node()))
    CheckRepeatable(c, function, &seen);
  std::vector<Output> inputs;
  std::vector<DType> dtypes;
  for (int i = first; i < c.num_inputs(); ++i) {
    inputs.push_back(c.input(i));
    // Handles have no gradient here: functions that read variables have been refused.
    dtypes.push_back(c.input(i).dtype() == DType::kResource ? DType::kFloat : c.input(i).dtype());
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    // What no gradient comes to is an argument all the same, of which nothing is made.
    inputs.push_back(IsTrainable(c.output(i)) && c.output(i).dtype() != DType::kResource
                         ? c.grad(i)
                         : c.output(i));
  }
  const Operation call = build(inputs, dtypes);
  for (int i = first; i < c.num_inputs(); ++i) {
    if (IsTrainable(c.input(i)) && c.input(i).dtype() != DType::kResource)
      c.set(i, call.output(i - first));
  }
}

FunctionRef GradientOf(const FunctionRef& function) {
  return {.name = "SymbolicGradient", .attrs = {{"f", AttrValue(function)}}};
}

std::vector<PartialShape> ShapesFrom(const GradContext& c, int first) {
  std::vector<PartialShape> shapes;
  for (int i = first; i < c.num_inputs(); ++i) shapes.push_back(c.input(i).shape());
  return shapes;
}

void IfGradient(GradContext& c) {
  CallGradients(c, 1, [&](const std::vector<Output>& inputs, const std::vector<DType>& dtypes) {
    const Node& node = *c.op().node();
    return OpBuilder("StatelessIf")
        .Arg(c.input(0))
        .Args(inputs)
        .Attr("Tout", dtypes)
        .AttrValueOf("then_branch", AttrValue(GradientOf(node.attr<FunctionRef>("then_branch"))))
        .AttrValueOf("else_branch", AttrValue(GradientOf(node.attr<FunctionRef>("else_branch"))))
        .AttrValueOf("output_shapes", AttrValue(ShapesFrom(c, 1)))
        .Build();
  });
}

void CaseGradient(GradContext& c) {
  CallGradients(c, 1, [&](const std::vector<Output>& inputs, const std::vector<DType>& dtypes) {
    std::vector<FunctionRef> branches;
    for (const auto& branch : c.op().node()->attr<std::vector<FunctionRef>>("branches"))
      branches.push_back(GradientOf(branch));
    return OpBuilder("StatelessCase")
        .Arg(c.input(0))
        .Args(inputs)
        .Attr("Tout", dtypes)
        .AttrValueOf("branches", AttrValue(std::move(branches)))
        .AttrValueOf("output_shapes", AttrValue(ShapesFrom(c, 1)))
        .Build();
  });
}

}  // namespace

void CallGradient(GradContext& c) {
  CallGradients(c, 0, [&](const std::vector<Output>& inputs, const std::vector<DType>& dtypes) {
    return OpBuilder("SymbolicGradient")
        .Args(inputs)
        .Attr("Tout", dtypes)
        .AttrValueOf("f", AttrValue(CalledFunction(*c.op().node())))
        .Build();
  });
}

void AddFunctionGradients(GradTable& grads) {
  grads.Add("PartitionedCall", CallGradient);
  grads.Add("StatefulPartitionedCall", CallGradient);
  grads.Add("If", IfGradient);
  grads.Add("StatelessIf", IfGradient);
  grads.Add("Case", CaseGradient);
  grads.Add("StatelessCase", CaseGradient);
}

}  // namespace carillon
