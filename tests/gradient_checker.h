// Holds the gradients that Gradients() builds against central differences.
#pragma once

#include <cstdint>
#include <vector>

#include "carillon/graph.h"
#include "carillon/session.h"

namespace carillon {

struct GradientCheck {
  // 0: what suits the dtype (double: 1e-5 and 1e-6; float: 1e-2 and 1e-2).
  double step = 0;
  double tolerance = 0;  // of the difference, relative to max(1, the gradient's size)
  uint64_t seed = 1;     // of the weights with which the elements of ys are summed
  Feeds feeds;           // what else the graph needs
  SessionOptions session;
};

// Adds the gradients of a weighted sum of all elements of `ys` to the graph of ys, computes them at
// xs = values, and fails the running test where they differ from what small changes of each element
// of xs do to that sum. `xs` are fed, so they may be any outputs; a gradient that is empty should
// be zero.
void CheckGradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                    const std::vector<Tensor>& values, const GradientCheck& check = {});

// Uniform numbers in [low, high).
Tensor RandomTensor(DType dtype, const Shape& shape, uint64_t seed, double low = -1,
                    double high = 1);

}  // namespace carillon
