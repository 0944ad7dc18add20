#include "carillon/losses.h"

#include "base/throw.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "carillon/ops/nn.h"

namespace carillon {
namespace {

// The number of classes of logits with a known rank and last dimension.
int64_t Classes(const Output& logits) {
  const PartialShape shape = logits.shape();
  if (!shape.has_rank() || shape.rank() < 1) {
    Throw(InvalidArgument("logits need a class dimension, but '", logits.name(), "' has the shape ",
                          shape.ToString()));
  }
  return shape.dim(shape.rank() - 1);
}

}  // namespace

Output SoftmaxCrossEntropy(const Output& logits, const Output& labels) {
  const NameScope scope(logits.graph(), "softmax_cross_entropy");
  if (logits.shape().rank() == 2) return SoftmaxCrossEntropyWithLogits(logits, labels).loss;
  const int64_t classes = Classes(logits);
  const Output losses = SoftmaxCrossEntropyWithLogits(Reshape(logits, {int64_t{-1}, classes}),
                                                      Reshape(labels, {int64_t{-1}, classes}))
                            .loss;
  return Reshape(losses, ShapeOf(Max(logits, -1)));
}

Output SparseSoftmaxCrossEntropy(const Output& logits, const Output& labels) {
  const NameScope scope(logits.graph(), "sparse_softmax_cross_entropy");
  if (logits.shape().rank() == 2) return SparseSoftmaxCrossEntropyWithLogits(logits, labels).loss;
  const Output losses = SparseSoftmaxCrossEntropyWithLogits(
                            Reshape(logits, {int64_t{-1}, Classes(logits)}), Reshape(labels, {-1}))
                            .loss;
  return Reshape(losses, ShapeOf(labels));
}

Output SigmoidCrossEntropy(const Output& logits, const Output& labels) {
  const NameScope scope(logits.graph(), "logistic_loss");
  // log(1 + exp(-x)) with an exponent that is never positive.
  return Relu(logits) - logits * labels + Log1p(Exp(-Abs(logits)));
}

Output MeanSquaredError(const Output& predictions, const Input& targets) {
  const NameScope scope(predictions.graph(), "mean_squared_error");
  return Mean(SquaredDifference(predictions, targets));
}

Output MeanAbsoluteError(const Output& predictions, const Input& targets) {
  const NameScope scope(predictions.graph(), "absolute_difference");
  return Mean(Abs(predictions - targets));
}

Output HuberLoss(const Output& predictions, const Input& targets, float delta) {
  const NameScope scope(predictions.graph(), "huber_loss");
  const Output error = Abs(predictions - targets);
  const Output quadratic = Minimum(error, delta);
  return Mean(0.5f * Square(quadratic) + delta * (error - quadratic));
}

Output WeightedMean(const Output& losses, const Input& weights) {
  const NameScope scope(losses.graph(), "weighted_mean");
  const Output weighted = losses * weights;
  const Output all = OnesLike(losses) * weights;
  return DivNoNan(Sum(weighted), Sum(all));
}

Output L2Regularization(const std::vector<Variable>& variables, float scale) {
  if (variables.empty()) Throw(InvalidArgument("L2Regularization: there is no variable"));
  const NameScope scope(variables.front().graph(), "l2_regularization");
  std::vector<Output> half_squares;
  for (const Variable& variable : variables) half_squares.push_back(L2Loss(variable.read()));
  return AddN(half_squares) * scale;
}

std::vector<Variable> Kernels(Graph& graph) {
  std::vector<Variable> kernels;
  for (const Variable& variable : TrainableVariables(graph)) {
    if (variable.shape().rank() >= 2) kernels.push_back(variable);
  }
  return kernels;
}

}  // namespace carillon
