// A network whose layers take about as long to send as to compute: what bench/link.py runs on the
// two sides of a slow link, and alone.
//
//   bench_link ps PS_HOST WORKER_HOST
//   bench_link worker PS_HOST WORKER_HOST STEPS    trains with the variables on the ps
//   bench_link alone STEPS                         the same steps in one process
//
// Prints one line of JSON: "steps", the milliseconds of each; alone also "nodes", the milliseconds
// of every kernel (medians), by the node's name, the number of "layers", whose nodes are called
// layerN/…, and the "bytes" of the variables of each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "carillon/carillon.h"

using namespace carillon;

namespace {

constexpr int kLayers = 8;
constexpr int64_t kWidth = 512, kBatch = 2048;
constexpr int kWarmUp = 3;

struct Network {
  Feeds feeds;
  Operation train;
};

Network Build(Graph& g) {
  g.SetSeed(1);
  const auto in_layer = [](int i, const char* name) {
    return "layer" + std::to_string(i) + "/" + name;
  };
  // Made last layer first: which one is needed first, the engine has to find out.
  std::map<int, Variable> kernels, biases;
  for (int i = kLayers - 1; i >= 0; --i) {
    biases.emplace(i, Variable(g, in_layer(i, "bias"), Shape{kWidth}, init::Zeros()));
    kernels.emplace(i, Variable(g, in_layer(i, "kernel"), Shape{kWidth, kWidth}, init::HeNormal()));
  }
  const Output x = Placeholder(g, kFloat, {-1, kWidth});
  Output value = x;
  for (int i = 0; i < kLayers; ++i) {
    const NameScope layer(g, "layer" + std::to_string(i));
    value = Relu(BiasAdd(MatMul(value, kernels.at(i)), biases.at(i)));
  }
  Tensor batch(kFloat, {kBatch, kWidth});
  for (float& one : batch.mutable_values<float>())
    one = static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX);
  const Output loss = Mean(Mean(Square(value), {1}), {0});
  return {{{x, batch}}, GradientDescent(1e-3).Minimize(loss)};
}

double Median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<int64_t>(values.size() / 2));
  return values[values.size() / 2];
}

// The milliseconds of every step, but for the first few, as the inside of a list.
std::string TimeSteps(int steps, const std::function<void()>& step) {
  std::string times;
  for (int i = -kWarmUp; i < steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    step();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (i >= 0) times += (i > 0 ? ", " : "") + std::to_string(time.count());
  }
  return times;
}

int Train(const ServerOptions& options, int steps) {
  Server server(options);
  Graph g;
  Network network;
  {
    const DeviceScope on(g, ReplicaDeviceSetter(options.cluster));
    network = Build(g);
  }
  Session session(server, g);
  session.Run(GlobalVariablesInitializer(g));
  const std::string times = TimeSteps(steps, [&] { session.Run(network.train, network.feeds); });
  std::printf("{\"steps\": [%s]}\n", times.c_str());
  return 0;
}

int TrainAlone(int steps) {
  Graph g;
  const Network network = Build(g);
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  const std::string times = TimeSteps(steps, [&] { session.Run(network.train, network.feeds); });
  std::map<std::string, std::vector<double>> nodes;
  for (int i = 0; i < steps; ++i) {
    RunMetadata metadata;
    session.Run({}, network.feeds, {network.train}, {.trace = true}, &metadata);
    for (const NodeTiming& node : metadata.nodes)
      nodes[node.node].push_back(static_cast<double>(node.end_ns - node.start_ns) * 1e-6);
  }
  JsonObject medians;
  for (const auto& [name, values] : nodes) medians.Add(name, Median(values));
  std::printf("{\"steps\": [%s], \"nodes\": %s, \"layers\": %d, \"bytes\": %lld}\n", times.c_str(),
              medians.ToString().c_str(), kLayers,
              static_cast<long long>(kWidth * (kWidth + 1) * 4));
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string job = argc > 1 ? argv[1] : "";
  if (job == "alone" && argc == 3) return TrainAlone(std::stoi(argv[2]));
  if ((job == "ps" && argc == 4) || (job == "worker" && argc == 5)) {
    // Not by UCX, which finds shared memory beside the link.
    const ServerOptions options{.job = job,
                                .cluster = {{"ps", {argv[2]}}, {"worker", {argv[3]}}},
                                .transport = Transport::kGrpc,
                                .insecure = true};
    return job == "ps" ? Server(options).Join() : Train(options, std::stoi(argv[4]));
  }
  std::fputs(
      "usage: bench_link ps PS_HOST WORKER_HOST\n"
      "       bench_link worker PS_HOST WORKER_HOST STEPS\n"
      "       bench_link alone STEPS\n",
      stderr);
  return 2;
} catch (const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
