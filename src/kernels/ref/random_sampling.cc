// RandomShuffle, Multinomial, StatelessMultinomial.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/parallel.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/random_fill.h"
#include "kernels/ref/random_kernels.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

class RandomShuffleKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(auto generator, SessionGenerator(request));
    return std::make_unique<RandomShuffleKernel>(std::move(generator));
  }
  explicit RandomShuffleKernel(std::shared_ptr<GeneratorState> generator)
      : generator_(std::move(generator)) {}

  Status Run(KernelContext& context) override {
    const Tensor& value = context.input(0);
    if (value.num_elements() <= 1 || value.dim(0) <= 1) {
      context.set_output(0, value);
      return absl::OkStatus();
    }
    const int64_t rows = value.dim(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor order, context.AllocateTemporary(DType::kInt64, Shape{rows}));
    Shuffle(order.mutable_values<int64_t>());
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, value.shape()));
    CopyRows(value, order.values<int64_t>(), *out);
    return absl::OkStatus();
  }

 private:
  // Fisher and Yates: the last place has no choice left, so one word less than there are rows.
  void Shuffle(std::span<int64_t> order) const {
    std::iota(order.begin(), order.end(), int64_t{0});
    const size_t draws = order.size() - 1;
    PhiloxWords words(generator_->Reserve((draws + 3) / 4));
    for (size_t i = 0; i < draws; ++i) {
      std::swap(order[i], order[i + words.Next() % (order.size() - i)]);
    }
  }

  static void CopyRows(const Tensor& from, std::span<const int64_t> order, Tensor& to) {
    const auto rows = static_cast<int64_t>(order.size());
    const int64_t row = from.num_elements() / rows;
    DispatchBySize(from.dtype(), [&]<typename T>() {
      const T* source = static_cast<const T*>(from.raw_data());
      T* target = static_cast<T*>(to.mutable_raw_data());
      ForRanges<T>(rows, row, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          std::copy_n(source + order[static_cast<size_t>(i)] * row, row, target + i * row);
        }
      });
    });
  }

  const std::shared_ptr<GeneratorState> generator_;
};

// Draws `samples` classes for each row of logits, from a running sum of exp(logit - max). Logits
// that are not finite have no chance.
template <typename T, typename Out>
void SampleRow(const T* logits, int64_t classes, int64_t samples, PhiloxWords& words, double* sums,
               Out* out) {
  double max = std::numeric_limits<double>::lowest();
  for (int64_t j = 0; j < classes; ++j) {
    const auto logit = static_cast<double>(logits[j]);
    if (std::isfinite(logit)) max = std::max(max, logit);
  }
  double total = 0;
  for (int64_t j = 0; j < classes; ++j) {
    const auto logit = static_cast<double>(logits[j]);
    if (std::isfinite(logit)) total += std::exp(logit - max);
    sums[j] = total;
  }
  for (int64_t i = 0; i < samples; ++i) {
    if (i % 4096 == 0 && WorkIsCancelled()) return;
    const uint32_t word0 = words.Next(), word1 = words.Next();
    const double wanted = UniformDouble(word0, word1) * total;
    out[i] = static_cast<Out>(std::upper_bound(sums, sums + classes, wanted) - sums);
  }
}

// `reserve(outputs)` gives the sequence to draw from.
template <typename Reserve>
Status RunMultinomial(KernelContext& context, const Reserve& reserve) {
  const Tensor &logits = context.input(0), &num_samples = context.input(1);
  if (logits.rank() != 2) {
    return InvalidArgument("logits should be a matrix, got shape ", logits.shape().ToString());
  }
  if (num_samples.rank() != 0) {
    return InvalidArgument("num_samples should be a scalar, got shape ",
                           num_samples.shape().ToString());
  }
  const int64_t batch = logits.dim(0), classes = logits.dim(1);
  const int64_t samples = num_samples.data<int32_t>()[0];
  if (samples < 0) return InvalidArgument("num_samples should be non-negative, got ", samples);
  if (classes == 0) return InvalidArgument("num_classes should be positive, got 0");
  Shape shape;
  if (!Shape::TryMake(std::array{batch, samples}, &shape)) {
    return InvalidArgument(batch, " rows of ", samples, " samples are too many");
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
  if (out->num_elements() == 0) return absl::OkStatus();

  // Each row takes two words a sample, right after those of the row before it.
  const Philox philox = reserve(batch * ((samples + 3) / 4 * 4) * 2);
  const int64_t parts = std::min<int64_t>(batch, KernelThreads());
  CARILLON_ASSIGN_OR_RETURN(Tensor sums,
                            context.AllocateTemporary(DType::kDouble, Shape{parts, classes}));
  const int64_t grain = (classes + samples) * (batch / parts) < 1024 ? parts : 1;
  DispatchFloating(logits.dtype(), [&]<typename T>() {
    DispatchAmong<int32_t, int64_t>(out->dtype(), [&]<typename Out>() {
      ParallelFor(parts, grain, [&](int64_t begin, int64_t end) {
        const int64_t first = batch * begin / parts, last = batch * end / parts;
        PhiloxWords words(philox,
                          static_cast<uint64_t>(first) * static_cast<uint64_t>(samples) * 2);
        for (int64_t row = first; row < last; ++row) {
          SampleRow(logits.data<T>() + row * classes, classes, samples, words,
                    sums.mutable_data<double>() + begin * classes,
                    out->mutable_data<Out>() + row * samples);
        }
      });
    });
  });
  return CheckWanted();
}

class MultinomialKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    if (!IsFloating(request.input_dtype(0))) {
      return Unimplemented("logits of type ", DTypeName(request.input_dtype(0)));
    }
    CARILLON_ASSIGN_OR_RETURN(auto generator, SessionGenerator(request));
    return std::make_unique<MultinomialKernel>(std::move(generator));
  }
  explicit MultinomialKernel(std::shared_ptr<GeneratorState> generator)
      : generator_(std::move(generator)) {}

  Status Run(KernelContext& context) override {
    return RunMultinomial(context,
                          [&](int64_t outputs) { return generator_->ReserveOutputs(outputs); });
  }

 private:
  const std::shared_ptr<GeneratorState> generator_;
};

Status RunStatelessMultinomial(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const Philox philox, PhiloxFromSeedInput(context.input(2)));
  return RunMultinomial(context, [&](int64_t) { return philox; });
}

KernelResult MakeStatelessMultinomial(const KernelRequest& request) {
  if (!IsFloating(request.input_dtype(0))) {
    return Unimplemented("logits of type ", DTypeName(request.input_dtype(0)));
  }
  return MakeFunctionKernel(RunStatelessMultinomial);
}

}  // namespace

void AddSamplingKernels(KernelTable& table) {
  table.Add({
      {"RandomShuffle", "ref", FromClass<RandomShuffleKernel>},
      {"Multinomial", "ref", FromClass<MultinomialKernel>},
      {"StatelessMultinomial", "ref", MakeStatelessMultinomial},
  });
}

}  // namespace carillon
