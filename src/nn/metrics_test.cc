#include "carillon/metrics.h"

#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/ops/array.h"
#include "carillon/session.h"

namespace carillon {
namespace {

const Tensor kScores = Tensor::FromVector<float>({1, 3, 2, 9, 8, 7, 0, 1, 2}, {3, 3});

TEST(Metrics, AccuracyTakesClassNumbersAndOneHotLabels) {
  Graph g;
  const Output scores = Const(g, kScores);
  Session session(g);
  const Output numbers = Const(g, Tensor::FromVector<int32_t>({1, 1, 2}));
  const Output one_hot = Const(g, Tensor::FromVector<float>({0, 1, 0, 0, 1, 0, 0, 0, 1}, {3, 3}));
  EXPECT_NEAR(session.Run(Accuracy(scores, numbers)).scalar<float>(), 2.0 / 3, 1e-6);
  EXPECT_NEAR(session.Run(Accuracy(scores, one_hot)).scalar<float>(), 2.0 / 3, 1e-6);
}

TEST(Metrics, TopKAccuracy) {
  Graph g;
  const Output scores = Const(g, kScores),
               labels = Const(g, Tensor::FromVector<int64_t>({0, 1, 0}));
  Session session(g);
  EXPECT_EQ(session.Run(TopKAccuracy(scores, labels, 1)).scalar<float>(), 0);
  EXPECT_NEAR(session.Run(TopKAccuracy(scores, labels, 2)).scalar<float>(), 1.0 / 3, 1e-6);
  EXPECT_EQ(session.Run(TopKAccuracy(scores, labels, 3)).scalar<float>(), 1);
  EXPECT_THROW(TopKAccuracy(scores, labels, 0), Error);
}

TEST(Metrics, StreamingMeanWeighsBatchesBySize) {
  Graph g;
  const Output values = Placeholder(g, kFloat, {-1});
  const StreamingMetric mean = StreamingMean(values);
  Session session(g);
  session.Run(mean.reset);
  EXPECT_EQ(session.Run(mean.value).scalar<float>(), 0);
  session.Run(mean.update, {{values, Tensor::FromVector<float>({1, 2, 3})}});
  session.Run(mean.update, {{values, Tensor::FromVector<float>({10})}});
  EXPECT_EQ(session.Run(mean.value).scalar<float>(), 4);
  session.Run(mean.reset);
  session.Run(mean.update, {{values, Tensor::FromVector<float>({7})}});
  EXPECT_EQ(session.Run(mean.value).scalar<float>(), 7);
  EXPECT_EQ(GlobalVariables(g).size(), 0u);
  EXPECT_EQ(LocalVariables(g).size(), 2u);
}

TEST(Metrics, StreamingMeanTakesWeights) {
  Graph g;
  const Output values = Placeholder(g, kFloat, {-1}), weights = Placeholder(g, kFloat, {-1});
  const StreamingMetric mean = StreamingMean(values, weights);
  Session session(g);
  session.Run(mean.reset);
  session.Run(mean.update, {{values, Tensor::FromVector<float>({1, 2})},
                            {weights, Tensor::FromVector<float>({3, 1})}});
  EXPECT_EQ(session.Run(mean.value).scalar<float>(), 1.25f);
}

TEST(Metrics, StreamingAccuracy) {
  Graph g;
  const Output labels = Placeholder(g, kInt64, {-1});
  const StreamingMetric accuracy = StreamingAccuracy(Const(g, kScores), labels);
  const StreamingMetric top2 = StreamingTopKAccuracy(Const(g, kScores), labels, 2);
  Session session(g);
  session.Run(LocalVariablesInitializer(g));
  for (const std::vector<int64_t>& batch : {std::vector<int64_t>{1, 0, 2}, {0, 1, 0}}) {
    session.Run(accuracy.update, {{labels, Tensor::FromVector(batch)}});
    session.Run(top2.update, {{labels, Tensor::FromVector(batch)}});
  }
  EXPECT_EQ(session.Run(accuracy.value).scalar<float>(), 0.5f);
  EXPECT_NEAR(session.Run(top2.value).scalar<float>(), 4.0 / 6, 1e-6);
}

}  // namespace
}  // namespace carillon
