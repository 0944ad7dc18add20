// Times the kernels of the four networks one by one.
//
//   bench_kernels [--threads N] [--repeat N] [--all] [PATTERN]
//
// Convolutions: every algorithm with --all, else the one that would be chosen. PATTERN keeps the
// lines whose name contains it. A time is the shortest of the repetitions, reorders not included.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/conv_choice.h"
#include "kernels/cpu/image_layout.h"
#include "kernels/kernel_tester.h"

namespace carillon {
namespace {

struct Settings {
  int threads = 2;
  int repeat = 20;
  bool all = false;
  bool cpu = false;
  std::string pattern;
};

double Seconds(const Settings& settings) {
  if (settings.cpu) {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9) /
           settings.threads;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Shortest(const Settings& settings, const std::function<void()>& body) {
  double shortest = 1e9;
  for (int i = 0; i < settings.repeat; ++i) {
    const double start = Seconds(settings);
    body();
    shortest = std::min(shortest, Seconds(settings) - start);
  }
  return shortest;
}

Tensor Values(const Shape& shape) {
  Tensor tensor(DType::kFloat, shape);
  int64_t i = 0;
  for (float& value : tensor.mutable_values<float>())
    value = static_cast<float>((i++ * 2654435761u >> 16) & 1023) / 512.0f - 1.0f;
  return tensor;
}

struct Convolution {
  const char* network;
  const char* name;
  int64_t batch, side, in, out, taps, stride;
  int count;           // how often the network has it
  bool first = false;  // its input is the batch itself: no gradient is wanted
  bool bias = false;
};

const Convolution kConvolutions[] = {
    {"mnist", "c1", 100, 28, 1, 32, 5, 1, 1, true, true},
    {"mnist", "c2", 100, 14, 32, 64, 5, 1, 1, false, true},
    {"svhn", "c1", 100, 32, 3, 32, 3, 1, 1, true, true},
    {"svhn", "c2", 100, 32, 32, 64, 3, 1, 1, false, true},
    {"svhn", "c3", 100, 8, 64, 128, 3, 1, 1, false, true},
    {"svhn", "c4", 100, 8, 128, 256, 3, 1, 1, false, true},
    {"resnet20", "stem", 128, 32, 3, 16, 3, 1, 1, true},
    {"resnet20", "16", 128, 32, 16, 16, 3, 1, 6},
    {"resnet20", "16-32", 128, 32, 16, 32, 3, 2, 1},
    {"resnet20", "shortcut 16-32", 128, 32, 16, 32, 1, 2, 1},
    {"resnet20", "32", 128, 16, 32, 32, 3, 1, 5},
    {"resnet20", "32-64", 128, 16, 32, 64, 3, 2, 1},
    {"resnet20", "shortcut 32-64", 128, 16, 32, 64, 1, 2, 1},
    {"resnet20", "64", 128, 8, 64, 64, 3, 1, 5},
};

double TimeAlgorithm(ConvAlgorithm& algorithm, const ConvProblem& problem,
                     const Settings& settings) {
  const ConvGeometry& g = problem.geometry;
  Tensor input = Values(g.InputShape()), output = Values(g.OutputShape());
  Tensor filter = Values(g.FilterShape()), bias = Values({g.out_channels});
  Tensor scratch(DType::kUint8, Shape{static_cast<int64_t>(algorithm.scratch_bytes())});
  const ConvAlgorithm::Buffers buffers{input.mutable_raw_data(), filter.mutable_raw_data(),
                                       problem.has_bias ? bias.mutable_raw_data() : nullptr,
                                       output.mutable_raw_data(), scratch.mutable_raw_data()};
  return Shortest(settings, [&] { ThrowIfError(algorithm.Run(buffers)); });
}

void MeasureConvolutions(const Settings& settings) {
  std::printf("%-9s %-15s %-8s %-22s %9s %8s\n", "network", "convolution", "pass", "algorithm",
              "ms", "GFLOP/s");
  double total = 0;
  const char* network = kConvolutions[0].network;
  const auto end_network = [&] {
    std::printf("%-9s all convolutions of a step %35.3f\n", network, total * 1e3);
    total = 0;
  };
  for (const Convolution& c : kConvolutions) {
    if (std::strcmp(network, c.network) != 0 && settings.pattern.empty()) end_network();
    network = c.network;
    if (StrCat(c.network, " ", c.name).find(settings.pattern) == std::string::npos) continue;
    ConvProblem problem;
    WindowAttrs attrs;
    attrs.padding = Padding::kSame;
    attrs.strides = {c.stride, c.stride};
    problem.geometry = ValueOrThrow(MakeConvGeometry(attrs, Shape{c.batch, c.side, c.side, c.in},
                                                     Shape{c.taps, c.taps, c.in, c.out}));
    const ConvGeometry& g = problem.geometry;
    problem.input_layout = BlockedImageLayout(g.InputShape(), g.format, 16);
    problem.output_layout = BlockedImageLayout(g.OutputShape(), g.format, 16);
    const double flop = 2.0 * static_cast<double>(g.OutputShape().num_elements()) *
                        static_cast<double>(c.taps * c.taps * c.in);
    for (const ConvPass pass :
         {ConvPass::kForward, ConvPass::kBackwardInput, ConvPass::kBackwardFilter}) {
      if (c.first && pass == ConvPass::kBackwardInput) continue;
      problem.pass = pass;
      problem.has_bias = c.bias && pass != ConvPass::kBackwardInput;
      problem.has_relu = c.bias && pass == ConvPass::kForward;
      const char* const name = pass == ConvPass::kForward         ? "forward"
                               : pass == ConvPass::kBackwardInput ? "input"
                                                                  : "filter";
      const auto show = [&](ConvAlgorithm& algorithm) {
        const double seconds = TimeAlgorithm(algorithm, problem, settings);
        std::printf("%-9s %-15s %-8s %-22s %9.3f %8.1f\n", c.network, c.name, name,
                    algorithm.name().c_str(), seconds * 1e3, flop / seconds * 1e-9);
        std::fflush(stdout);
        return seconds;
      };
      if (settings.all) {
        for (const ConvCandidate& candidate : ConvCandidates()) {
          const ConvAlgorithmResult made = candidate.make(problem);
          if (made.ok()) show(**made);
        }
      } else {
        const KernelOptions options{.threads = settings.threads};
        total += c.count * show(*ValueOrThrow(ChooseConvAlgorithm(problem, options)));
      }
    }
  }
  if (settings.pattern.empty()) end_network();
}

// An op on inputs that lie blocked where they are images with enough channels.
void MeasureOp(const Settings& settings, const std::string& name, const std::string& op,
               const AttrMap& attrs, const std::vector<Tensor>& inputs) {
  if (name.find(settings.pattern) == std::string::npos) return;
  const KernelOptions options{.threads = settings.threads};
  std::vector<LaidOut> laid_out;
  for (const Tensor& input : inputs) {
    Layout layout;
    if (input.rank() == 4) layout = BlockedImageLayout(input.shape(), ImageFormat{}, 16);
    laid_out.push_back(KernelTester::Reordered(input, layout, options));
  }
  KernelTester tester(op, attrs, laid_out, options);
  std::vector<Tensor> ins, outs(static_cast<size_t>(tester.node().num_outputs()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<Layout>& wanted = tester.kernel().traits().input_layouts;
    ins.push_back(
        KernelTester::Reordered(laid_out[i], wanted.empty() ? nullptr : wanted[i], options).tensor);
  }
  tester.RunOnce(&ins, &outs);
  double bytes = 0;
  for (const Tensor& tensor : ins) bytes += static_cast<double>(tensor.num_bytes());
  for (const Tensor& tensor : outs) bytes += static_cast<double>(tensor.num_bytes());
  const double seconds = Shortest(settings, [&] { tester.RunOnce(&ins, &outs); });
  std::printf("%-40s %-10s %9.4f ms %7.2f GB/s\n", name.c_str(),
              std::string(tester.chosen()).c_str(), seconds * 1e3, bytes / seconds * 1e-9);
}

void MeasureOthers(const Settings& settings) {
  using Ints = std::vector<int64_t>;
  const AttrMap none = {{"T", DType::kFloat}};
  const auto pool = [](int64_t side) {
    return AttrMap{{"ksize", Ints{1, side, side, 1}},
                   {"strides", Ints{1, side, side, 1}},
                   {"padding", "SAME"},
                   {"T", DType::kFloat}};
  };
  struct Pool {
    const char* name;
    int64_t side, channels, window;
  };
  for (const Pool& p : {Pool{"mnist pool 1", 28, 32, 2}, Pool{"mnist pool 2", 14, 64, 2},
                        Pool{"svhn pool 1", 32, 64, 4}, Pool{"svhn pool 2", 8, 256, 4}}) {
    const Tensor x = Values({100, p.side, p.side, p.channels});
    const Tensor y = Values({100, p.side / p.window, p.side / p.window, p.channels});
    MeasureOp(settings, p.name, "MaxPool", pool(p.window), {x});
    MeasureOp(settings, StrCat(p.name, " gradient"), "MaxPoolGrad", pool(p.window), {x, y, y});
    MeasureOp(settings, StrCat(p.name, " gradient with Relu"), "_FusedReluPoolGrad", pool(p.window),
              {x, y, y});
  }
  const Tensor svhn = Values({100, 32, 32, 32});
  MeasureOp(settings, "svhn Relu 1", "Relu", none, {svhn});
  MeasureOp(settings, "svhn ReluGrad 1", "ReluGrad", none, {svhn, svhn});
  MeasureOp(settings, "svhn BiasAdd 1", "BiasAdd", none, {svhn, Values({32})});
  MeasureOp(settings, "svhn BiasAddGrad 1", "BiasAddGrad", none, {svhn});
  AttrMap relu = none, residual = none;
  relu["U"] = residual["U"] = DType::kFloat;
  relu["N"] = int64_t{0};
  residual["N"] = int64_t{1};
  for (const auto& [side, channels] : {std::pair{32, 16}, std::pair{16, 32}, std::pair{8, 64}}) {
    const Tensor x = Values({128, side, side, channels}), v = Values({channels});
    Tensor variance = Tensor::Full<float>({channels}, 0.3f);
    const std::string name = StrCat("resnet20 ", channels, " ");
    MeasureOp(settings, name + "norm", "_FusedBatchNormRelu", relu, {x, v, v, v, variance});
    MeasureOp(settings, name + "norm with residual", "_FusedBatchNormRelu", residual,
              {x, v, v, v, variance, x});
    MeasureOp(settings, name + "norm gradient", "_FusedBatchNormReluGrad", relu,
              {x, x, v, v, v, variance});
    MeasureOp(settings, name + "norm with residual gradient", "_FusedBatchNormReluGrad", residual,
              {x, x, v, v, v, variance, x});
    MeasureOp(settings, name + "AddV2", "AddV2", none, {x, x});
  }
  MeasureOp(settings, "softmax cross entropy [100,10]", "SoftmaxCrossEntropyWithLogits", none,
            {Values({100, 10}), Values({100, 10})});
  const auto matmul = [&](const char* name, int64_t m, int64_t k, int64_t n, bool transpose_a,
                          bool transpose_b) {
    const AttrMap attrs = {
        {"T", DType::kFloat}, {"transpose_a", transpose_a}, {"transpose_b", transpose_b}};
    MeasureOp(settings, name, "MatMul", attrs,
              {Values(transpose_a ? Shape{k, m} : Shape{m, k}),
               Values(transpose_b ? Shape{n, k} : Shape{k, n})});
  };
  const auto dense = [&](const char* name, int64_t m, int64_t k, int64_t n) {
    AttrMap attrs = none;
    attrs["relu"] = true;
    MeasureOp(settings, name, "_FusedMatMul", attrs, {Values({m, k}), Values({k, n}), Values({n})});
  };
  dense("mlp dense 1", 100, 784, 100);
  dense("mlp dense 2", 100, 100, 10);
  matmul("mlp dense 1 filter", 784, 100, 100, true, false);
  matmul("mlp dense 2 filter", 100, 100, 10, true, false);
  matmul("mlp dense 2 input", 100, 10, 100, false, true);
  dense("mnist dense 1", 100, 3136, 1024);
  matmul("mnist dense 1 filter", 3136, 100, 1024, true, false);
  matmul("mnist dense 1 input", 100, 1024, 3136, false, true);
}

int Main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc) {
      settings.threads = std::atoi(argv[++i]);
    } else if (argument == "--repeat" && i + 1 < argc) {
      settings.repeat = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--all") {
      settings.all = true;
    } else if (argument == "--cpu") {
      settings.cpu = true;
    } else if (!argument.starts_with("-")) {
      settings.pattern = argument;
    } else {
      std::fprintf(stderr,
                   "usage: bench_kernels [--threads N] [--repeat N] [--all] [--cpu] [PATTERN]\n");
      return 2;
    }
  }
  SetKernelThreads(settings.threads);
  MeasureConvolutions(settings);
  std::printf("\n");
  MeasureOthers(settings);
  return 0;
}

}  // namespace
}  // namespace carillon

int main(int argc, char** argv) {
  try {
    return carillon::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_kernels: %s\n", error.what());
    return 1;
  }
}
