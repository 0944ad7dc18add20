#include "carillon/clipping.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "carillon/error.h"
#include "carillon/ops/array.h"
#include "carillon/session.h"

namespace carillon {
namespace {

// The expected values are TensorFlow 2.21's.

void ExpectValues(const Output& value, const std::vector<float>& expected) {
  Session session(value.graph());
  const Tensor result = session.Run(value);
  ASSERT_EQ(result.num_elements(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(result.values<float>()[i], expected[i], 2e-6) << "element " << i;
}

Output Matrix(Graph& g) { return Const(g, Tensor::FromVector<float>({3, 4, 0, -12}, {2, 2})); }

IndexedSlices OneRow(Graph& g) {
  return {Const(g, Tensor::FromVector<float>({1, 2}, {1, 2})),
          Const(g, Tensor::FromVector<int32_t>({0})),
          Const(g, Tensor::FromVector<int32_t>({2, 2}))};
}

TEST(Clipping, ByNorm) {
  Graph g;
  ExpectValues(ClipByNorm(Matrix(g), 5.0f), {1.15384614f, 1.53846157f, 0, -4.61538458f});
  ExpectValues(ClipByNorm(Matrix(g), 5.0f, {1}), {3, 4, 0, -5});
  ExpectValues(ClipByNorm(Const(g, Tensor::Full<float>({2}, 0)), 5.0f), {0, 0});
}

TEST(Clipping, ByAverageNorm) {
  Graph g;
  ExpectValues(ClipByAverageNorm(Matrix(g), 2.0f), {1.84615397f, 2.46153855f, 0, -7.3846159f});
}

TEST(Clipping, ByGlobalNormOfTensorsAndSlices) {
  Graph g;
  const ClippedGradients clipped = ClipByGlobalNorm({Matrix(g), Gradient(), OneRow(g)}, 5.0f);
  ExpectValues(clipped.global_norm, {13.190906f});
  ExpectValues(clipped.gradients[0].tensor(), {1.13714707f, 1.51619613f, 0, -4.54858828f});
  EXPECT_TRUE(clipped.gradients[1].empty());
  ExpectValues(clipped.gradients[2].slices().values, {0.379049033f, 0.758098066f});
}

TEST(Clipping, ByGlobalNormLeavesSmallGradientsAlone) {
  Graph g;
  ExpectValues(ClipByGlobalNorm({Matrix(g)}, 50.0f).gradients[0].tensor(), {3, 4, 0, -12});
}

TEST(Clipping, ByGlobalNormMakesNanOfWhatIsNotFinite) {
  Graph g;
  const float infinity = std::numeric_limits<float>::infinity();
  const Output wild = Const(g, Tensor::FromVector<float>({1, infinity}));
  const ClippedGradients clipped = ClipByGlobalNorm({wild}, 5.0f);
  Session session(g);
  for (const float value : session.Run(clipped.gradients[0].tensor()).values<float>())
    EXPECT_TRUE(std::isnan(value));
}

TEST(Clipping, RefusesToNormNothing) {
  EXPECT_THROW(GlobalNorm({}), Error);
  EXPECT_THROW(GlobalNorm({Gradient()}), Error);
}

TEST(Clipping, PairsKeepTheirVariables) {
  Graph g;
  const Variable a(g, "a", Tensor::Full<float>({2, 2}, 0)),
      b(g, "b", Tensor::Full<float>({2, 2}, 0));
  const std::vector<GradientAndVariable> pairs = {{Matrix(g), a}, {OneRow(g), b}};
  const auto by_value = ClipByValue(pairs, -1.0f, 1.5f);
  EXPECT_EQ(by_value[1].variable, b);
  ExpectValues(by_value[0].gradient.tensor(), {1.5f, 1.5f, 0, -1});
  ExpectValues(by_value[1].gradient.slices().values, {1, 1.5f});
  ExpectValues(ClipByNorm(pairs, 1.0f)[1].gradient.slices().values,
               {1 / std::sqrt(5.0f), 2 / std::sqrt(5.0f)});
  const auto by_global_norm = ClipByGlobalNorm(pairs, 5.0f);
  EXPECT_EQ(by_global_norm[0].variable, a);
  ExpectValues(by_global_norm[1].gradient.slices().values, {0.379049033f, 0.758098066f});
}

}  // namespace
}  // namespace carillon
