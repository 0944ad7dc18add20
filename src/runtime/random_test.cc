// Random ops in sessions.
#include "carillon/ops/random.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "carillon/error.h"
#include "carillon/op_builder.h"
#include "carillon/ops/math.h"
#include "carillon/session.h"

namespace carillon {
namespace {

using Floats = std::vector<float>;

Floats FloatsOf(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
}

// TensorFlow's numbers for seed=1, seed2=2, in the first and the second run.
TEST(Random, GoesOnWhereTheLastRunEnded) {
  Graph g;
  const Output shuffled = OpBuilder(g, "RandomShuffle")
                              .Arg(Tensor::FromVector<int32_t>({0, 1, 2, 3, 4, 5, 6, 7}))
                              .Attr("seed", 1)
                              .Attr("seed2", 2);
  const Output drawn = OpBuilder(g, "Multinomial")
                           .Arg(Tensor::FromVector<float>({0, 1, 2}, Shape{1, 3}))
                           .Arg(6)
                           .Attr("seed", 1)
                           .Attr("seed2", 2);
  Session session(g);
  const auto ints = [&](const Output& output) {
    const Tensor value = session.Run(output);
    return std::vector<int32_t>(value.data<int32_t>(), value.data<int32_t>() + 8);
  };
  const auto longs = [&](const Output& output) {
    const Tensor value = session.Run(output);
    return std::vector<int64_t>(value.data<int64_t>(), value.data<int64_t>() + 6);
  };
  EXPECT_EQ(ints(shuffled), (std::vector<int32_t>{7, 4, 2, 0, 3, 6, 1, 5}));
  EXPECT_EQ(ints(shuffled), (std::vector<int32_t>{5, 3, 4, 7, 6, 0, 2, 1}));
  EXPECT_EQ(longs(drawn), (std::vector<int64_t>{1, 2, 1, 1, 2, 2}));
  EXPECT_EQ(longs(drawn), (std::vector<int64_t>{1, 2, 1, 2, 2, 1}));
}

// Different fetches are different executables; the op has one sequence all the same.
TEST(Random, HasOneSequenceWhateverIsFetched) {
  const auto run = [](bool alternate) {
    Graph g;
    const Output x = RandomUniform(g, {4}, kFloat, {.seed = 9});
    const Output y = Mul(x, 1.0f);
    Session session(g);
    std::vector<Floats> values;
    for (int i = 0; i < 4; ++i) values.push_back(FloatsOf(session.Run(alternate && i % 2 ? y : x)));
    return values;
  };
  const std::vector<Floats> values = run(false);
  EXPECT_EQ(run(true), values);
  EXPECT_NE(values[0], values[1]);
}

TEST(Random, IsTheSameInEverySessionAndProgram) {
  const auto run = [](int threads) {
    Graph g;
    g.SetSeed(42);
    const Output x = TruncatedNormal(g, {50, 100});
    const Output y = RandomStandardNormal(g, {50, 100});
    Session session(g, {.threads = threads});
    session.Run(x);
    return FloatsOf(session.Run(Sub(x, y)));
  };
  EXPECT_EQ(run(1), run(2));
}

TEST(Random, DiffersWithoutSeeds) {
  Graph g;
  const Output x = RandomUniform(g, {8}), y = RandomUniform(g, {8});
  Session first(g), second(g);
  const Floats values = FloatsOf(first.Run(x));
  EXPECT_NE(values, FloatsOf(first.Run(x)));
  EXPECT_NE(values, FloatsOf(first.Run(y)));
  EXPECT_NE(values, FloatsOf(second.Run(x)));
}

TEST(Random, StatelessOpsGiveTheSameAgain) {
  Graph g;
  const Output x = StatelessRandomNormal(g, {8}, {3, 4});
  const RandomKey key = StatelessRandomGetKeyCounterAlg(g, {3, 4});
  const Output y = StatelessRandomNormalV2({8}, key);
  Session session(g);
  const Floats values = FloatsOf(session.Run(x));
  EXPECT_EQ(values, FloatsOf(session.Run(x)));
  EXPECT_EQ(values, FloatsOf(session.Run(y)));
}

TEST(Random, HasTheRightMoments) {
  Graph g;
  const Output normal = RandomStandardNormal(g, {20000}, kDouble, {.seed = 1});
  const Output truncated = TruncatedNormal(g, {20000}, kDouble, {.seed = 1});
  Session session(g);
  for (const auto& [output, deviation] : {std::pair(normal, 1.0), std::pair(truncated, 0.8796)}) {
    const Tensor value = session.Run(output);
    const auto values = value.values<double>();
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 20000;
    double variance = 0;
    for (const double x : values) variance += (x - mean) * (x - mean) / 20000;
    EXPECT_NEAR(mean, 0, 0.03);
    EXPECT_NEAR(std::sqrt(variance), deviation, 0.02);
  }
  const Tensor value = session.Run(truncated);
  EXPECT_LT(*std::ranges::max_element(value.values<double>()), 2);
  EXPECT_GT(*std::ranges::min_element(value.values<double>()), -2);
}

TEST(Random, RefusesShapesThatNoTensorHas) {
  Graph g;
  const Output shape = OpBuilder(g, "Placeholder").Attr("dtype", kInt64);
  const Output x = RandomUniform(g, shape);
  Session session(g);
  const auto code = [&](const Tensor& value) {
    try {
      session.Run(x, {{shape, value}});
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  };
  EXPECT_EQ(code(Tensor::FromVector<int64_t>({-1})), Code::kInvalidArgument);
  EXPECT_EQ(code(Tensor::FromVector<int64_t>({1ll << 40, 1ll << 40})), Code::kInvalidArgument);
  EXPECT_EQ(code(Tensor::FromVector<int64_t>({1ll << 55})), Code::kResourceExhausted);
  EXPECT_EQ(code(Tensor::Scalar<int64_t>(2)), Code::kInvalidArgument);
  EXPECT_EQ(code(Tensor::FromVector<int64_t>({2, 0})), Code::kOk);
}

}  // namespace
}  // namespace carillon
