#include "carillon/initializers.h"

#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/session.h"

namespace carillon {
namespace {

// The first elements of a variable of shape [2, 2, 3, 2] in a graph with seed 1.
void ExpectFirst(const Initializer& initializer, const std::vector<float>& expected) {
  Graph g;
  g.SetSeed(1);
  const Output value = initializer(g, {2, 2, 3, 2}, kFloat);
  Session session(g);
  const Tensor result = session.Run(value);
  ASSERT_EQ(result.shape(), (Shape{2, 2, 3, 2}));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(result.values<float>()[i], expected[i], 1e-7) << "element " << i;
}

TEST(Initializers, Constants) {
  ExpectFirst(init::Zeros(), std::vector<float>(24, 0));
  ExpectFirst(init::Ones(), std::vector<float>(24, 1));
  ExpectFirst(init::Constant(0.1), std::vector<float>(24, 0.1f));
  const Tensor given = Tensor::Full<float>({2, 2, 3, 2}, 3);
  ExpectFirst(init::FromTensor(given), std::vector<float>(24, 3));
  Graph g;
  EXPECT_THROW(init::FromTensor(given)(g, {24}, kFloat), Error);
  EXPECT_THROW(init::FromTensor(given)(g, {2, 2, 3, 2}, kDouble), Error);
}

// The expected numbers are those of TensorFlow 2.21's v1 initializers for the same seeds.
TEST(Initializers, RandomOnesDrawWhatTensorFlowDraws) {
  ExpectFirst(init::RandomUniform(-0.05f, 0.05f, 7),
              {0.0287847631f, 0.0200397857f, 0.0404197015f, 0.0182453431f, 0.00988488272f});
  ExpectFirst(init::RandomNormal(2, 1, 7),
              {-0.314624548f, 0.57648313f, 0.182043493f, 0.630389988f, 1.72058725f});
  ExpectFirst(init::TruncatedNormal(0.1f, 0, 7),
              {-0.0657312274f, -0.0211758446f, -0.0408978276f, -0.0184805002f, 0.048211053f});
  ExpectFirst(init::GlorotUniform(7),
              {0.315321326f, 0.21952486f, 0.442775607f, 0.199867666f, 0.10828346f});
  ExpectFirst(init::GlorotNormal(7),
              {-0.23630552f, -0.0761277303f, -0.147028774f, -0.0664378926f, 0.173320025f});
  ExpectFirst(init::HeUniform(7),
              {0.407077968f, 0.283405364f, 0.571620882f, 0.25802803f, 0.139793336f});
  ExpectFirst(init::HeNormal(7),
              {-0.305069119f, -0.0982804745f, -0.189813331f, -0.0857709497f, 0.223755181f});
  ExpectFirst(init::VarianceScaling(1, init::Fan::kOut, init::Distribution::kNormal, 7),
              {-0.232394978f, -0.0748679191f, -0.144595653f, -0.0653384328f, 0.127383038f});
}

}  // namespace
}  // namespace carillon
