#include "graph/function_gradient.h"

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/gradients.h"
#include "carillon/ops/array.h"

namespace carillon {

StatusOr<std::unique_ptr<FunctionBody>> InstantiateGradient(const FunctionLibrary& library,
                                                            const FunctionRef& function) {
  if (const std::string given = library.GradientOf(function.name); !given.empty())
    return library.Instantiate({.name = given, .attrs = function.attrs});
  CARILLON_ASSIGN_OR_RETURN(std::unique_ptr<FunctionBody> body, library.Instantiate(function));
  std::vector<Output> xs, ys, grad_ys;
  for (Node* arg : body->args) xs.emplace_back(arg, 0);
  NodeGraph& graph = body->graph.nodes();
  for (const Endpoint& result : body->results) {
    ys.emplace_back(result.node, result.index);
    const OutputInfo& info = result.node->output(result.index);
    CARILLON_ASSIGN_OR_RETURN(
        Node * arg,
        graph.Add({.name = graph.UniqueName("grad_y"),
                   .op = "_Arg",
                   .attrs = {{"T", AttrValue(info.dtype)},
                             {"index", AttrValue(static_cast<int64_t>(body->args.size()))},
                             {"shape", AttrValue(info.shape)}}}));
    body->args.push_back(arg);
    grad_ys.emplace_back(arg, 0);
  }
  CARILLON_RETURN_IF_ERROR(
      Annotate(CatchAsStatus([&] {
                 body->results.clear();
                 const std::vector<Gradient> gradients =
                     Gradients(ys, xs, {.grad_ys = grad_ys, .colocate = false});
                 for (size_t i = 0; i < xs.size(); ++i) {
                   Output gradient = gradients[i].Dense();
                   if (gradients[i].empty()) {
                     gradient = xs[i].dtype() == DType::kResource ? Const(body->graph, 0.0f)
                                                                  : ZerosLike(xs[i]);
                   }
                   body->results.push_back({gradient.node(), gradient.index()});
                 }
               }),
               StrCat("the gradient of function '", function.name, "': ")));
  body->name = StrCat("the gradient of ", function.name);
  return body;
}

}  // namespace carillon
