// Limits for tensors and gradients.
//
//   auto gradients = optimizer.ComputeGradients(loss);
//   train = optimizer.ApplyGradients(ClipByGlobalNorm(gradients, 5), step);
//
// ClipByValue of one tensor is an op (carillon/ops/math.h). A gradient of slices is clipped by the
// rows it has; an empty one stays empty.
#pragma once

#include <cstdint>
#include <vector>

#include "carillon/gradients.h"
#include "carillon/graph.h"
#include "carillon/optimizer.h"

namespace carillon {

// Scaled down where the Euclidean norm, over all dimensions or over `axes`, is above `limit`.
Output ClipByNorm(const Input& value, const Input& limit, const std::vector<int64_t>& axes = {});
// The same with the norm divided by the number of elements.
Output ClipByAverageNorm(const Input& value, const Input& limit);

// The Euclidean norm of all together. Throws Error(InvalidArgument) when all are empty.
Output GlobalNorm(const std::vector<Gradient>& gradients);

struct ClippedGradients {
  std::vector<Gradient> gradients;
  Output global_norm;  // before clipping
};
// All scaled by one factor so that their global norm is at most `limit`. When the norm is not
// finite, all become NaN. `global_norm`, if given, is taken for it.
ClippedGradients ClipByGlobalNorm(const std::vector<Gradient>& gradients, const Input& limit,
                                  const Output& global_norm = {});

// For what ComputeGradients gives: every element into [least, most]; each gradient by its own norm;
// all by their global norm.
std::vector<GradientAndVariable> ClipByValue(const std::vector<GradientAndVariable>& pairs,
                                             const Input& least, const Input& most);
std::vector<GradientAndVariable> ClipByNorm(const std::vector<GradientAndVariable>& pairs,
                                            const Input& limit);
std::vector<GradientAndVariable> ClipByGlobalNorm(const std::vector<GradientAndVariable>& pairs,
                                                  const Input& limit);

}  // namespace carillon
