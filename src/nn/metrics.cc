#include "carillon/metrics.h"

#include "base/throw.h"
#include "carillon/ops/array.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/math.h"

namespace carillon {
namespace {

// 1 for each example that is right, 0 for the others.
Output IsBest(const Output& scores, const Output& labels) {
  const Output best = ArgMax(scores, -1);
  const bool one_hot = IsFloating(labels.dtype());
  return Cast(Equal(best, one_hot ? ArgMax(labels, -1) : Cast(labels, kInt64)), kFloat);
}

Output IsAmongBest(const Output& scores, const Output& labels, int64_t k) {
  if (k < 1) Throw(InvalidArgument("a top-k accuracy needs a k of at least 1 but it is ", k));
  return Cast(InTopKV2(scores, Cast(labels, kInt64), Tensor::Scalar(k)), kFloat);
}

}  // namespace

Output Accuracy(const Output& scores, const Output& labels) {
  const NameScope scope(scores.graph(), "accuracy");
  return Mean(IsBest(scores, labels));
}

Output TopKAccuracy(const Output& scores, const Output& labels, int64_t k) {
  const NameScope scope(scores.graph(), "top_k_accuracy");
  return Mean(IsAmongBest(scores, labels, k));
}

StreamingMetric StreamingMean(const Output& values, const Input& weights) {
  Graph& graph = values.graph();
  const NameScope scope(graph, "mean");
  const VariableOptions local{.trainable = false, .local = true};
  const Variable total(graph, "total", 0.0f, local), count(graph, "count", 0.0f, local);
  Output sum = Cast(values, kFloat), number = Cast(Size(values), kFloat);
  if (weights.valid()) {
    number = Sum(OnesLike(sum) * weights);
    sum = sum * weights;
  }
  return {.value = DivNoNan(total.read(), count.read()),
          .update = Group(graph, {total.AssignAdd(Sum(sum)), count.AssignAdd(number)}, "update_op"),
          .reset = Group(graph, {total.initializer(), count.initializer()}, "reset"),
          .variables = {total, count}};
}

StreamingMetric StreamingAccuracy(const Output& scores, const Output& labels) {
  const NameScope scope(scores.graph(), "accuracy");
  return StreamingMean(IsBest(scores, labels));
}

StreamingMetric StreamingTopKAccuracy(const Output& scores, const Output& labels, int64_t k) {
  const NameScope scope(scores.graph(), "top_k_accuracy");
  return StreamingMean(IsAmongBest(scores, labels, k));
}

}  // namespace carillon
