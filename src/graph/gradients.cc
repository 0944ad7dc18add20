#include "carillon/gradients.h"

#include <optional>

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/backward_pass.h"
#include "graph/gradient.h"

namespace carillon {
namespace {

void CheckSameGraph(const Graph& graph, const std::vector<Output>& values, const char* what) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].valid()) Throw(InvalidArgument(what, "[", i, "] refers to nothing"));
    if (&values[i].graph() != &graph) {
      Throw(InvalidArgument(what, "[", i, "], '", values[i].name(),
                            "', is in another graph than ys[0]"));
    }
  }
}

void CheckGradOf(const Output& y, const Output& grad) {
  if (grad.dtype() != y.dtype()) {
    Throw(InvalidArgument("the starting gradient '", grad.name(), "' is ", DTypeName(grad.dtype()),
                          " but '", y.name(), "' is ", DTypeName(y.dtype())));
  }
  if (!grad.shape().IsCompatibleWith(y.shape())) {
    Throw(InvalidArgument("the starting gradient '", grad.name(), "' has shape ",
                          grad.shape().ToString(), " but '", y.name(), "' has ",
                          y.shape().ToString()));
  }
}

}  // namespace

std::vector<Gradient> Gradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                const GradientOptions& options) {
  if (ys.empty()) return std::vector<Gradient>(xs.size());
  if (!ys.front().valid()) Throw(InvalidArgument("ys[0] refers to nothing"));
  Graph& graph = ys.front().graph();
  CheckSameGraph(graph, ys, "ys");
  CheckSameGraph(graph, xs, "xs");
  CheckSameGraph(graph, options.stop_gradients, "stop_gradients");
  if (!options.grad_ys.empty() && options.grad_ys.size() != ys.size()) {
    Throw(InvalidArgument("there are ", options.grad_ys.size(), " starting gradients for ",
                          ys.size(), " ys"));
  }

  const NameScope scope(graph, "gradients");
  std::vector<Gradient> y_grads;
  for (size_t i = 0; i < ys.size(); ++i) {
    const Output& y = ys[i];
    if (i < options.grad_ys.size() && options.grad_ys[i].valid()) {
      CheckSameGraph(graph, {options.grad_ys[i]}, "grad_ys");
      CheckGradOf(y, options.grad_ys[i]);
      y_grads.push_back(options.grad_ys[i]);
      continue;
    }
    std::optional<ColocateWith> colocate;
    if (options.colocate) colocate.emplace(graph, y.op());
    y_grads.push_back(IsTrainable(y) ? Gradient(FillLike(y, 1.0)) : Gradient());
  }
  LoopMap loops = ValueOrThrow(LoopMap::Make(graph.nodes()));
  BackwardOptions backward{.loops = &loops, .colocate = options.colocate, .call = scope.prefix()};
  for (const Output& stop : options.stop_gradients)
    backward.stops.insert({stop.node()->id(), stop.index()});
  return BackwardPass(graph, 0, backward).Run(ys, y_grads, xs);
}

}  // namespace carillon
