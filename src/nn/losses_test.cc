#include "carillon/losses.h"

#include <gtest/gtest.h>

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
    EXPECT_NEAR(result.values<float>()[i], expected[i], 1e-6) << "element " << i;
}

Output Floats(Graph& g, const std::vector<float>& values, const Shape& shape) {
  return Const(g, Tensor::FromVector(values, shape));
}

TEST(Losses, SoftmaxCrossEntropy) {
  Graph g;
  const Output logits = Floats(g, {1, 2, 3, 3, 1, 0}, {2, 3});
  ExpectValues(SoftmaxCrossEntropy(logits, Floats(g, {0, 0, 1, 0.5f, 0.5f, 0}, {2, 3})),
               {0.407605946f, 1.16984606f});
  ExpectValues(SparseSoftmaxCrossEntropy(logits, Const(g, Tensor::FromVector<int64_t>({0, 1}))),
               {2.40760589f, 2.16984606f});
}

TEST(Losses, CrossEntropyOfSequencesKeepsTheirShape) {
  Graph g;
  const Output logits = Floats(g, {1, 2, 3, 3, 1, 0}, {2, 1, 3});
  const Output sparse =
      SparseSoftmaxCrossEntropy(logits, Const(g, Tensor::FromVector<int64_t>({0, 1}, {2, 1})));
  const Output dense = SoftmaxCrossEntropy(logits, Floats(g, {0, 0, 1, 0.5f, 0.5f, 0}, {2, 1, 3}));
  Session session(g);
  EXPECT_EQ(session.Run(sparse).shape(), (Shape{2, 1}));
  EXPECT_EQ(session.Run(dense).shape(), (Shape{2, 1}));
  ExpectValues(sparse, {2.40760589f, 2.16984606f});
  ExpectValues(dense, {0.407605946f, 1.16984606f});
}

TEST(Losses, SigmoidCrossEntropyIsExactForLargeLogits) {
  Graph g;
  ExpectValues(SigmoidCrossEntropy(Floats(g, {-100, -1, 0, 2, 200}, {5}),
                                   Floats(g, {0, 1, 0.5f, 1, 0}, {5})),
               {0, 1.31326175f, 0.693147182f, 0.126928002f, 200});
}

TEST(Losses, OfNumbers) {
  Graph g;
  const Output predictions = Floats(g, {1, 2, 5}, {3}), targets = Floats(g, {1.5f, 0, 5}, {3});
  ExpectValues(HuberLoss(predictions, targets), {0.5416667f});
  ExpectValues(MeanSquaredError(predictions, targets), {1.4166666f});
  ExpectValues(MeanAbsoluteError(predictions, targets), {0.8333333f});
}

TEST(Losses, WeightedMean) {
  Graph g;
  const Output losses = Floats(g, {1, 2, 6}, {3});
  ExpectValues(WeightedMean(losses, Floats(g, {1, 0, 3}, {3})), {4.75f});
  ExpectValues(WeightedMean(losses, Floats(g, {0, 0, 0}, {3})), {0});
  ExpectValues(WeightedMean(losses, 2.0f), {3});
}

TEST(Losses, L2RegularizationOfKernels) {
  Graph g;
  const Variable kernel(g, "kernel", Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2}));
  const Variable bias(g, "bias", Tensor::FromVector<float>({5, 6}));
  EXPECT_EQ(Kernels(g), std::vector{kernel});
  const Output loss = L2Regularization({kernel, bias}, 0.1f);
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  EXPECT_NEAR(session.Run(loss).scalar<float>(), 0.1f * (30 + 61) / 2, 1e-6);
  EXPECT_THROW(L2Regularization({}, 0.1f), Error);
}

}  // namespace
}  // namespace carillon
