// Trains a residual network to tell what small photographs show.
#include <algorithm>

#include "carillon/carillon.h"
#include "common.h"
#include "networks.h"

using namespace carillon;

int main(int argc, char** argv) try {
  examples::RunFlags run{.steps = 64'000, .batch_size = 128, .learning_rate = 0.1};
  int64_t layers = 20;
  int version = 1;
  double weight_decay = 1e-4;
  bool synthetic = false;
  Flags flags("resnet_cifar",
              "Trains a residual network on CIFAR-10, as its inventors did: momentum 0.9, weight "
              "decay, and a learning rate that falls to a tenth after half and after three "
              "quarters of the steps.\n\n"
              "It reads the binary version of CIFAR-10 (cifar-10-binary.tar.gz, unpacked) from "
              "--data_dir; it is at https://www.cs.toronto.edu/~kriz/cifar.html. With --synthetic "
              "it trains on noise, which shows its speed without any files.");
  flags.Group("Network");
  flags.Add("layers", &layers, "how deep it is: 6n + 2, as in 20, 32, 44, 56, 110",
            {.min = 8, .max = 1202});
  flags.Add("version", &version,
            "1: relu after each sum; 2: normalisation and relu before each "
            "convolution, better for deep ones",
            {.min = 1, .max = 2});
  flags.Add("weight_decay", &weight_decay, "how much the squares of the weights add to the loss",
            {.min = 0});
  examples::AddRunFlags(flags, &run);
  flags.Add("synthetic", &synthetic, "train on random images");
  examples::AddInspectionFlags(flags, &run);
  flags.Example("resnet_cifar --data_dir data/cifar10", "ResNet-20, about 91.5 % in the end");
  flags.Example("resnet_cifar --layers 56 --version 2 --data_dir data/cifar10", "deeper");
  flags.Example("resnet_cifar --synthetic --steps 50", "how fast it is here");
  flags.ParseOrExit(argc, argv);
  if ((layers - 2) % 6 != 0) {
    throw Error(Code::kInvalidArgument,
                "--layers must be 6n + 2, as in 20 or 56, but is " + std::to_string(layers));
  }

  const DataSplits data =
      synthetic ? examples::SyntheticImages(run.seed) : LoadDataset("cifar10", run.data_dir);

  // The graph: from images and labels to the loss, the op that trains, and the accuracy. Training
  // normalises by each batch; evaluation by averages over many, which `train` keeps up to date.
  Graph g;
  g.SetSeed(run.seed);
  const Output images = Placeholder(g, kFloat, {-1, 32, 32, 3}, "images");
  const Output labels = Placeholder(g, kInt64, {-1}, "labels");
  const nn::Layer network = networks::ResNet(layers, version);
  const Output cross_entropy =
      Mean(SparseSoftmaxCrossEntropy(network(images, nn::kTraining), labels));
  const Output loss =
      cross_entropy + L2Regularization(Kernels(g), static_cast<float>(weight_decay));
  const auto rate = static_cast<float>(run.learning_rate);
  const Variable step = GlobalStep(g);
  // A tenth after half of the steps, a hundredth for the last quarter.
  const int64_t half = run.steps / 2, last_quarter = std::max(half + 1, run.steps * 3 / 4);
  const Output learning_rate =
      PiecewiseConstant(step, {half, last_quarter}, {rate, rate / 10, rate / 100});
  const Operation train = Momentum(learning_rate, 0.9).Minimize(loss, step);
  const Output accuracy = Accuracy(network(images, nn::kEvaluation), labels);

  Session session(g, examples::ToSessionOptions(run));
  session.Run(GlobalVariablesInitializer(g));
  const Augmentation augment{.pad_crop = 4, .flip = true, .standardise = true};
  const auto evaluate = [&] {
    return examples::TestAccuracy(session, {images, labels, accuracy, augment}, data.test, run);
  };

  Batches batches(data.train,
                  {.batch_size = run.batch_size, .seed = uint64_t(run.seed), .augment = augment});
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
