#include "nn/weights.h"

#include "base/throw.h"

namespace carillon::nn {

NameScope Weights::Enter(Graph& graph) {
  if (scope_.empty()) {
    const NameScope first(graph, name_);
    scope_ = first.prefix();
  }
  return NameScope(graph, scope_);
}

Variable Weights::Get(Graph& graph, const std::string& name, const Shape& shape, DType dtype,
                      const Options& options) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    const Variable made(graph, name, shape, options.initializer, dtype,
                        {.trainable = options.trainable});
    variables_.emplace(name, made);
    return made;
  }
  if (!found->second.shape().IsCompatibleWith(shape)) {
    Throw(InvalidArgument("layer '", scope_, "' was made with a ", name, " of shape ",
                          found->second.shape().ToString(), " but this input needs one of ",
                          shape.ToString()));
  }
  return found->second;
}

int64_t KnownDim(const Output& x, int dim, const std::string& layer) {
  const PartialShape shape = x.shape();
  const int i = dim < 0 ? shape.rank() + dim : dim;
  if (!shape.has_rank() || i < 0 || i >= shape.rank() || shape.dim(i) < 0) {
    Throw(InvalidArgument("layer '", layer, "' must know dimension ", dim, " of its input '",
                          x.name(), "' when the graph is built, but its shape is ",
                          shape.ToString()));
  }
  return shape.dim(i);
}

}  // namespace carillon::nn
