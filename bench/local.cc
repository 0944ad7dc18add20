// What bench/run measures of ours: training steps of the four networks, steps that do next to
// nothing, and the kernels of a step against what the machine could do.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

#include "carillon/carillon.h"
#include "networks.h"
#include "peak.h"
#include "roofline.h"

using namespace carillon;

namespace {

struct Network {
  std::string name;
  std::function<nn::Layer()> make;
  std::function<Optimizer()> optimizer;
  Shape batch;  // of images
  int steps;    // to take the median of
};

// As in the peers' programs, with as many steps: no dropout, labels one-hot, batch normalisation
// without averages.
std::vector<Network> Networks() {
  const auto adam = [] { return Adam(1e-3); };
  return {
      {"mlp", [] { return networks::Mlp(); }, adam, {100, 28, 28, 1}, 200},
      {"mnist_cnn", [] { return networks::MnistCnn(1.0); }, adam, {100, 28, 28, 1}, 15},
      {"svhn_cnn", [] { return networks::SvhnCnn(); }, adam, {100, 32, 32, 3}, 12},
      {"resnet20",
       [] { return networks::ResNet(20); },
       [] { return Momentum(0.01, 0.9); },
       {128, 32, 32, 3},
       8},
  };
}

// The median time of a call of `step`, in seconds, after some that do not count.
template <typename Step>
double MedianSeconds(Step&& step, int count) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < std::max(3, count / 10); ++i) step();
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const Clock::time_point start = Clock::now();
    step();
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::ranges::nth_element(times, times.begin() + count / 2);
  return times[static_cast<size_t>(count / 2)];
}

// One network with a batch to train it on, over and over.
class Trainer {
 public:
  Trainer(const Network& network, const SessionOptions& options) {
    g_.SetSeed(1);
    const Shape& batch = network.batch;
    images_ = Placeholder(g_, kFloat, {-1, batch.dim(1), batch.dim(2), batch.dim(3)}, "images");
    labels_ = Placeholder(g_, kFloat, {-1, 10}, "labels");
    loss_ = Mean(SoftmaxCrossEntropy(network.make()(images_, nn::kTraining), labels_));
    train_ = network.optimizer().Minimize(loss_, {}, {.update_ops = false});
    const Operation initialize = GlobalVariablesInitializer(g_);
    session_ = std::make_unique<Session>(g_, options);
    session_->Run(initialize);
    step_ = session_->MakeCallable({images_, labels_}, {loss_}, {train_});
    feeds_ = {RandomImages(batch), RandomLabels(batch.dim(0))};
  }

  void Step() { step_.Run(feeds_, &fetches_); }

  // A step, and when each of its kernels ran.
  RunMetadata Trace() {
    RunMetadata metadata;
    session_->Run({loss_}, {{images_, feeds_[0]}, {labels_, feeds_[1]}}, {train_}, {.trace = true},
                  &metadata);
    return metadata;
  }

 private:
  static Tensor RandomImages(const Shape& shape) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> pixel(0, 1);
    Tensor images(kFloat, shape);
    for (float& value : images.mutable_values<float>()) value = pixel(random);
    return images;
  }
  static Tensor RandomLabels(int64_t count) {
    std::mt19937 random(2);
    Tensor labels = Tensor::Full({count, 10}, 0.0f);
    for (int64_t i = 0; i < count; ++i) labels.mutable_data<float>()[i * 10 + random() % 10] = 1;
    return labels;
  }

  Graph g_;
  Output images_, labels_, loss_;
  Operation train_;
  std::unique_ptr<Session> session_;
  Callable step_;
  std::vector<Tensor> feeds_, fetches_;
};

void MeasureOverhead() {
  Graph g;
  const Operation nothing = NoOp(g);
  const Output start = Placeholder(g, kFloat, {});
  Output x = start;
  for (int i = 0; i < 1000; ++i) x = x + 1.0f;
  Session session(g, {.threads = 1});
  const Callable empty = session.MakeCallable({}, {}, {nothing});
  const Callable chain = session.MakeCallable({start}, {x});
  const std::vector<Tensor> zero = {Tensor::Scalar(0.0f)};
  std::vector<Tensor> fetches;
  JsonObject json;
  json.Add("empty_step_us", 1e6 * MedianSeconds([&] { empty.Run({}, &fetches); }, 20'000))
      .Add("chain_of_1000_us", 1e6 * MedianSeconds([&] { chain.Run(zero, &fetches); }, 2000));
  std::puts(json.ToString().c_str());
}

void MeasureRoofline(const Network& network, const SessionOptions& options) {
  const bench::Peak peak = bench::MeasurePeak(options.threads);
  Trainer trainer(network, options);
  std::vector<RunMetadata> steps;
  for (int i = 0; i < 3 + network.steps; ++i) {
    RunMetadata step = trainer.Trace();
    if (i >= 3) steps.push_back(std::move(step));  // the first ones warm up
  }
  std::vector<JsonObject> kernels;
  for (const bench::RooflineRow& row : bench::MakeRoofline(steps, peak)) {
    kernels.push_back(JsonObject()
                          .Add("op", row.op)
                          .Add("kernel", row.kernel)
                          .Add("count", row.count)
                          .Add("gigaoperations", 1e-9 * row.work.operations)
                          .Add("megabytes", 1e-6 * row.work.bytes)
                          .Add("floor_ms", 1e3 * row.floor_seconds)
                          .Add("ms", 1e3 * row.seconds));
  }
  JsonObject json;
  json.Add("network", network.name)
      .Add("threads", options.threads)
      .Add("peak_gflops", 1e-9 * peak.flops)
      .Add("bandwidth_gb_per_s", 1e-9 * peak.bytes_per_second)
      .Add("kernels", kernels);
  std::puts(json.ToString().c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<Network> networks = Networks();
  std::vector<std::string> names;
  for (const Network& network : networks) names.push_back(network.name);
  std::string name = "mlp";
  int64_t steps = 0, first_step = 0;
  bool overhead = false, roofline = false;
  SessionOptions options{.threads = 2};
  Flags flags("bench_local", "Measures training steps in this process; bench/run calls it.");
  flags.Add("network", &name, names, "what to train");
  flags.Add("steps", &steps, "how many steps to take the median of; 0: as many as make sense",
            {.min = 0});
  flags.Add("threads", &options.threads, "that a step may use; 0: all cores", {.min = 0});
  flags.Add("first_step", &first_step,
            "train for so many steps, with a line as soon as the first is done", {.min = 0});
  flags.Add("overhead", &overhead, "measure steps that do next to nothing instead");
  flags.Add("roofline", &roofline,
            "say what each kernel does in a step, how long it takes, and how long it must take");
  flags.Add("log_kernels", &options.log_kernels, "say which kernel was chosen for each node");
  flags.Add("dump_graphs", &options.dump_graphs, "a folder for the graph after each pass");
  flags.ParseOrExit(argc, argv);
  if (overhead) {
    MeasureOverhead();
    return 0;
  }
  const Network& network = *std::ranges::find(networks, name, &Network::name);
  if (roofline) {
    if (options.threads == 0)
      throw Error(Code::kInvalidArgument, "--roofline wants a number of --threads");
    MeasureRoofline(network, options);
    return 0;
  }
  Trainer trainer(network, options);
  if (first_step > 0) {
    for (int64_t i = 0; i < first_step; ++i) {
      trainer.Step();
      if (i == 0) std::puts("first step"), std::fflush(stdout);
    }
    return 0;
  }
  const int count = steps > 0 ? static_cast<int>(steps) : network.steps;
  const double seconds = MedianSeconds([&] { trainer.Step(); }, count);
  JsonObject json;
  json.Add("network", name)
      .Add("threads", options.threads)
      .Add("batch_size", network.batch.dim(0))
      .Add("ms_per_step", 1e3 * seconds)
      .Add("peak_rss_mb", PeakRssMb());
  std::puts(json.ToString().c_str());
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "bench_local: %s\n", error.what());
  return 1;
}
