#include "kernels/cpu/conv_choice.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/image_layout.h"
#include "kernels/cpu/nn.h"
#include "tensor/allocator.h"

namespace carillon {
namespace {

constexpr ConvCandidate kCandidates[] = {
    {"direct/blocked", true, MakeDirectBlockedConv},
    {"winograd/own", false, MakeOwnWinogradConv},
    {"winograd/blocked", false, MakeWinogradConv},
    {"direct/channels-last", true, MakeDirectChannelsLastConv},
    {"direct/as-given", true, MakeDirectAsGivenConv},
};

// Memory that holds numbers of ordinary size; empty when there is none to be had.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : bytes_(bytes), data_(HostAllocator()->Allocate(bytes)) {
    if (data_ == nullptr) return;
    auto* const values = static_cast<float*>(data_);
    ParallelFor(static_cast<int64_t>(bytes / sizeof(float)), 1 << 16,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i)
                    values[i] = static_cast<float>((i * 37) & 255) / 256.0f - 0.5f;
                });
  }
  ~Scratch() {
    if (data_ != nullptr) HostAllocator()->Free(data_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data() const { return data_; }

 private:
  const size_t bytes_;
  void* const data_;
};

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr double kHopeless = std::numeric_limits<double>::infinity();

// The shortest of a few runs; gives up early on one that is far from `best`.
template <typename Body>
double Time(const Body& body, double best) {
  constexpr int kRuns = 3;
  double shortest = kHopeless;
  for (int i = 0; i < kRuns; ++i) {
    const double start = Seconds();
    if (!body().ok()) return kHopeless;
    shortest = std::min(shortest, Seconds() - start);
    if (shortest > (i == 0 ? 2.0 : 1.3) * best) break;
  }
  return shortest;
}

class Measurement {
 public:
  explicit Measurement(const ConvProblem& problem)
      : problem_(problem),
        input_(Bytes(problem.geometry.InputShape())),
        output_(Bytes(problem.geometry.OutputShape())),
        filter_(Bytes(problem.geometry.FilterShape())),
        bias_(static_cast<size_t>(problem.geometry.out_channels) * sizeof(float)) {}

  // Seconds of one run with its reorders; kHopeless when it cannot run.
  double Of(ConvAlgorithm& algorithm, double best) {
    const Scratch scratch(algorithm.scratch_bytes());
    for (const void* memory : {input_.data(), output_.data(), filter_.data(), bias_.data(),
                               static_cast<void*>(scratch.data())}) {
      if (memory == nullptr) return kHopeless;
    }
    double seconds = 0;
    if (problem_.pass != ConvPass::kBackwardInput)
      seconds += Reorder(problem_.input_layout, algorithm.input_layout(),
                         problem_.geometry.InputShape(), best);
    if (problem_.pass != ConvPass::kForward)
      seconds += Reorder(problem_.output_layout, algorithm.output_layout(),
                         problem_.geometry.OutputShape(), best);
    if (seconds >= best) return seconds;
    const ConvAlgorithm::Buffers buffers{input_.data(), filter_.data(),
                                         problem_.has_bias ? bias_.data() : nullptr, output_.data(),
                                         scratch.data()};
    return seconds + Time([&] { return algorithm.Run(buffers); }, best);
  }

 private:
  static size_t Bytes(const Shape& shape) {
    return static_cast<size_t>(shape.num_elements()) * sizeof(float);
  }

  static double Reorder(const Layout& from, const Layout& to, const Shape& shape, double best) {
    if (SameLayout(from, to)) return 0;
    const memory_desc from_desc = DescOf(from, DType::kFloat, shape);
    const memory_desc to_desc = DescOf(to, DType::kFloat, shape);
    const Scratch source(Bytes(shape)), target(Bytes(shape));
    if (source.data() == nullptr || target.data() == nullptr) return kHopeless;
    double seconds = kHopeless;
    const Status status = CatchDnnl([&] {
      const dnnl::engine engine = MakeDnnlEngine();
      DnnlCall call(
          engine, dnnl::reorder(dnnl::reorder::primitive_desc(engine, from_desc, engine, to_desc)),
          {{DNNL_ARG_FROM, from_desc}, {DNNL_ARG_TO, to_desc}});
      seconds = Time([&] { return call.Run({source.data(), target.data()}); }, best);
    });
    return status.ok() ? seconds : kHopeless;
  }

  using memory_desc = dnnl::memory::desc;
  const ConvProblem& problem_;
  const Scratch input_, output_, filter_, bias_;
};

// Winners by problem. The one thing here that outlives a call.
class ChoiceCache {
 public:
  std::string Find(const std::string& key) {
    std::lock_guard lock(mutex_);
    const auto found = winners_.find(key);
    return found == winners_.end() ? std::string() : found->second;
  }
  void Remember(const std::string& key, const std::string& winner) {
    std::lock_guard lock(mutex_);
    winners_.emplace(key, winner);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> winners_;
};

ChoiceCache& Choices() {
  static auto* const cache = new ChoiceCache;
  return *cache;
}

// What usually wins when nothing is measured: Winograd where its transforms pay.
bool WinogradUsuallyWins(const ConvProblem& problem) {
  const ConvGeometry& g = problem.geometry;
  return g.height.size == 3 && g.width.size == 3 && g.height.stride == 1 && g.width.stride == 1 &&
         g.height.dilation == 1 && g.width.dilation == 1 && g.groups == 1 && g.in_channels >= 16;
}

// The direct algorithms come to the same where they chose the same layouts.
bool IsRepeated(const ConvAlgorithm& algorithm,
                const std::vector<std::unique_ptr<ConvAlgorithm>>& others) {
  const auto is_direct = [](const ConvAlgorithm& a) { return a.name().starts_with("direct/"); };
  return is_direct(algorithm) && std::ranges::any_of(others, [&](const auto& other) {
           return is_direct(*other) &&
                  SameLayout(algorithm.input_layout(), other->input_layout()) &&
                  SameLayout(algorithm.output_layout(), other->output_layout());
         });
}

}  // namespace

std::span<const ConvCandidate> ConvCandidates() { return kCandidates; }

std::string ConvProblem::Key() const {
  const ConvGeometry& g = geometry;
  const auto dim = [](const WindowDim& w) {
    return StrCat(w.input, ",", w.size, ",", w.stride, ",", w.dilation, ",", w.pad_before, ",",
                  w.pad_after, ",", w.output, ";");
  };
  const auto layout = [](const Layout& l) { return l == nullptr ? "plain" : l->ToString(); };
  return StrCat(static_cast<int>(pass), ";", g.format.channels, ";", g.batch, ";", g.in_channels,
                ";", g.out_channels, ";", g.groups, ";", dim(g.height), dim(g.width), depthwise,
                has_bias, has_relu, ";", layout(input_layout), ";", layout(output_layout));
}

ConvAlgorithmResult ChooseConvAlgorithm(const ConvProblem& problem, const KernelOptions& options) {
  const WithKernelThreads with_threads(options.threads);
  const std::string key =
      StrCat(problem.Key(), ";", options.threads, options.exact ? ";exact" : ";");
  if (options.measure) {
    if (const std::string known = Choices().Find(key); !known.empty()) {
      for (const ConvCandidate& candidate : kCandidates) {
        if (known == candidate.name) return candidate.make(problem);
      }
    }
  }
  std::vector<std::unique_ptr<ConvAlgorithm>> accepted;
  std::string refusals;
  for (const ConvCandidate& candidate : kCandidates) {
    if (options.exact && !candidate.exact) continue;
    ConvAlgorithmResult made = candidate.make(problem);
    if (!made.ok()) {
      StrAppend(&refusals, "; ", candidate.name, ": ", made.status().message());
      continue;
    }
    if (!options.measure) {
      if (candidate.exact && !options.exact && WinogradUsuallyWins(problem)) {
        ConvAlgorithmResult winograd = MakeOwnWinogradConv(problem);
        if (winograd.ok()) return winograd;
      }
      return made;
    }
    if (!IsRepeated(**made, accepted)) accepted.push_back(*std::move(made));
  }
  if (accepted.empty()) return Unimplemented("oneDNN takes this convolution in no way", refusals);
  if (accepted.size() == 1) return std::move(accepted.front());
  Measurement measurement(problem);
  double best = kHopeless;
  std::unique_ptr<ConvAlgorithm>* winner = &accepted.front();
  for (std::unique_ptr<ConvAlgorithm>& algorithm : accepted) {
    const double seconds = measurement.Of(*algorithm, best);
    if (seconds < best) {
      best = seconds;
      winner = &algorithm;
    }
  }
  Choices().Remember(key, (*winner)->name());
  return std::move(*winner);
}

}  // namespace carillon
