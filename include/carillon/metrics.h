// Metrics: how good predictions are, of one batch or over many.
#pragma once

#include <cstdint>
#include <vector>

#include "carillon/graph.h"
#include "carillon/variable.h"

namespace carillon {

// The share of examples whose highest score is that of the right class. `scores` (logits or
// probabilities) are [batch, classes]; `labels` are class numbers, or one-hot like the scores.
Output Accuracy(const Output& scores, const Output& labels);
// The share of examples whose right class is among the k highest scores. Labels as class numbers.
Output TopKAccuracy(const Output& scores, const Output& labels, int64_t k);

// A mean over all batches since the last reset:
//
//   session.Run(metric.reset);
//   for (…) session.Run(metric.update, {{x, images}, {y, labels}});
//   float accuracy = session.Run(metric.value).scalar<float>();
struct StreamingMetric {
  Output value;                     // 0 before the first update
  Operation update;                 // takes a batch in
  Operation reset;                  // begins anew; must run before the first update
  std::vector<Variable> variables;  // total and count, in the collection "local_variables"
};
// Every element of `values` counts, each with its weight if there are weights.
StreamingMetric StreamingMean(const Output& values, const Input& weights = {});
StreamingMetric StreamingAccuracy(const Output& scores, const Output& labels);
StreamingMetric StreamingTopKAccuracy(const Output& scores, const Output& labels, int64_t k);

}  // namespace carillon
