#include <algorithm>
#include <memory>

#include "base/throw.h"
#include "carillon/nn.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "carillon/ops/nn.h"
#include "nn/weights.h"

namespace carillon::nn {
namespace {

// The shape of `input` with another last dimension.
Tensor OuterShape(const Output& input, int64_t last, const std::string& layer) {
  const PartialShape shape = input.shape();
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.back() = last;
  if (std::ranges::count(dims, -1) > 1) {
    Throw(InvalidArgument("layer '", layer, "': the shape of '", input.name(), "', ",
                          shape.ToString(), ", has more than one unknown dimension"));
  }
  return Tensor::FromVector(dims);
}

Output ApplyDense(Weights& weights, const Output& input, int64_t units,
                  const DenseOptions& options) {
  Graph& graph = input.graph();
  const int64_t depth = KnownDim(input, -1, options.name);
  const NameScope scope = weights.Enter(graph);
  const Variable kernel = weights.Get(graph, "kernel", {depth, units}, input.dtype(),
                                      {options.kernel_initializer, options.trainable});
  // Leading dimensions beyond one count as one batch.
  const bool is_matrix = input.shape().rank() == 2;
  const Output rows = is_matrix ? input : Reshape(input, {int64_t{-1}, depth});
  Output y = MatMul(rows, kernel.read());
  if (options.use_bias) {
    const Variable bias = weights.Get(graph, "bias", {units}, input.dtype(),
                                      {options.bias_initializer, options.trainable});
    y = BiasAdd(y, bias.read());
  }
  if (!is_matrix) y = Reshape(y, OuterShape(input, units, options.name));
  return options.activation ? options.activation(y) : y;
}

}  // namespace

Layer Dense(int64_t units, const DenseOptions& options) {
  if (units <= 0)
    Throw(InvalidArgument("layer '", options.name, "' cannot have ", units, " units"));
  return [=, weights = std::make_shared<Weights>(options.name)](const Output& x) {
    return ApplyDense(*weights, x, units, options);
  };
}
Output Dense(const Output& x, int64_t units, const DenseOptions& options) {
  return Dense(units, options)(x);
}

}  // namespace carillon::nn
