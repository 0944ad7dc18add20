// Trains a convolutional network to read handwritten digits.
#include <filesystem>

#include "carillon/carillon.h"
#include "common.h"
#include "networks.h"

using namespace carillon;

int main(int argc, char** argv) try {
  const examples::RunFlags defaults{.steps = 20'000, .batch_size = 100, .learning_rate = 1e-4};
  examples::RunFlags run = defaults;
  double keep_prob = 0.5;
  int shift = 1;
  bool demo = false;
  Flags flags("mnist_cnn",
              "Trains a convolutional network to read handwritten digits: convolutions of 5 x 5 "
              "with 32 and 64 filters, a hidden layer of 1024 units with dropout, Adam.\n\n"
              "Without --data_dir it reads digits that it draws itself; with it, MNIST or "
              "Fashion-MNIST from the four files of that folder, packed with gzip or not.");
  flags.Group("Recipe");
  flags.Add("keep_prob", &keep_prob, "share of the hidden units that dropout keeps in a step",
            {.min = 0.01, .max = 1});
  flags.Add("shift", &shift,
            "pixels by which a picture may move either way while training, anew in every epoch",
            {.min = 0, .max = 14});
  examples::AddRunFlags(flags, &run);
  flags.Add(
      "demo", &demo,
      "a run of less than a minute, with a larger learning rate, that ends with a loss curve");
  examples::AddInspectionFlags(flags, &run);
  flags.Example("mnist_cnn --demo", "see it learn");
  flags.Example("mnist_cnn --data_dir data/mnist", "the real MNIST, to more than 99.2 %");
  flags.Example("mnist_cnn --steps 500 --threads 1 --json", "speed on one core, for a script");
  flags.ParseOrExit(argc, argv);
  if (demo) {
    if (run.steps == defaults.steps) run.steps = 800;
    if (run.learning_rate == defaults.learning_rate) run.learning_rate = 1e-3;
    if (run.plot.empty())
      run.plot = std::filesystem::is_directory("build") ? "build/demo_loss.png" : "demo_loss.png";
  }

  const DataSplits data = run.data_dir.empty() ? DrawDigits() : LoadDataset("mnist", run.data_dir);

  // The graph: from images and labels to the loss, the op that trains, and the accuracy. The
  // network is applied twice, with dropout and without; both share their variables.
  Graph g;
  g.SetSeed(run.seed);
  const Output images = Placeholder(g, kFloat, {-1, 28, 28, 1}, "images");
  const Output labels = Placeholder(g, kInt64, {-1}, "labels");
  const nn::Layer network = networks::MnistCnn(keep_prob);
  const Output loss = Mean(SparseSoftmaxCrossEntropy(network(images, nn::kTraining), labels));
  const Operation train = Adam(run.learning_rate).Minimize(loss, GlobalStep(g));
  const Output accuracy = Accuracy(network(images, nn::kEvaluation), labels);

  Session session(g, examples::ToSessionOptions(run));
  session.Run(GlobalVariablesInitializer(g));
  const auto evaluate = [&] {
    return examples::TestAccuracy(session, {images, labels, accuracy}, data.test, run);
  };

  Batches batches(
      data.train,
      {.batch_size = run.batch_size, .seed = uint64_t(run.seed), .augment = {.pad_crop = shift}});
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
