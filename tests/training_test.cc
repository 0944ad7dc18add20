// Networks that learn, through the public API alone.
#include <gtest/gtest.h>

#include "carillon/carillon.h"

namespace carillon {
namespace {

// Trains a network on the embedded digits; its accuracy on those set apart for the test.
float Train(const nn::Layer& network, const std::function<Optimizer(const Output&)>& optimizer,
            int steps, const DigitsOptions& digits = {.train_size = 6000, .test_size = 1000}) {
  const DataSplits data = DrawDigits(digits);
  Graph g;
  g.SetSeed(1);
  const Output images = Placeholder(g, kFloat, {-1, 28, 28, 1});
  const Output labels = Placeholder(g, kInt64, {-1});
  const Output loss = Mean(SparseSoftmaxCrossEntropy(network(images, nn::kTraining), labels));
  const Variable step = GlobalStep(g);
  const Operation train = optimizer(step).Minimize(loss, step);
  const Output accuracy = Accuracy(network(images), labels);

  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  Batches batches(data.train, {.batch_size = 100, .seed = 1});
  for (int i = 0; i < steps; ++i) {
    const Batch batch = batches.NextBatch();
    session.Run(train, {{images, batch.images}, {labels, batch.labels}});
  }
  EXPECT_EQ(session.Run(step.read()).scalar<int64_t>(), steps);
  const Batch test = Batches(data.test, BatchOptions::ForEvaluation(digits.test_size)).NextBatch();
  return session.Run(accuracy, {{images, test.images}, {labels, test.labels}}).scalar<float>();
}

TEST(Training, AnMlpLearnsToReadDigits) {
  const nn::Layer mlp =
      nn::Sequential({nn::Flatten(), nn::Dense(100, {.activation = Relu}), nn::Dense(10)});
  EXPECT_GT(Train(
                mlp, [](const Output&) { return Adam(0.003); }, 600),
            0.9f);
}

TEST(Training, AConvolutionalNetworkWithBatchNormAndDropoutLearnsToo) {
  const nn::Layer cnn = nn::Sequential({nn::Conv2D(8, 5, {.stride = 2, .use_bias = false}),
                                        nn::BatchNorm({.momentum = 0.9f}), Relu, nn::MaxPool(2),
                                        nn::Flatten(), nn::Dropout(0.8), nn::Dense(10)});
  const auto momentum = [](const Output& step) {
    return Momentum(LinearWarmup(CosineDecay(0.1f, step, 300), step, 30), 0.9);
  };
  EXPECT_GT(Train(cnn, momentum, 300), 0.9f);
}

// The digits are worth a better model: a linear one does not get far even with all of them.
TEST(Training, ALinearModelStaysUnder95Percent) {
  const float accuracy =
      Train(nn::Sequential({nn::Flatten(), nn::Dense(10)}),
            [](const Output& step) { return Adam(ExponentialDecay(0.003f, step, 600, 0.5f)); },
            3000, {.train_size = 60'000, .test_size = 10'000});
  EXPECT_GT(accuracy, 0.8f);
  EXPECT_LT(accuracy, 0.95f);
}

TEST(Training, TheSameSeedsGiveTheSameNetwork) {
  const auto run = [] {
    return Train(
        nn::Sequential({nn::Flatten(), nn::Dense(10)}),
        [](const Output&) { return GradientDescent(0.1); }, 20);
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace carillon
