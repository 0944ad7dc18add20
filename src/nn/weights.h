// The variables of one layer and the scope that they and its ops are in.
#pragma once

#include <map>
#include <string>

#include "carillon/graph.h"
#include "carillon/initializers.h"
#include "carillon/variable.h"

namespace carillon::nn {

// Shared by all applications of a layer.
class Weights {
 public:
  explicit Weights(std::string name) : name_(std::move(name)) {}

  // Opens the layer's scope, "dense_1/": a new one the first time, that one again later.
  NameScope Enter(Graph& graph);

  struct Options {
    Initializer initializer;
    bool trainable = true;
  };
  // The variable of that name; made the first time. Enter() must have been called. Throws
  // Error(InvalidArgument) when it has another shape, because the layer's input is not like the
  // first one.
  Variable Get(Graph& graph, const std::string& name, const Shape& shape, DType dtype,
               const Options& options);

 private:
  std::string name_;
  std::string scope_;
  std::map<std::string, Variable> variables_;
};

// The size of a dimension (negative: counted from the last) of a layer's input. Throws
// Error(InvalidArgument), naming both, when it is not known when the graph is built.
int64_t KnownDim(const Output& x, int dim, const std::string& layer);

}  // namespace carillon::nn
