#include "carillon/schedules.h"

#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/ops/array.h"
#include "carillon/session.h"

namespace carillon {
namespace {

// The rates at these steps. The expected ones are what TensorFlow 2.21's v1 schedules give.
constexpr int64_t kSteps[] = {0, 5, 10, 11, 20, 25, 45};

void ExpectRates(const std::function<Output(const Output&)>& make,
                 const std::vector<float>& expected) {
  Graph g;
  const Output step = Placeholder(g, kInt64, {});
  const Output rate = make(step);
  Session session(g);
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor value = session.Run(rate, {{step, Tensor::Scalar(kSteps[i])}});
    EXPECT_NEAR(value.scalar<float>(), expected[i], 1e-7) << "at step " << kSteps[i];
  }
}

TEST(Schedules, ExponentialDecay) {
  ExpectRates([](const Output& step) { return ExponentialDecay(0.1f, step, 10, 0.5f); },
              {0.1f, 0.0707106814f, 0.05f, 0.0466516502f, 0.025f, 0.0176776703f, 0.00441941759f});
  ExpectRates([](const Output& step) { return ExponentialDecay(0.1f, step, 10, 0.5f, true); },
              {0.1f, 0.1f, 0.05f, 0.05f, 0.025f, 0.025f, 0.00625f});
}

TEST(Schedules, NaturalExponentialAndInverseTimeDecay) {
  ExpectRates([](const Output& step) { return NaturalExponentialDecay(0.1f, step, 10, 0.5f); },
              {0.1f, 0.0778800771f, 0.0606530681f, 0.0576949827f, 0.0367879458f, 0.0286504813f,
               0.0105399229f});
  ExpectRates([](const Output& step) { return InverseTimeDecay(0.1f, step, 10, 0.5f); },
              {0.1f, 0.08f, 0.0666666701f, 0.0645161346f, 0.05f, 0.0444444455f, 0.0307692308f});
}

TEST(Schedules, PolynomialDecay) {
  ExpectRates(
      [](const Output& step) {
        return PolynomialDecay(0.1f, step, 20, {.end_rate = 0.01f, .power = 2});
      },
      {0.1f, 0.0606250018f, 0.0325f, 0.0282249991f, 0.01f, 0.01f, 0.01f});
  ExpectRates(
      [](const Output& step) {
        return PolynomialDecay(0.1f, step, 20, {.end_rate = 0.01f, .cycle = true});
      },
      {0.1f, 0.0775f, 0.055f, 0.0505f, 0.01f, 0.04375f, 0.0325f});
}

TEST(Schedules, PiecewiseConstantIncludesItsBoundaries) {
  ExpectRates(
      [](const Output& step) {
        return PiecewiseConstant(step, {10, 20}, {0.1f, 0.05f, 0.01f});
      },
      {0.1f, 0.1f, 0.1f, 0.05f, 0.05f, 0.01f, 0.01f});
}

TEST(Schedules, PiecewiseConstantRefusesWhatDoesNotFit) {
  Graph g;
  const Output step = Placeholder(g, kInt64, {});
  EXPECT_THROW(PiecewiseConstant(step, {10}, {0.1f}), Error);
  EXPECT_THROW(PiecewiseConstant(step, {20, 10}, {1, 2, 3}), Error);
  EXPECT_THROW(CosineDecay(0.1f, step, 0), Error);
}

TEST(Schedules, CosineDecay) {
  ExpectRates([](const Output& step) { return CosineDecay(0.1f, step, 20, 0.1f); },
              {0.1f, 0.0868198127f, 0.055f, 0.047960449f, 0.01f, 0.01f, 0.01f});
}

TEST(Schedules, CosineDecayRestarts) {
  ExpectRates(
      [](const Output& step) {
        return CosineDecayRestarts(0.1f, step, 10, {2.0f, 0.5f, 0.1f});
      },
      {0.1f, 0.055f, 0.055f, 0.0547229908f, 0.0325f, 0.0165900979f, 0.0255551878f});
  ExpectRates(
      [](const Output& step) {
        return CosineDecayRestarts(0.1f, step, 10, {1.0f, 0.5f, 0.1f});
      },
      {0.1f, 0.055f, 0.055f, 0.0538987704f, 0.0325f, 0.02125f, 0.0128125f});
}

TEST(Schedules, LinearWarmupLeadsIntoAnySchedule) {
  ExpectRates([](const Output& step) { return LinearWarmup(0.1f, step, 20); },
              {0, 0.025f, 0.05f, 0.055f, 0.1f, 0.1f, 0.1f});
  ExpectRates(
      [](const Output& step) {
        return LinearWarmup(ExponentialDecay(0.1f, step, 10, 0.5f), step, 10, 0.5f);
      },
      {0.05f, 0.0530330111f, 0.05f, 0.0466516502f, 0.025f, 0.0176776703f, 0.00441941759f});
}

}  // namespace
}  // namespace carillon
