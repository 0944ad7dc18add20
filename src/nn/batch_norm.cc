#include <memory>

#include "base/throw.h"
#include "carillon/moving_average.h"
#include "carillon/nn.h"
#include "carillon/ops/array.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/nn.h"
#include "nn/weights.h"

namespace carillon::nn {
namespace {

struct Statistics {
  Output gamma, beta, mean, variance;
};

FusedBatchNormResult Normalise(const Output& images, const Statistics& statistics, float epsilon,
                               bool training) {
  Graph& graph = images.graph();
  // Training needs no statistics from before.
  const Output none = training ? Const(graph, Tensor(statistics.mean.dtype(), {0})) : Output();
  return FusedBatchNormV3(images, statistics.gamma, statistics.beta,
                          training ? none : statistics.mean, training ? none : statistics.variance,
                          {.epsilon = epsilon, .is_training = training});
}

Output ApplyBatchNorm(Weights& weights, const Output& x, const Training& training,
                      const BatchNormOptions& options) {
  Graph& graph = x.graph();
  const int64_t channels = KnownDim(x, -1, options.name);
  const DType dtype = kFloat;
  const NameScope scope = weights.Enter(graph);
  const auto variable = [&](const char* name, const Initializer& initializer, bool trainable) {
    return weights.Get(graph, name, {channels}, dtype, {initializer, trainable});
  };
  Statistics statistics;
  statistics.gamma = options.scale
                         ? variable("gamma", options.gamma_initializer, options.trainable).read()
                         : init::Ones()(graph, {channels}, dtype);
  statistics.beta = options.center
                        ? variable("beta", options.beta_initializer, options.trainable).read()
                        : init::Zeros()(graph, {channels}, dtype);
  const Variable moving_mean = variable("moving_mean", init::Zeros(), false);
  const Variable moving_variance = variable("moving_variance", init::Ones(), false);
  statistics.mean = moving_mean.read();
  statistics.variance = moving_variance.read();

  const bool is_images = x.shape().rank() == 4;
  const Output images = is_images ? x : Reshape(x, {int64_t{-1}, int64_t{1}, int64_t{1}, channels});
  std::vector<Output> result;  // y, mean, variance
  const auto normalise = [&](bool train) -> BranchResult {
    const FusedBatchNormResult r = Normalise(images, statistics, options.epsilon, train);
    if (train) return {r.y, r.batch_mean, r.batch_variance};
    return {r.y, statistics.mean, statistics.variance};
  };
  if (training.is_known()) {
    result = normalise(training.known()).outputs();
  } else {
    result = Cond(
        training.fed(), [&] { return normalise(true); }, [&] { return normalise(false); });
  }
  if (!training.is_known() || training.known()) {
    for (const auto& [average, value] :
         {std::pair(moving_mean, result[1]), std::pair(moving_variance, result[2])}) {
      graph.AddToCollection("update_ops", AssignMovingAverage(average, value, options.momentum));
    }
  }
  return is_images ? result[0] : Reshape(result[0], ShapeOf(x));
}

}  // namespace

Layer BatchNorm(const BatchNormOptions& options) {
  return [=, weights = std::make_shared<Weights>(options.name)](const Output& x,
                                                                const Training& training) {
    return ApplyBatchNorm(*weights, x, training, options);
  };
}
Output BatchNorm(const Output& x, const Training& training, const BatchNormOptions& options) {
  return BatchNorm(options)(x, training);
}

}  // namespace carillon::nn
