// How variables get their first values.
//
//   nn::Dense(x, 10, {.kernel_initializer = init::TruncatedNormal(0.1f)});
//
// Random ones draw what TensorFlow draws for the same seeds: that of the graph (Graph::SetSeed) and
// `seed`.
#pragma once

#include <cstdint>
#include <optional>

#include "carillon/graph.h"
#include "carillon/variable.h"

namespace carillon::init {

using Seed = std::optional<int64_t>;

Initializer Zeros();
Initializer Ones();
Initializer Constant(double value);
// Throws Error(InvalidArgument) when it is used for another shape or dtype.
Initializer FromTensor(const Tensor& value);

Initializer RandomUniform(float least = -0.05f, float below = 0.05f, Seed seed = {});
Initializer RandomNormal(float stddev = 1, float mean = 0, Seed seed = {});
// A normal distribution whose values beyond two standard deviations are drawn again.
Initializer TruncatedNormal(float stddev = 1, float mean = 0, Seed seed = {});

// Variance `scale` / n, where n is the number of a unit's inputs, of its outputs, or their average.
enum class Fan { kIn, kOut, kAverage };
enum class Distribution { kTruncatedNormal, kNormal, kUniform };
Initializer VarianceScaling(float scale, Fan fan, Distribution distribution, Seed seed = {});
Initializer GlorotUniform(Seed seed = {});  // also named after Xavier; for tanh and the like
Initializer GlorotNormal(Seed seed = {});
Initializer HeUniform(Seed seed = {});  // for relu
Initializer HeNormal(Seed seed = {});
Initializer LecunUniform(Seed seed = {});
Initializer LecunNormal(Seed seed = {});

}  // namespace carillon::init
