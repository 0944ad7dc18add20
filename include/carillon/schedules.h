// Learning rates that change with the step. Each is a scalar Output, computed anew in every step:
//
//   const Variable step = GlobalStep(g);
//   Output rate = LinearWarmup(CosineDecay(0.1, step, 10'000), step, 500);
//   Operation train = Momentum(rate, 0.9).Minimize(loss, step);
//
// `step` is an integer scalar. The formulas and their rounding are TensorFlow's.
#pragma once

#include <cstdint>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// rate * decay_rate ^ (step / decay_steps); with `staircase` the exponent is rounded down.
Output ExponentialDecay(float rate, const Output& step, int64_t decay_steps, float decay_rate,
                        bool staircase = false);
// rate * exp(-decay_rate * step / decay_steps).
Output NaturalExponentialDecay(float rate, const Output& step, int64_t decay_steps,
                               float decay_rate, bool staircase = false);
// rate / (1 + decay_rate * step / decay_steps).
Output InverseTimeDecay(float rate, const Output& step, int64_t decay_steps, float decay_rate,
                        bool staircase = false);

struct PolynomialDecayOptions {
  float end_rate = 0.0001f;
  float power = 1;
  bool cycle = false;  // start over, with twice, three times, … the decay_steps
};
// From `rate` to `end_rate` in `decay_steps` steps, along a polynomial.
Output PolynomialDecay(float rate, const Output& step, int64_t decay_steps,
                       const PolynomialDecayOptions& options = {});

// rates[i] up to and including step boundaries[i], the last one after that. Throws
// Error(InvalidArgument) unless there is one more rate than boundaries and these rise.
Output PiecewiseConstant(const Output& step, const std::vector<int64_t>& boundaries,
                         const std::vector<float>& rates);

// From `rate` to alpha * rate in `decay_steps` steps, along half a cosine wave.
Output CosineDecay(float rate, const Output& step, int64_t decay_steps, float alpha = 0);

struct CosineRestartOptions {
  float period_factor = 2;  // how much longer each period is than the one before
  float rate_factor = 1;    // and how much higher it starts
  float alpha = 0;          // what is left at the end of a period
};
// CosineDecay that starts over after `first_period` steps, and so on.
Output CosineDecayRestarts(float rate, const Output& step, int64_t first_period,
                           const CosineRestartOptions& options = {});

// During the first `warmup_steps` a share of `rate` (a number or any of the above) that rises
// linearly from `start` to 1.
Output LinearWarmup(const Input& rate, const Output& step, int64_t warmup_steps, float start = 0);

}  // namespace carillon
