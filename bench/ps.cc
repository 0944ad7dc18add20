// Parameter servers at work: the programs that bench/cluster.py runs against TensorFlow's, the same
// work as bench/peers/ps_tensorflow.py.
//
//   bench_ps JOB TASK PS_HOSTS WORKER_HOSTS STEPS KIND
//
// KIND: mlp, cnn (training steps, Adam, batch 100), tiny (a step that adds to one number), many
// (2,000 small variables read and updated in a step), bytes (64 MiB read, then updated). A worker
// prints one line of JSON: {"KIND": milliseconds a step}, of bytes {"pull": …, "push": …}.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "carillon/carillon.h"
#include "networks.h"

using namespace carillon;

namespace {

struct Work {
  std::string name;
  Operation step;
  Feeds feeds;
};

Feeds RandomBatch(const Output& images, const Output& labels) {
  Tensor pixels(kFloat, {100, 28, 28, 1}), classes(kInt64, {100});
  for (float& pixel : pixels.mutable_values<float>())
    pixel = static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX);
  for (int64_t& label : classes.mutable_values<int64_t>()) label = std::rand() % 10;
  return {{images, pixels}, {labels, classes}};
}

std::vector<Work> Build(Graph& g, const std::string& kind) {
  const Variable global_step = GlobalStep(g);
  if (kind == "mlp" || kind == "cnn") {
    const Output images = Placeholder(g, kFloat, {-1, 28, 28, 1});
    const Output labels = Placeholder(g, kInt64, {-1});
    const nn::Layer network = kind == "mlp" ? networks::Mlp() : networks::MnistCnn(1.0);
    const Output loss = Mean(SparseSoftmaxCrossEntropy(network(images, nn::kTraining), labels));
    return {{kind, Adam(1e-4).Minimize(loss, global_step), RandomBatch(images, labels)}};
  }
  if (kind == "tiny")
    return {{kind, global_step.AssignAdd(Cast(Size(Fill(Const(g, {3}), 1.0f)), kInt64)), {}}};
  if (kind == "many") {
    std::vector<Operation> updates;
    for (int i = 0; i < 2000; ++i) {
      const Variable v(g, "v" + std::to_string(i), Shape{10}, init::Zeros());
      updates.push_back(v.AssignAdd(v.read() * 0.5f + 1.0f));
    }
    return {{kind, Group(g, updates), {}}};
  }
  const Variable v(g, "v", Shape{64 << 18}, init::Zeros());
  const Output pulled = Sum(Slice(Identity(v.read()), Const(g, {0}), Const(g, {8})), {0});
  const Output pushed = Fill(Const(g, {64 << 18}), 1.0f);
  return {{"pull", pulled.op(), {}}, {"push", v.AssignAdd(pushed), {}}};
}

int Run(const std::vector<std::string>& arguments) {
  const std::string& job = arguments[0];
  const int task = std::stoi(arguments[1]), steps = std::stoi(arguments[4]);
  const ClusterSpec cluster{{"ps", SplitHosts(arguments[2])}, {"worker", SplitHosts(arguments[3])}};
  Server server({.job = job, .task = task, .cluster = cluster});
  if (job == "ps") return server.Join();

  Graph g;
  g.SetSeed(1);
  std::vector<Work> work;
  {
    const DeviceScope on(g, ReplicaDeviceSetter(cluster, {.worker_task = task}));
    work = Build(g, arguments[5]);
  }
  std::vector<Output> initialised;
  for (const Variable& variable : GlobalVariables(g))
    initialised.push_back(variable.IsInitialized());
  const Output ready = All(Pack(initialised), Const(g, {0}));
  const Operation init = GlobalVariablesInitializer(g);
  Session session(server, g);
  if (task == 0) session.Run(init);
  while (!session.Run(ready).scalar<bool>())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));

  JsonObject result;
  for (const Work& one : work) {
    for (int i = 0; i < 3; ++i) session.Run(one.step, one.feeds);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) session.Run(one.step, one.feeds);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    result.Add(one.name, time.count() / steps);
  }
  std::puts(result.ToString().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) {
    std::fputs("usage: bench_ps JOB TASK PS_HOSTS WORKER_HOSTS STEPS KIND\n", stderr);
    return 2;
  }
  return Run({argv + 1, argv + argc});
} catch (const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
