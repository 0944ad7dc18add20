// Trains a convolutional network to read handwritten digits on several tasks, in four ways: every
// worker with a graph of its own, its variables placed by a device setter or by hand; one client
// that drives all workers; and layers on different tasks.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "carillon/carillon.h"
#include "common.h"
#include "networks.h"
#include "replica.h"

using namespace carillon;

namespace {

// What a step is made of.
struct Model {
  Output images, labels;
  Output loss;      // of a training batch
  Output accuracy;  // without dropout
};

struct Recipe {
  double keep_prob;
  double learning_rate;
};

void AddInputs(Graph& g, Model* model) {
  model->images = Placeholder(g, kFloat, {-1, 28, 28, 1}, "images");
  model->labels = Placeholder(g, kInt64, {-1}, "labels");
}

Output MeanLoss(const Output& logits, const Output& labels) {
  return Mean(SparseSoftmaxCrossEntropy(logits, labels));
}

std::string Worker(int task) { return "/job:worker/task:" + std::to_string(task); }

// Variables on the parameter servers, spread by bytes; the rest on this worker.
Model PlaceBySetter(Graph& g, const examples::Replica& replica, const Recipe& recipe) {
  const int ps_tasks = replica.cluster().num_tasks("ps");
  const DeviceScope on(
      g, ReplicaDeviceSetter(replica.cluster(), {.worker_task = replica.task(),
                                                 .strategy = GreedyLoadBalancing(ps_tasks)}));
  Model model;
  AddInputs(g, &model);
  const nn::Layer network = networks::MnistCnn(recipe.keep_prob);
  model.loss = MeanLoss(network(model.images, nn::kTraining), model.labels);
  model.accuracy = Accuracy(network(model.images, nn::kEvaluation), model.labels);
  return model;
}

// The same with a device scope around everything, as one would write it without a setter.
Model PlaceByHand(Graph& g, const examples::Replica& replica, const Recipe& recipe) {
  std::vector<Variable> weights, biases;
  int next = 0;
  for (const Shape& shape :
       {Shape{5, 5, 1, 32}, Shape{5, 5, 32, 64}, Shape{7 * 7 * 64, 1024}, Shape{1024, 10}}) {
    const int ps = next++ % replica.cluster().num_tasks("ps");
    const DeviceScope on(g, "/job:ps/task:" + std::to_string(ps));
    const std::string name = "layer" + std::to_string(next);
    weights.emplace_back(g, name + "/weights", shape, init::TruncatedNormal(0.1f));
    biases.emplace_back(g, name + "/biases", Shape{shape.dim(shape.rank() - 1)},
                        init::Constant(0.1));
  }
  const DeviceScope on(g, Worker(replica.task()));
  Model model;
  AddInputs(g, &model);
  Output x = model.images;
  for (size_t i = 0; i < 2; ++i) {
    x = Relu(BiasAdd(Conv2D(x, weights[i], {1, 1, 1, 1}, "SAME"), biases[i]));
    x = MaxPool(x, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
  }
  const Output hidden =
      Relu(BiasAdd(MatMul(Reshape(x, Const(g, {-1, 7 * 7 * 64})), weights[2]), biases[2]));
  const auto logits = [&](const Output& values) {
    return BiasAdd(MatMul(values, weights[3]), biases[3]);
  };
  model.loss = MeanLoss(logits(nn::Dropout(recipe.keep_prob)(hidden, nn::kTraining)), model.labels);
  model.accuracy = Accuracy(logits(hidden), model.labels);
  return model;
}

// One client, this one, drives all workers: each computes the gradient of its share of a batch.
Model PlaceInGraph(Graph& g, const examples::Replica& replica, const Recipe& recipe) {
  Model model;
  const int workers = replica.num_workers();
  const nn::Layer network = networks::MnistCnn(recipe.keep_prob);
  {
    const DeviceScope on(g, Worker(0));
    AddInputs(g, &model);
  }
  std::vector<Output> losses;
  for (int task = 0; task < workers; ++task) {
    const DeviceScope on(g, ReplicaDeviceSetter(replica.cluster(), {.worker_task = task}));
    const Output images = Split(Const(g, 0), model.images, workers)[static_cast<size_t>(task)];
    const Output labels = Split(Const(g, 0), model.labels, workers)[static_cast<size_t>(task)];
    losses.push_back(MeanLoss(network(images, nn::kTraining), labels));
  }
  const DeviceScope on(g, ReplicaDeviceSetter(replica.cluster(), {.worker_task = 0}));
  model.loss = AddN(losses) / static_cast<float>(workers);
  model.accuracy = Accuracy(network(model.images, nn::kEvaluation), model.labels);
  return model;
}

// The convolutions on the first worker, the large layer on the last, each with its variables.
Model PlaceByLayers(Graph& g, const examples::Replica& replica, const Recipe& recipe) {
  Model model;
  const nn::Layer features = networks::MnistFeatures();
  const nn::Layer classifier = networks::MnistClassifier(recipe.keep_prob);
  Output training, evaluation;
  {
    const DeviceScope on(g, Worker(0));
    AddInputs(g, &model);
    training = features(model.images, nn::kTraining);
    evaluation = features(model.images, nn::kEvaluation);
  }
  const DeviceScope on(g, Worker(replica.num_workers() - 1));
  model.loss = MeanLoss(classifier(training, nn::kTraining), model.labels);
  model.accuracy = Accuracy(classifier(evaluation, nn::kEvaluation), model.labels);
  return model;
}

}  // namespace

int main(int argc, char** argv) try {
  examples::RunFlags run{.steps = 1000, .batch_size = 100, .learning_rate = 1e-4};
  examples::ReplicaFlags replica_flags;
  std::string placement = "setter";
  Recipe recipe{};
  recipe.keep_prob = 0.5;
  Flags flags("mnist_cnn_distributed",
              "Trains the network of mnist_cnn on parameter servers and workers. Start it once for "
              "every task, with the same lists of hosts; or all at once, on this machine, with "
              "`carillon launch`.\n\n"
              "Without --data_dir it reads digits that it draws itself. Every worker reads its own "
              "share of them; training ends when all together have done --steps steps.");
  flags.Group("Where things go");
  flags.Add("placement", &placement, {"setter", "hand", "in_graph", "layers"},
            "setter: every worker has a graph of its own, variables go to the parameter servers by "
            "their size; hand: the same with device scopes; in_graph: worker 0 drives all workers "
            "with one graph; layers: worker 0 computes the convolutions, the last worker the rest");
  flags.Group("Recipe");
  flags.Add("keep_prob", &recipe.keep_prob,
            "share of the hidden units that dropout keeps in a step", {.min = 0.01, .max = 1});
  examples::AddRunFlags(flags, &run);
  examples::AddReplicaFlags(flags, &replica_flags);
  flags.Example("carillon launch --ps 1 --workers 2 -- mnist_cnn_distributed --steps 800",
                "a whole cluster on this machine");
  flags.Example("carillon launch --ps 2 --workers 2 -- mnist_cnn_distributed --placement hand",
                "two parameter servers, placed by hand");
  flags.ParseOrExit(argc, argv);
  recipe.learning_rate = run.learning_rate;

  examples::Replica replica(replica_flags);
  const bool one_client = placement == "in_graph" || placement == "layers";
  if (replica.only_serves() || (one_client && !replica.is_chief())) return replica.Serve();
  const int readers = one_client ? 1 : replica.num_workers();

  const DataSplits data = run.data_dir.empty() ? DrawDigits() : LoadDataset("mnist", run.data_dir);
  Graph g;
  g.SetSeed(run.seed);
  const Model model = placement == "setter"     ? PlaceBySetter(g, replica, recipe)
                      : placement == "hand"     ? PlaceByHand(g, replica, recipe)
                      : placement == "in_graph" ? PlaceInGraph(g, replica, recipe)
                                                : PlaceByLayers(g, replica, recipe);
  Operation train;
  Output global_step;
  std::optional<examples::Attendance> attendance;
  {
    const DeviceScope on(g,
                         ReplicaDeviceSetter(replica.cluster(), {.worker_task = replica.task()}));
    const Variable step = GlobalStep(g);
    train = Adam(recipe.learning_rate).Minimize(model.loss, step);
    global_step = step.read();
    attendance.emplace(g, readers, data.train.size());
  }
  const examples::Start start(g);
  const auto session = replica.Open(g, {.threads = run.threads});
  start.Run(*session, replica.is_chief());

  Batches batches(data.train, {.batch_size = run.batch_size,
                               .seed = uint64_t(run.seed),
                               .drop_remainder = one_client,
                               .shard = one_client ? 0 : replica.task(),
                               .num_shards = readers});
  const int64_t steps_of_all = run.steps;
  if (!replica.is_chief()) run.plot.clear();              // the chief shows how it went
  run.steps = std::max<int64_t>(1, run.steps / readers);  // about what this worker will do
  examples::TrainingRun training(run, /*at_most=*/steps_of_all);
  for (int64_t done = 0; done < steps_of_all && training.Continues();) {
    const Batch batch = batches.NextBatch();
    const auto values =
        session->Run({model.loss, global_step},
                     {{model.images, batch.images}, {model.labels, batch.labels}}, {train});
    attendance->Count(batches);
    training.Step(values[0].scalar<float>());
    done = values[1].scalar<int64_t>() + 1;
  }
  attendance->Report(*session, one_client ? 0 : replica.task(), replica.is_chief());
  if (!replica.is_chief()) return 0;
  return training.Finish([&] {
    return examples::TestAccuracy(*session, {model.images, model.labels, model.accuracy}, data.test,
                                  run);
  });
} catch (const Error& error) {
  return examples::Fail(error);
}
