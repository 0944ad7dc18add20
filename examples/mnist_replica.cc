// Trains a network with one hidden layer to read handwritten digits, on parameter servers and
// workers: every worker computes gradients from its own share of the data, at its own pace, and the
// parameter servers apply them as they come.
#include <chrono>
#include <cstdio>

#include "carillon/carillon.h"
#include "common.h"
#include "replica.h"

using namespace carillon;

int main(int argc, char** argv) try {
  examples::ReplicaFlags replica_flags;
  std::string data_dir;
  int64_t hidden_units = 100, train_steps = 200, batch_size = 100, seed = 1;
  double learning_rate = 0.01;
  int num_gpus = 0, replicas_to_aggregate = 0;
  bool download_only = false, sync_replicas = false, json = false;
  Flags flags("mnist_replica",
              "Trains a network with one hidden layer, 784-100-10, to read handwritten digits, on "
              "parameter servers and workers. Start it once for every task, with the same lists "
              "of hosts; or all at once, on this machine, with `carillon launch`.\n\n"
              "Training ends when all workers together have done --train_steps steps. Without "
              "--data_dir the digits are drawn by the program itself.");
  flags.Group("Training");
  flags.Add("train_steps", &train_steps, "steps of all workers together", {.min = 1});
  flags.Add("batch_size", &batch_size, "images in a batch", {.min = 1});
  flags.Add("learning_rate", &learning_rate, "of Adam", {.min = 0});
  flags.Add("hidden_units", &hidden_units, "units of the hidden layer", {.min = 1});
  flags.Add("sync_replicas", &sync_replicas,
            "aggregate the gradients of several workers for each update (not supported yet)");
  flags.Add("replicas_to_aggregate", &replicas_to_aggregate,
            "how many, with --sync_replicas; 0: all workers", {.min = 0});
  flags.Add("seed", &seed, "of the weights and of the order of the images");
  flags.Add("num_gpus", &num_gpus, "GPUs of each machine; 0: compute on the CPU", {.min = 0});
  flags.Group("Data and results");
  flags.Add("data_dir", &data_dir, "the folder with the files of MNIST or Fashion-MNIST");
  flags.Add("download_only", &download_only,
            "only see that the data is there (nothing is fetched)");
  flags.Add("json", &json, "end with one line of JSON");
  examples::AddReplicaFlags(flags, &replica_flags);
  flags.Example("carillon launch --ps 1 --workers 2 -- mnist_replica --train_steps 2000",
                "a whole cluster on this machine");
  flags.Example("mnist_replica --job_name ps --ps_hosts a:2222 --worker_hosts b:2222,c:2222",
                "the parameter server of a cluster of three machines");
  flags.ParseOrExit(argc, argv);
  if (sync_replicas) {
    throw Error(Code::kUnimplemented,
                "--sync_replicas: synchronous training is not supported yet; without it every "
                "worker's gradients are applied as they come");
  }

  if (download_only) {
    const DataSplits data = data_dir.empty() ? DrawDigits() : LoadDataset("mnist", data_dir);
    std::printf("%s images to train with, %s to test with\n",
                FormatCount(data.train.size()).c_str(), FormatCount(data.test.size()).c_str());
    return 0;
  }
  examples::Replica replica(replica_flags);
  if (replica.only_serves()) return replica.Serve();

  // The first images of the training set are for validation.
  constexpr int64_t kValidation = 5000;
  const DataSplits data = data_dir.empty() ? DrawDigits() : LoadDataset("mnist", data_dir);
  Dataset train = data.train, validation = data.train;
  validation.images = data.train.images.Slice(0, kValidation);
  validation.labels = data.train.labels.Slice(0, kValidation);
  train.images = data.train.images.Slice(kValidation, data.train.size());
  train.labels = data.train.labels.Slice(kValidation, data.train.size());

  // Every worker builds the same graph: variables go to the parameter servers, the rest to itself.
  Graph g;
  g.SetSeed(seed);
  std::string worker = "/job:worker/task:" + std::to_string(replica.task());
  if (num_gpus > 0) worker += "/device:GPU:" + std::to_string(replica.task() % num_gpus);
  Output images, labels, loss, correct, global_step;
  Operation train_op;
  std::optional<examples::Attendance> attendance;
  {
    const DeviceScope on(g, ReplicaDeviceSetter(replica.cluster(), {.worker_device = worker}));
    const Variable step = GlobalStep(g);
    images = Placeholder(g, kFloat, {-1, 28 * 28}, "images");
    labels = Placeholder(g, kFloat, {-1, 10}, "labels");
    const auto hidden = nn::Dense(
        hidden_units, {.activation = Relu, .kernel_initializer = init::TruncatedNormal(1.0f / 28)});
    const auto output = nn::Dense(10, {.kernel_initializer = init::TruncatedNormal(0.1f)});
    const Output logits = output(hidden(images, nn::kTraining), nn::kTraining);
    loss = Sum(SoftmaxCrossEntropy(logits, labels), {0});
    train_op = Adam(learning_rate).Minimize(loss, step);
    correct = Sum(Cast(Equal(ArgMax(logits, 1), ArgMax(labels, 1)), kFloat), {0});
    global_step = step.read();
    attendance.emplace(g, replica.num_workers(), train.size());
  }
  const examples::Start start(g);

  const auto session = replica.Open(g, {.allow_soft_placement = true});
  start.Run(*session, replica.is_chief());
  Batches batches(train, {.batch_size = batch_size,
                          .seed = uint64_t(seed),
                          .drop_remainder = false,
                          .one_hot = true,
                          .flatten = true,
                          .shard = replica.task(),
                          .num_shards = replica.num_workers()});
  Interrupt interrupt;
  Progress progress({.batch_size = batch_size});
  for (int64_t done = 0; done < train_steps && !interrupt.requested();) {
    const Batch batch = batches.NextBatch();
    const auto values = session->Run({loss, global_step},
                                     {{images, batch.images}, {labels, batch.labels}}, {train_op});
    attendance->Count(batches);
    progress.Update(attendance->steps(), values[0].scalar<float>() / float(batch_size));
    done = values[1].scalar<int64_t>();
  }
  progress.Finish();

  BatchOptions options = BatchOptions::ForEvaluation(kValidation);
  options.one_hot = options.flatten = true;
  const Batch all = Batches(validation, options).NextBatch();
  const auto results =
      session->Run({loss, correct, global_step}, {{images, all.images}, {labels, all.labels}});
  const double cross_entropy = results[0].scalar<float>();
  const double accuracy = results[1].scalar<float>() / double(kValidation);
  std::printf(
      "worker %d: %s steps in %.2f s, %s steps/s\n"
      "after %s steps of all workers: validation cross entropy %g, accuracy %s\n",
      replica.task(), FormatCount(attendance->steps()).c_str(), progress.seconds(),
      FormatNumber(progress.steps_per_second()).c_str(),
      FormatCount(results[2].scalar<int64_t>()).c_str(), cross_entropy,
      FormatPercent(accuracy).c_str());
  attendance->Report(*session, replica.task(), replica.is_chief());
  if (json) {
    RunSummary summary = RunSummary::Of(progress);
    summary.loss = cross_entropy / double(kValidation);
    summary.accuracy = accuracy;
    JsonObject object = summary.ToJson();
    object.Add("task", replica.task()).Add("global_step", results[2].scalar<int64_t>());
    std::puts(object.ToString().c_str());
  }
  return 0;
} catch (const Error& error) {
  return examples::Fail(error);
}
