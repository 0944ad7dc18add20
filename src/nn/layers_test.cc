#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/nn.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "carillon/ops/nn.h"
#include "carillon/optimizer.h"
#include "carillon/session.h"

namespace carillon {
namespace {

std::vector<float> ToVector(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

std::vector<std::string> NamesOf(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Variable& variable : variables) names.push_back(variable.name());
  return names;
}

const Tensor kTwoRows = Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2});

TEST(Dense, MultipliesAddsAndActivates) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1, 2});
  const Tensor kernel = Tensor::FromVector<float>({1, 0, -1, 0, 1, -1}, {2, 3});
  const Output y = nn::Dense(x, 3,
                             {.activation = Relu,
                              .kernel_initializer = init::FromTensor(kernel),
                              .bias_initializer = init::Constant(0.5)});
  EXPECT_EQ(NamesOf(TrainableVariables(g)),
            (std::vector<std::string>{"dense/kernel", "dense/bias"}));
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  EXPECT_EQ(ToVector(session.Run(y, {{x, kTwoRows}})),
            (std::vector<float>{1.5f, 2.5f, 0, 3.5f, 4.5f, 0}));
}

TEST(Dense, AppliesToTheLastDimensionOfMore) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1, 3, 2});
  const Output y = nn::Dense(x, 1, {.kernel_initializer = init::Ones()});
  EXPECT_EQ(y.shape(), (PartialShape{-1, 3, 1}));
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  const Tensor in = Tensor::FromVector<float>({1, 2, 3, 4, 5, 6}, {1, 3, 2});
  EXPECT_EQ(ToVector(session.Run(y, {{x, in}})), (std::vector<float>{3, 7, 11}));
}

TEST(Dense, NeedsToKnowItsInput) {
  Graph g;
  EXPECT_THROW(nn::Dense(Placeholder(g, kFloat, {2, -1}), 3), Error);
  EXPECT_THROW(nn::Dense(Placeholder(g, kFloat, PartialShape()), 3), Error);
  EXPECT_THROW(nn::Dense(0), Error);
}

TEST(Layer, SharesItsVariablesBetweenApplications) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1, 2});
  const nn::Layer dense = nn::Dense(3);
  const Output a = dense(x), b = dense(x);
  nn::Dense(x, 4);
  EXPECT_EQ(
      NamesOf(GlobalVariables(g)),
      (std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"}));
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  EXPECT_EQ(ToVector(session.Run(a, {{x, kTwoRows}})), ToVector(session.Run(b, {{x, kTwoRows}})));
  EXPECT_THROW(dense(Placeholder(g, kFloat, {-1, 5})), Error);
}

TEST(Sequential, StacksLayersAndFunctions) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1, 2});
  const nn::Layer network = nn::Sequential(
      {[](const Output& in) { return in * 2.0f; }, Neg, nn::Sequential({Relu, Exp})});
  Session session(g);
  EXPECT_EQ(ToVector(session.Run(network(x), {{x, kTwoRows}})), (std::vector<float>{1, 1, 1, 1}));
}

TEST(Conv2D, PoolsAndFlattensImages) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1, 28, 28, 1});
  const nn::Layer network =
      nn::Sequential({nn::Conv2D(32, 5, {.activation = Relu}), nn::MaxPool(2),
                      nn::Conv2D(64, {3, 5}, {.stride = 2, .padding = "VALID", .use_bias = false}),
                      nn::AvgPool(2, {.stride = 1, .padding = "VALID"})});
  const Output y = network(x);
  EXPECT_EQ(y.shape(), (PartialShape{-1, 5, 4, 64}));
  EXPECT_EQ(nn::Flatten(y).shape(), (PartialShape{-1, 5 * 4 * 64}));
  EXPECT_EQ(nn::GlobalAvgPool(y).shape(), (PartialShape{-1, 64}));
  const std::vector<Variable> variables = TrainableVariables(g);
  EXPECT_EQ(NamesOf(variables),
            (std::vector<std::string>{"conv2d/kernel", "conv2d/bias", "conv2d_1/kernel"}));
  EXPECT_EQ(variables[2].shape(), (PartialShape{3, 5, 32, 64}));
  EXPECT_THROW(nn::Conv2D(0, 3), Error);
  EXPECT_THROW(nn::Conv2D(1, 0), Error);
}

// Two channels: 1, 3 and 10, 30.
const Tensor kBatch = Tensor::FromVector<float>({1, 10, 3, 30}, {2, 1, 1, 2});

void ExpectNear(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5);
}

class BatchNormTest : public testing::TestWithParam<bool> {};  // images, or rows

TEST_P(BatchNormTest, TrainsByTheBatchAndEvaluatesByItsAverages) {
  const bool images = GetParam();
  Graph g;
  const Output x = images ? Placeholder(g, kFloat, {-1, 1, 1, 2}) : Placeholder(g, kFloat, {-1, 2});
  const nn::Layer norm = nn::BatchNorm({.momentum = 0.9f, .epsilon = 0.001f});
  const Output trained = norm(x, nn::kTraining), evaluated = norm(x);
  EXPECT_EQ(NamesOf(GlobalVariables(g)),
            (std::vector<std::string>{"batch_normalization/gamma", "batch_normalization/beta",
                                      "batch_normalization/moving_mean",
                                      "batch_normalization/moving_variance"}));
  EXPECT_EQ(TrainableVariables(g).size(), 2u);
  EXPECT_EQ(g.Collection("update_ops").size(), 2u);
  const Operation train = GradientDescent(0.0).Minimize(Sum(Square(trained)));
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  const Tensor batch = images ? kBatch : kBatch.Reshaped({2, 2});
  const Feeds feeds = {{x, batch}};

  const float small = 1 / std::sqrt(1 + 0.001f), large = 10 / std::sqrt(100 + 0.001f);
  ExpectNear(ToVector(session.Run(trained, feeds)), {-small, -large, small, large});
  session.Run(train, feeds);
  ExpectNear(ToVector(session.Run(GlobalVariables(g)[2].read())), {0.1f * 2, 0.1f * 20});
  ExpectNear(ToVector(session.Run(GlobalVariables(g)[3].read())), {0.9f + 0.2f, 0.9f + 20});
  const float a = std::sqrt(1.1f + 0.001f), b = std::sqrt(20.9f + 0.001f);
  ExpectNear(ToVector(session.Run(evaluated, feeds)), {0.8f / a, 8 / b, 2.8f / a, 28 / b});
}

INSTANTIATE_TEST_SUITE_P(Shapes, BatchNormTest, testing::Bool());

TEST(BatchNorm, TakesAFedPhase) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1, 1, 1, 2}), phase = Placeholder(g, kBool, {});
  const Output y = nn::BatchNorm(x, phase, {.momentum = 0.9f});
  const Operation train = GradientDescent(0.0).Minimize(Sum(Square(y)));
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  const Feeds training = {{x, kBatch}, {phase, Tensor::Scalar(true)}};
  const Feeds evaluation = {{x, kBatch}, {phase, Tensor::Scalar(false)}};
  const float scale = 1 / std::sqrt(1 + 0.001f);
  ExpectNear(ToVector(session.Run(y, evaluation)), {scale, 10 * scale, 3 * scale, 30 * scale});
  session.Run(train, evaluation);
  ExpectNear(ToVector(session.Run(GlobalVariables(g)[2].read())), {0, 0});
  session.Run(train, training);
  ExpectNear(ToVector(session.Run(GlobalVariables(g)[2].read())), {0.2f, 2});
}

TEST(Dropout, KeepsAShareInTrainingAndAllInEvaluation) {
  Graph g;
  g.SetSeed(1);
  const Output x = Const(g, Tensor::Full<float>({100, 100}, 1));
  const nn::Layer dropout = nn::Dropout(0.8);
  Session session(g);
  const std::vector<float> dropped = ToVector(session.Run(dropout(x, nn::kTraining)));
  const auto kept = std::ranges::count_if(dropped, [](float v) { return v != 0; });
  EXPECT_NEAR(static_cast<double>(kept) / 10'000, 0.8, 0.02);
  for (const float value : dropped) EXPECT_TRUE(value == 0 || std::abs(value - 1.25f) < 1e-6);
  EXPECT_EQ(dropout(x), x);
  EXPECT_EQ(nn::Dropout(1)(x, nn::kTraining), x);
}

TEST(Dropout, TakesWhatIsFed) {
  Graph g;
  g.SetSeed(1);
  const Output x = Const(g, Tensor::Full<float>({1000}, 1));
  const Output keep = PlaceholderWithDefault(Const(g, Tensor::Scalar(1.0f)), Shape{});
  const Output phase = Placeholder(g, kBool, {});
  const Output by_keep = Sum(nn::Dropout(x, keep)), by_phase = Sum(nn::Dropout(0.5)(x, phase));
  Session session(g);
  EXPECT_EQ(session.Run(by_keep).scalar<float>(), 1000);
  const float some = session.Run(by_keep, {{keep, Tensor::Scalar(0.5f)}}).scalar<float>();
  EXPECT_NE(some, 1000);
  EXPECT_NEAR(some, 1000, 150);
  EXPECT_EQ(session.Run(by_phase, {{phase, Tensor::Scalar(false)}}).scalar<float>(), 1000);
  EXPECT_NE(session.Run(by_phase, {{phase, Tensor::Scalar(true)}}).scalar<float>(), 1000);
}

TEST(Embedding, LooksUpRowsAndTrainsOnlyThose) {
  Graph g;
  const Output ids = Placeholder(g, kInt64, {-1});
  const nn::Layer embedding = nn::Embedding(4, 2, {.initializer = init::Ones()});
  const Output rows = embedding(ids);
  Optimizer optimizer = GradientDescent(0.5);
  const std::vector<GradientAndVariable> gradients = optimizer.ComputeGradients(Sum(rows));
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_TRUE(gradients[0].gradient.is_slices());
  EXPECT_EQ(gradients[0].variable.name(), "embedding/embeddings");
  const Operation train = optimizer.ApplyGradients(gradients);
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  session.Run(train, {{ids, Tensor::FromVector<int64_t>({3, 1, 3})}});
  EXPECT_EQ(ToVector(session.Run(gradients[0].variable.read())),
            (std::vector<float>{1, 1, 0.5f, 0.5f, 1, 1, 0, 0}));
}

TEST(Embedding, LooksUpRowsThatSeveralTablesShare) {
  Graph g;
  // Ids 0, 2, 4 and 1, 3.
  const Variable even(g, "even", Tensor::FromVector<float>({0, 0, 2, 20, 4, 40}, {3, 2}));
  const Variable odd(g, "odd", Tensor::FromVector<float>({1, 10, 3, 30}, {2, 2}));
  const Output ids = Placeholder(g, kInt32, {-1, 2});
  const Output rows = nn::EmbeddingLookup({even, odd}, ids);
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  const Tensor result =
      session.Run(rows, {{ids, Tensor::FromVector<int32_t>({3, 0, 4, 1}, {2, 2})}});
  EXPECT_EQ(result.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(ToVector(result), (std::vector<float>{3, 30, 0, 0, 4, 40, 1, 10}));
}

}  // namespace
}  // namespace carillon
