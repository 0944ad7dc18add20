// Trains a network with one hidden layer to read handwritten digits.
#include "carillon/carillon.h"
#include "common.h"
#include "networks.h"

using namespace carillon;

int main(int argc, char** argv) try {
  examples::RunFlags run{.steps = 3000, .batch_size = 100, .learning_rate = 1e-3};
  int64_t hidden_units = 100;
  Flags flags("mnist_mlp",
              "Trains a network with one hidden layer, 784-100-10, to read handwritten digits.\n\n"
              "Without --data_dir it reads digits that it draws itself; with it, MNIST or "
              "Fashion-MNIST from the four files of that folder, packed with gzip or not.");
  flags.Group("Network");
  flags.Add("hidden_units", &hidden_units, "units of the hidden layer", {.min = 1});
  examples::AddRunFlags(flags, &run);
  examples::AddInspectionFlags(flags, &run);
  flags.Example("mnist_mlp", "a run of a few seconds");
  flags.Example("mnist_mlp --data_dir data/mnist --steps 10000", "on the real MNIST");
  flags.Example("mnist_mlp --hidden_units 500 --evaluate_every 500", "watch it learn");
  flags.ParseOrExit(argc, argv);

  const DataSplits data = run.data_dir.empty() ? DrawDigits() : LoadDataset("mnist", run.data_dir);

  // The graph: from images and labels to the loss, the op that trains, and the accuracy.
  Graph g;
  g.SetSeed(run.seed);
  const Output images = Placeholder(g, kFloat, {-1, 28, 28, 1}, "images");
  const Output labels = Placeholder(g, kInt64, {-1}, "labels");
  const nn::Layer network = networks::Mlp(hidden_units);
  const Output loss = Mean(SparseSoftmaxCrossEntropy(network(images, nn::kTraining), labels));
  const Operation train = Adam(run.learning_rate).Minimize(loss, GlobalStep(g));
  const Output accuracy = Accuracy(network(images), labels);

  Session session(g, examples::ToSessionOptions(run));
  session.Run(GlobalVariablesInitializer(g));
  const auto evaluate = [&] {
    return examples::TestAccuracy(session, {images, labels, accuracy}, data.test, run);
  };

  Batches batches(data.train, {.batch_size = run.batch_size, .seed = uint64_t(run.seed)});
  examples::TrainingRun training(run);
  while (training.Continues()) {
    const Batch batch = batches.NextBatch();
    const auto values = session.Run({loss}, {{images, batch.images}, {labels, batch.labels}},
                                    {train}, training.options(), training.metadata());
    training.Step(values[0].scalar<float>());
    if (training.WantsEvaluation()) training.Evaluated(evaluate);
  }
  return training.Finish(evaluate);
} catch (const Error& error) {
  return examples::Fail(error);
}
