// Trains a convolutional network to read house numbers in photographs of streets.
#include "carillon/carillon.h"
#include "common.h"
#include "networks.h"

using namespace carillon;

int main(int argc, char** argv) try {
  examples::RunFlags run{.steps = 7300, .batch_size = 100, .learning_rate = 1e-3};
  bool synthetic = false;
  Flags flags("svhn_cnn",
              "Trains a convolutional network on SVHN, the digits of house numbers in street view "
              "images: convolutions of 3 x 3 with 32, 64, 128 and 256 filters, Adam.\n\n"
              "It reads train_32x32.mat and test_32x32.mat (cropped digits) from --data_dir. They "
              "are at http://ufldl.stanford.edu/housenumbers. With --synthetic it trains on noise, "
              "which shows its speed without any files.");
  examples::AddRunFlags(flags, &run);
  flags.Add("synthetic", &synthetic, "train on random images");
  examples::AddInspectionFlags(flags, &run);
  flags.Example("svhn_cnn --data_dir data/svhn", "ten times through the data");
  flags.Example("svhn_cnn --synthetic --steps 100", "how fast it is here");
  flags.ParseOrExit(argc, argv);

  const DataSplits data =
      synthetic ? examples::SyntheticImages(run.seed) : LoadDataset("svhn", run.data_dir);

  // The graph: from images and labels to the loss, the op that trains, and the accuracy.
  Graph g;
  g.SetSeed(run.seed);
  const Output images = Placeholder(g, kFloat, {-1, 32, 32, 3}, "images");
  const Output labels = Placeholder(g, kInt64, {-1}, "labels");
  const nn::Layer network = networks::SvhnCnn();
  const Output loss = Mean(SparseSoftmaxCrossEntropy(network(images, nn::kTraining), labels));
  const Operation train = Adam(run.learning_rate).Minimize(loss, GlobalStep(g));
  const Output accuracy = Accuracy(network(images), labels);

  Session session(g, examples::ToSessionOptions(run));
  session.Run(GlobalVariablesInitializer(g));
  const Augmentation standardised{.standardise = true};
  const auto evaluate = [&] {
    return examples::TestAccuracy(session, {images, labels, accuracy, standardised}, data.test,
                                  run);
  };

  Batches batches(
      data.train,
      {.batch_size = run.batch_size, .seed = uint64_t(run.seed), .augment = standardised});
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
