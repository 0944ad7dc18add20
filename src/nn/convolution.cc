// Layers over images: convolution and pooling.
#include "base/throw.h"
#include "carillon/nn.h"
#include "carillon/ops/math.h"
#include "carillon/ops/nn.h"
#include "nn/weights.h"

namespace carillon::nn {
namespace {

std::vector<int64_t> Window(Extent size) { return {1, size.height, size.width, 1}; }

void CheckSize(const char* what, Extent size, const std::string& layer) {
  if (size.height <= 0 || size.width <= 0) {
    Throw(InvalidArgument("layer '", layer, "' cannot have a ", what, " of ", size.height, " x ",
                          size.width));
  }
}

Output ApplyConv2D(Weights& weights, const Output& x, int64_t filters, Extent size,
                   const ConvOptions& options) {
  Graph& graph = x.graph();
  const int64_t channels = KnownDim(x, 3, options.name);
  const NameScope scope = weights.Enter(graph);
  const Variable kernel = weights.Get(graph, "kernel", {size.height, size.width, channels, filters},
                                      x.dtype(), {options.kernel_initializer, options.trainable});
  Output y = carillon::Conv2D(x, kernel.read(), Window(options.stride), options.padding);
  if (options.use_bias) {
    const Variable bias = weights.Get(graph, "bias", {filters}, x.dtype(),
                                      {options.bias_initializer, options.trainable});
    y = BiasAdd(y, bias.read());
  }
  return options.activation ? options.activation(y) : y;
}

Extent StrideOf(Extent size, const PoolingOptions& options) {
  return options.stride.height == 0 ? size : options.stride;
}

}  // namespace

Layer Conv2D(int64_t filters, Extent size, const ConvOptions& options) {
  if (filters <= 0)
    Throw(InvalidArgument("layer '", options.name, "' cannot have ", filters, " filters"));
  CheckSize("window", size, options.name);
  CheckSize("stride", options.stride, options.name);
  return [=, weights = std::make_shared<Weights>(options.name)](const Output& x) {
    return ApplyConv2D(*weights, x, filters, size, options);
  };
}
Output Conv2D(const Output& x, int64_t filters, Extent size, const ConvOptions& options) {
  return Conv2D(filters, size, options)(x);
}

Layer MaxPool(Extent size, const PoolingOptions& options) {
  return [=](const Output& x) { return MaxPool(x, size, options); };
}
Output MaxPool(const Output& x, Extent size, const PoolingOptions& options) {
  CheckSize("window", size, "max_pooling2d");
  const NameScope scope(x.graph(), "max_pooling2d");
  return carillon::MaxPool(x, Window(size), Window(StrideOf(size, options)), options.padding);
}

Layer AvgPool(Extent size, const PoolingOptions& options) {
  return [=](const Output& x) { return AvgPool(x, size, options); };
}
Output AvgPool(const Output& x, Extent size, const PoolingOptions& options) {
  CheckSize("window", size, "average_pooling2d");
  const NameScope scope(x.graph(), "average_pooling2d");
  return carillon::AvgPool(x, Window(size), Window(StrideOf(size, options)), options.padding);
}

Layer GlobalAvgPool() {
  return [](const Output& x) { return GlobalAvgPool(x); };
}
Output GlobalAvgPool(const Output& x) { return Mean(x, {1, 2}); }

}  // namespace carillon::nn
