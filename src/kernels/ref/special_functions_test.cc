#include "kernels/ref/special_functions.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace carillon {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(SpecialFunctions, DigammaAtKnownPoints) {
  constexpr double kEuler = 0.57721566490153286061;
  EXPECT_NEAR(Digamma(1.0), -kEuler, 1e-14);
  EXPECT_NEAR(Digamma(0.5), -kEuler - 2 * std::log(2.0), 1e-14);
  EXPECT_NEAR(Digamma(-0.5), 0.03648997397857652056, 1e-14);
  EXPECT_NEAR(Digamma(100.0), 4.60016185273808740, 1e-13);
  EXPECT_TRUE(std::isnan(Digamma(0.0)));
  EXPECT_TRUE(std::isnan(Digamma(-3.0)));
  EXPECT_EQ(Digamma(kInfinity), kInfinity);
}

TEST(SpecialFunctions, ErfInverseUndoesErf) {
  for (double y = -0.999; y < 1; y += 0.0173) EXPECT_NEAR(std::erf(ErfInverse(y)), y, 2e-15) << y;
  for (const double tail : {1e-5, 1e-10, 1e-15})
    EXPECT_NEAR(std::erfc(ErfInverse(1 - tail)) / (1 - (1 - tail)), 1, 1e-13) << tail;
  EXPECT_EQ(ErfInverse(1.0), kInfinity);
  EXPECT_EQ(ErfInverse(-1.0), -kInfinity);
  EXPECT_TRUE(std::isnan(ErfInverse(1.5)));
}

TEST(SpecialFunctions, NormalQuantileUndoesTheDistribution) {
  for (double p = 0.001; p < 1; p += 0.0137)
    EXPECT_NEAR(0.5 * std::erfc(-NormalQuantile(p) / std::sqrt(2.0)), p, 2e-15) << p;
  for (const double p : {1e-8, 1e-20, 1e-300})
    EXPECT_NEAR(0.5 * std::erfc(-NormalQuantile(p) / std::sqrt(2.0)) / p, 1, 1e-12) << p;
  EXPECT_EQ(NormalQuantile(0.0), -kInfinity);
  EXPECT_EQ(NormalQuantile(1.0), kInfinity);
  EXPECT_TRUE(std::isnan(NormalQuantile(-0.1)));
}

TEST(SpecialFunctions, LogGammaOfNegatives) {
  EXPECT_NEAR(LogGamma(-0.5), 1.2655121234846454, 1e-14);
  EXPECT_EQ(LogGamma(0.0), kInfinity);
}

}  // namespace
}  // namespace carillon
