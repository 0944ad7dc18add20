// A whole training program: a network with one hidden layer learns to read digits.
#include <cstdio>

#include "carillon/carillon.h"

using namespace carillon;

int main() {
  const DataSplits data = LoadDataset("digits");  // drawn by Carillon itself; no files needed
  Batches batches(data.train, {.batch_size = 100});

  Graph g;
  Output x = Placeholder(g, kFloat, {-1, 28, 28, 1}), y = Placeholder(g, kInt64, {-1});
  Output hidden = Relu(nn::Dense(nn::Flatten(x), 100)), logits = nn::Dense(hidden, 10);
  Output loss = Mean(SparseSoftmaxCrossEntropy(logits, y));
  Operation train = Adam(0.001).Minimize(loss, GlobalStep(g));
  Output accuracy = Accuracy(logits, y);

  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  for (int step = 0; step < 1000; ++step) {
    auto [images, labels] = batches.NextBatch();
    session.Run(train, {{x, images}, {y, labels}});
  }
  auto [images, labels] = Batches(data.test, BatchOptions::ForEvaluation(10'000)).NextBatch();
  std::printf("%.1f %% of the test digits are read right\n",
              100 * session.Run(accuracy, {{x, images}, {y, labels}}).scalar<float>());
}
