// Losses: how far predictions are from what was wanted.
#pragma once

#include <vector>

#include "carillon/graph.h"
#include "carillon/variable.h"

namespace carillon {

// Each gives one loss for each example; Mean() makes one number of them. Logits are
// [batch, …, classes].

// Rows of `labels` are probabilities (one-hot, or softer), of the same shape as the logits.
Output SoftmaxCrossEntropy(const Output& logits, const Output& labels);
// `labels` are the numbers of the right classes: integers, one dimension less than the logits.
Output SparseSoftmaxCrossEntropy(const Output& logits, const Output& labels);
// Every class for itself, labels in [0, 1]; exact for large logits of either sign. Gives one loss
// for each element.
Output SigmoidCrossEntropy(const Output& logits, const Output& labels);

// These give one number: the mean over all elements.
Output MeanSquaredError(const Output& predictions, const Input& targets);
Output MeanAbsoluteError(const Output& predictions, const Input& targets);
// Squared (halved) where the error is below `delta`, linear above.
Output HuberLoss(const Output& predictions, const Input& targets, float delta = 1);

// Σ losses * weights / Σ weights; 0 when all weights are 0.
Output WeightedMean(const Output& losses, const Input& weights);

// scale * half the sum of the squares of all `variables`: to be added to a loss, for weight decay.
Output L2Regularization(const std::vector<Variable>& variables, float scale);
// The trainable variables that are kernels: those with at least two dimensions, so neither biases
// nor the scales and offsets of batch normalisation.
std::vector<Variable> Kernels(Graph& graph);

}  // namespace carillon
