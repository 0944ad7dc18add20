#include "carillon/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/throw.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"

namespace carillon {
namespace {

// step / period in float, as all formulas want it.
Output Elapsed(const Output& step, int64_t period, const char* what) {
  if (period <= 0) Throw(InvalidArgument(what, " must be above 0 but is ", period));
  return Cast(step, kFloat) / static_cast<float>(period);
}

Output Exponent(const Output& step, int64_t decay_steps, bool staircase) {
  const Output exponent = Elapsed(step, decay_steps, "decay_steps");
  return staircase ? Floor(exponent) : exponent;
}

// 1 at 0, 0 at 1, along half a cosine wave.
Output HalfCosine(const Output& done) {
  return 0.5f * (Cos(done * std::numbers::pi_v<float>) + 1.0f);
}

}  // namespace

Output ExponentialDecay(float rate, const Output& step, int64_t decay_steps, float decay_rate,
                        bool staircase) {
  const NameScope scope(step.graph(), "ExponentialDecay");
  return rate * Pow(decay_rate, Exponent(step, decay_steps, staircase));
}

Output NaturalExponentialDecay(float rate, const Output& step, int64_t decay_steps,
                               float decay_rate, bool staircase) {
  const NameScope scope(step.graph(), "NaturalExpDecay");
  return rate * Exp(Exponent(step, decay_steps, staircase) * -decay_rate);
}

Output InverseTimeDecay(float rate, const Output& step, int64_t decay_steps, float decay_rate,
                        bool staircase) {
  const NameScope scope(step.graph(), "InverseTimeDecay");
  return rate / (1.0f + decay_rate * Exponent(step, decay_steps, staircase));
}

Output PolynomialDecay(float rate, const Output& step, int64_t decay_steps,
                       const PolynomialDecayOptions& options) {
  const NameScope scope(step.graph(), "PolynomialDecay");
  Output done = Elapsed(step, decay_steps, "decay_steps");
  if (options.cycle) {
    done = done / Maximum(Ceil(done), 1.0f);  // of the longer decay that step has got into
  } else {
    done = Minimum(done, 1.0f);
  }
  return (rate - options.end_rate) * Pow(1.0f - done, options.power) + options.end_rate;
}

Output PiecewiseConstant(const Output& step, const std::vector<int64_t>& boundaries,
                         const std::vector<float>& rates) {
  if (rates.size() != boundaries.size() + 1) {
    Throw(InvalidArgument("PiecewiseConstant: ", boundaries.size(), " boundaries need ",
                          boundaries.size() + 1, " rates but there are ", rates.size()));
  }
  if (std::ranges::adjacent_find(boundaries, std::ranges::greater_equal()) != boundaries.end())
    Throw(InvalidArgument("PiecewiseConstant: the boundaries must rise"));
  Graph& graph = step.graph();
  const NameScope scope(graph, "PiecewiseConstant");
  const Output passed = Greater(Cast(step, kInt64), Const(graph, Tensor::FromVector(boundaries)));
  return Gather(Const(graph, Tensor::FromVector(rates)), Sum(Cast(passed, kInt32)), 0);
}

Output CosineDecay(float rate, const Output& step, int64_t decay_steps, float alpha) {
  const NameScope scope(step.graph(), "CosineDecay");
  const Output done = Minimum(Elapsed(step, decay_steps, "decay_steps"), 1.0f);
  return rate * ((1.0f - alpha) * HalfCosine(done) + alpha);
}

Output CosineDecayRestarts(float rate, const Output& step, int64_t first_period,
                           const CosineRestartOptions& options) {
  const NameScope scope(step.graph(), "SGDRDecay");
  const Output elapsed = Elapsed(step, first_period, "first_period");
  Output restarts, done;
  if (options.period_factor == 1) {
    restarts = Floor(elapsed);
    done = elapsed - restarts;
  } else {
    // The periods 1, f, f^2, … sum up to (f^n - 1) / (f - 1) after n restarts.
    const float f = options.period_factor;
    restarts = Floor(Log(1.0f - elapsed * (1.0f - f)) / std::log(f));
    const Output begun = (1.0f - Pow(f, restarts)) / (1.0f - f);
    done = (elapsed - begun) / Pow(f, restarts);
  }
  const Output height = Pow(options.rate_factor, restarts);
  return rate * ((1.0f - options.alpha) * (height * HalfCosine(done)) + options.alpha);
}

Output LinearWarmup(const Input& rate, const Output& step, int64_t warmup_steps, float start) {
  const NameScope scope(step.graph(), "LinearWarmup");
  const Output risen = Minimum(Elapsed(step, warmup_steps, "warmup_steps"), 1.0f);
  return Mul(rate, start + (1.0f - start) * risen);
}

}  // namespace carillon
