#include "kernels/cpu/conv_choice.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
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
  Scratch(size_t bytes, Allocator* allocator)
      : bytes_(bytes), allocator_(allocator), data_(allocator->Allocate(bytes)) {
    if (data_ == nullptr) return;
    auto* const values = static_cast<float*>(data_);
    ParallelFor(static_cast<int64_t>(bytes / sizeof(float)), 1 << 16,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i)
                    values[i] = static_cast<float>((i * 37) & 255) / 256.0f - 0.5f;
                });
  }
  ~Scratch() {
    if (data_ != nullptr) allocator_->Free(data_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data() const { return data_; }

 private:
  const size_t bytes_;
  Allocator* const allocator_;
  void* const data_;
};

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr double kHopeless = std::numeric_limits<double>::infinity();

// Seconds that `body` takes; kHopeless when it fails.
template <typename Body>
double Time(const Body& body) {
  const double start = Seconds();
  return body().ok() ? Seconds() - start : kHopeless;
}

class Measurement {
 public:
  Measurement(const ConvProblem& problem, Allocator* allocator)
      : problem_(problem),
        allocator_(allocator),
        input_(Bytes(problem.geometry.InputShape()), allocator),
        output_(Bytes(problem.geometry.OutputShape()), allocator),
        filter_(Bytes(problem.geometry.FilterShape()), allocator),
        bias_(static_cast<size_t>(problem.geometry.out_channels) * sizeof(float), allocator) {}

  bool has_memory() const {
    return input_.data() && output_.data() && filter_.data() && bias_.data();
  }

  // Of one run.
  double Run(ConvAlgorithm& algorithm, const Scratch& scratch) const {
    const ConvAlgorithm::Buffers buffers{input_.data(), filter_.data(),
                                         problem_.has_bias ? bias_.data() : nullptr, output_.data(),
                                         scratch.data()};
    return Time([&] { return algorithm.Run(buffers); });
  }

  // Of the reorders that the algorithm's layouts would cost.
  double Reorders(const ConvAlgorithm& algorithm) const {
    double seconds = 0;
    if (problem_.pass != ConvPass::kBackwardInput)
      seconds +=
          Reorder(problem_.input_layout, algorithm.input_layout(), problem_.geometry.InputShape());
    if (problem_.pass != ConvPass::kForward)
      seconds += Reorder(problem_.output_layout, algorithm.output_layout(),
                         problem_.geometry.OutputShape());
    return seconds;
  }

 private:
  static size_t Bytes(const Shape& shape) {
    return static_cast<size_t>(shape.num_elements()) * sizeof(float);
  }

  double Reorder(const Layout& from, const Layout& to, const Shape& shape) const {
    if (SameLayout(from, to)) return 0;
    const dnnl::memory::desc from_desc = DescOf(from, DType::kFloat, shape);
    const dnnl::memory::desc to_desc = DescOf(to, DType::kFloat, shape);
    const Scratch source(Bytes(shape), allocator_), target(Bytes(shape), allocator_);
    if (source.data() == nullptr || target.data() == nullptr) return kHopeless;
    double seconds = kHopeless;
    const Status status = CatchDnnl([&] {
      const dnnl::engine engine = MakeDnnlEngine();
      DnnlCall call(
          engine, dnnl::reorder(dnnl::reorder::primitive_desc(engine, from_desc, engine, to_desc)),
          {{DNNL_ARG_FROM, from_desc}, {DNNL_ARG_TO, to_desc}});
      for (int i = 0; i < 3; ++i)
        seconds = std::min(seconds, Time([&] { return call.Run({source.data(), target.data()}); }));
    });
    return status.ok() ? seconds : kHopeless;
  }

  const ConvProblem& problem_;
  Allocator* const allocator_;
  const Scratch input_, output_, filter_, bias_;
};

// The position of the fastest. They run in turns, so that what disturbs the machine for a while
// disturbs all. After each turn those that are behind drop out, more of them each time, since a
// time of several turns is known better; it is over when one is left or the time is up. None when
// there is no memory for it.
std::optional<size_t> FindFastest(const ConvProblem& problem,
                                  const std::vector<std::unique_ptr<ConvAlgorithm>>& algorithms,
                                  Allocator* allocator) {
  constexpr double kMayBeBehind[] = {2.0, 1.3, 1.15};  // after the first, second and third turn
  constexpr double kMostSeconds = 0.15;                // of all turns but the first
  const Measurement measurement(problem, allocator);
  size_t scratch_bytes = kTensorAlignment;
  for (const auto& algorithm : algorithms)
    scratch_bytes = std::max(scratch_bytes, algorithm->scratch_bytes());
  const Scratch scratch(scratch_bytes, allocator);
  if (!measurement.has_memory() || scratch.data() == nullptr) return std::nullopt;

  struct Racer {
    size_t position;
    double run;
    double reorders = 0;
    double total() const { return run + reorders; }
  };
  std::vector<Racer> racers;
  for (size_t i = 0; i < algorithms.size(); ++i)
    racers.push_back({i, measurement.Run(*algorithms[i], scratch)});
  const double least = std::ranges::min(racers, {}, &Racer::run).run;
  for (Racer& racer : racers) {
    // Those that are out of the question need not be looked at any further.
    const bool hopeless = racer.run > kMayBeBehind[0] * least;
    racer.reorders = hopeless ? kHopeless : measurement.Reorders(*algorithms[racer.position]);
  }
  const double end = Seconds() + kMostSeconds;
  for (const double may_be_behind : kMayBeBehind) {
    const double limit = may_be_behind * std::ranges::min(racers, {}, &Racer::total).total();
    std::erase_if(racers, [&](const Racer& racer) { return !(racer.total() <= limit); });
    if (racers.size() <= 1 || Seconds() > end) break;
    for (Racer& racer : racers)
      racer.run = std::min(racer.run, measurement.Run(*algorithms[racer.position], scratch));
  }
  return racers.empty() ? 0 : std::ranges::min(racers, {}, &Racer::total).position;
}

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
  const std::optional<size_t> winner = FindFastest(problem, accepted, options.allocator);
  if (!winner) return std::move(accepted.front());
  Choices().Remember(key, accepted[*winner]->name());
  return std::move(accepted[*winner]);
}

}  // namespace carillon
