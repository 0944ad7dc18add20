// Batch normalisation in float on vectors of channels, alone or with the Relu (and the addition
// before it) that follow: two passes over the tensor forward, two backward.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/parallel.h"
#include "kernels/cpu/image_layout.h"
#include "kernels/cpu/nn.h"
#include "kernels/cpu/vec.h"

namespace carillon {
namespace {

CARILLON_ALWAYS_INLINE Vec LoadUpTo(const float* from, int64_t n) {
  return n == kVec ? Load(from) : LoadPart(from, n);
}

CARILLON_ALWAYS_INLINE void StoreUpTo(float* to, const Vec& v, int64_t n) {
  n == kVec ? Store(to, v) : StorePart(to, v, n);
}

CARILLON_ALWAYS_INLINE Vec Relu(const Vec& v) { return v < Vec{} ? Vec{} : v; }

// Up to 16 channels of some pixels of one image: vectors that lie `stride` apart.
struct Run {
  int64_t offset;  // of the first vector in the tensor
  int64_t pixels;  // how many vectors
  int64_t stride;
  int64_t channel;  // the first one
  int64_t lanes;    // channels that count
};

// Visits a part of the batch in runs. A run of an unblocked tensor is short, so that all its
// channels come by while its pixels are in the cache. `backwards` begins with what was visited
// last.
template <typename Body>
void ForEachRun(const ChannelBlocks& view, int64_t first, int64_t last, bool backwards,
                const Body& body) {
  const int64_t pieces = view.block > kVec ? (view.pixels() + 63) / 64 : 1;
  for (int64_t k = first; k < last; ++k) {
    const int64_t n = backwards ? first + last - 1 - k : k;
    for (int64_t b = 0; b < view.blocks; ++b) {
      for (int64_t piece = 0; piece < pieces; ++piece) {
        const int64_t from = view.pixels() * piece / pieces;
        const int64_t to = view.pixels() * (piece + 1) / pieces;
        for (int64_t v = 0; v < view.block; v += kVec) {
          body(Run{(n * view.blocks + b) * view.plane() + from * view.block + v, to - from,
                   view.block, b * view.block + v, std::min(kVec, view.block - v)});
        }
      }
    }
  }
}

struct BatchNormProblem {
  Shape shape;
  Layout layout;
  ChannelBlocks view;
  float epsilon = 0;
  bool is_training = true;
  bool relu = false;
  bool residual = false;
  int64_t parts = 1;  // threads

  int64_t channels() const { return view.channels(); }
  double count() const {
    return static_cast<double>(view.batch) * static_cast<double>(view.pixels());
  }
  // Two sums in double for each part and channel, and five factors in float.
  size_t ScratchBytes() const {
    return static_cast<size_t>(channels()) *
           (static_cast<size_t>(parts) * 2 * sizeof(double) + 5 * sizeof(float));
  }
  template <typename Body>
  void ForEachPart(const Body& body) const {
    ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        body(part, view.batch * part / parts, view.batch * (part + 1) / parts);
    });
  }
};

// Where the sums of each part and the factors of each channel lie in scratch memory.
struct BatchNormScratch {
  double* sums;             // [parts][2][channels]
  float *a, *b;             // y = a * x + b
  float *grad, *x, *shift;  // dx = grad * dy + x * x + shift
  BatchNormScratch(void* memory, const BatchNormProblem& p)
      : sums(static_cast<double*>(memory)),
        a(reinterpret_cast<float*>(sums + p.parts * 2 * p.channels())),
        b(a + p.channels()),
        grad(b + p.channels()),
        x(grad + p.channels()),
        shift(x + p.channels()) {}
  double* Row(const BatchNormProblem& p, int64_t part, int which) const {
    return sums + (part * 2 + which) * p.channels();
  }
  double Total(const BatchNormProblem& p, int which, int64_t channel) const {
    double total = 0;
    for (int64_t part = 0; part < p.parts; ++part) total += Row(p, part, which)[channel];
    return total;
  }
};

CARILLON_ALWAYS_INLINE void AddLanes(const Vec& v, const Run& run, double* sums) {
  for (int64_t i = 0; i < run.lanes; ++i)
    sums[run.channel + i] += static_cast<double>(v[static_cast<size_t>(i)]);
}

// Calls sum(offset) for the vectors of a run, four accumulators deep: `sum` gives two vectors.
template <typename Sum>
CARILLON_ALWAYS_INLINE void SumRun(const Run& run, double* first, double* second, const Sum& sum) {
  Vec s0{}, s1{}, t0{}, t1{};
  int64_t i = 0;
  int64_t at = run.offset;
  for (; i + 2 <= run.pixels; i += 2, at += 2 * run.stride) {
    sum(at, &s0, &t0);
    sum(at + run.stride, &s1, &t1);
  }
  if (i < run.pixels) sum(at, &s0, &t0);
  AddLanes(s0 + s1, run, first);
  AddLanes(t0 + t1, run, second);
}

class BatchNormForwardKernel final : public Kernel {
 public:
  BatchNormForwardKernel(BatchNormProblem problem, float average_factor, int num_inputs,
                         int num_outputs)
      : p_(std::move(problem)), average_factor_(average_factor) {
    traits_.input_layouts.resize(static_cast<size_t>(num_inputs));
    traits_.output_layouts.resize(static_cast<size_t>(num_outputs));
    traits_.input_layouts[0] = traits_.output_layouts[0] = p_.layout;
    if (p_.residual) {
      traits_.input_layouts[5] = p_.layout;
      traits_.reuses.push_back({5, 0});
    }
    if (!p_.is_training) traits_.reuses.push_back({0, 0});
    traits_.scratch_bytes = p_.ScratchBytes();
  }

  Status Run(KernelContext& context) override {
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 0, p_.shape));
    if (p_.residual) CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 5, p_.shape));
    const Shape vector{p_.channels()};
    const bool reads_statistics = !p_.is_training || average_factor_ != 1.0f;
    for (int i = 1; i < (reads_statistics ? 5 : 3); ++i)
      CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, i, vector));
    StatusOr<Tensor*> y = p_.residual       ? context.ReuseOrAllocateOutput(0, {5}, p_.shape)
                          : !p_.is_training ? context.ReuseOrAllocateOutput(0, {0}, p_.shape)
                                            : context.AllocateOutput(0, p_.shape);
    CARILLON_RETURN_IF_ERROR(y.status());
    float* statistics[4];
    for (int i = 0; i < 4; ++i) {
      CARILLON_ASSIGN_OR_RETURN(Tensor * tensor, context.AllocateOutput(i + 1, vector));
      statistics[i] = tensor->mutable_data<float>();
    }
    if (context.num_outputs() > 5) {
      CARILLON_ASSIGN_OR_RETURN(Tensor * third, context.AllocateOutput(5, Shape{}));
      third->mutable_data<float>()[0] = 0;  // what TensorFlow's plain kernel leaves there
    }
    CARILLON_ASSIGN_OR_RETURN(const KernelScratch memory,
                              KernelScratch::Get(context, traits_.scratch_bytes));
    const BatchNormScratch scratch(memory.data(), p_);
    const float* const x = context.input(0).data<float>();
    if (p_.is_training) SumBatch(x, scratch);
    FindStatistics(context, x, scratch, statistics);
    float* const to = (*y)->mutable_data<float>();
    const float* const residual = p_.residual ? context.input(5).data<float>() : nullptr;
    if (p_.residual) {
      p_.relu ? Normalise<true, true>(x, residual, scratch, to)
              : Normalise<false, true>(x, residual, scratch, to);
    } else {
      p_.relu ? Normalise<true, false>(x, residual, scratch, to)
              : Normalise<false, false>(x, residual, scratch, to);
    }
    return absl::OkStatus();
  }

 private:
  using Piece = carillon::Run;

  // Sums of x - s and of its square, where s is the channel's very first element: close enough to
  // the mean that the variance does not drown in it.
  void SumBatch(const float* x, const BatchNormScratch& scratch) const {
    p_.ForEachPart([&](int64_t part, int64_t first, int64_t last) {
      double* const sums = scratch.Row(p_, part, 0);
      double* const squares = scratch.Row(p_, part, 1);
      std::fill_n(sums, 2 * p_.channels(), 0.0);
      ForEachRun(p_.view, first, last, false, [&](const Piece& run) {
        const Vec shift = LoadUpTo(x + FirstOf(run), run.lanes);
        SumRun(run, sums, squares, [&](int64_t at, Vec* sum, Vec* square) {
          const Vec d = LoadUpTo(x + at, run.lanes) - shift;
          *sum += d;
          *square += d * d;
        });
      });
    });
  }

  // Where the first pixel's vector of the run's channels lies.
  int64_t FirstOf(const Piece& run) const {
    return run.channel / p_.view.block * p_.view.plane() + run.channel % p_.view.block;
  }

  // Mean and variance, what the op says of them, and y = a * x + b.
  void FindStatistics(const KernelContext& context, const float* x, const BatchNormScratch& scratch,
                      float* const statistics[4]) const {
    const float* const scale = context.input(1).data<float>();
    const float* const offset = context.input(2).data<float>();
    const float* const old_mean = context.input(3).data<float>();
    const float* const old_variance = context.input(4).data<float>();
    const double count = p_.count();
    const auto factor = static_cast<double>(average_factor_);
    for (int64_t c = 0; c < p_.channels(); ++c) {
      double mean, variance;
      if (p_.is_training) {
        const double shift =
            static_cast<double>(x[c / p_.view.block * p_.view.plane() + c % p_.view.block]);
        const double d = scratch.Total(p_, 0, c) / count;
        mean = shift + d;
        // Written so that NaN stays NaN.
        variance = scratch.Total(p_, 1, c) / count - d * d;
        if (variance < 0) variance = 0;
        const double unbiased = variance * (count > 1 ? count / (count - 1) : 1.0);
        const bool blend = average_factor_ != 1.0f;
        statistics[0][c] = static_cast<float>(
            blend ? (1 - factor) * static_cast<double>(old_mean[c]) + factor * mean : mean);
        statistics[1][c] = static_cast<float>(
            blend ? (1 - factor) * static_cast<double>(old_variance[c]) + factor * unbiased
                  : unbiased);
      } else {
        mean = static_cast<double>(old_mean[c]);
        variance = static_cast<double>(old_variance[c]);
        statistics[0][c] = old_mean[c];
        statistics[1][c] = old_variance[c];
      }
      statistics[2][c] = static_cast<float>(mean);
      statistics[3][c] = static_cast<float>(variance);
      const double a =
          static_cast<double>(scale[c]) / std::sqrt(variance + static_cast<double>(p_.epsilon));
      scratch.a[c] = static_cast<float>(a);
      scratch.b[c] = static_cast<float>(static_cast<double>(offset[c]) - mean * a);
    }
  }

  template <bool relu, bool residual>
  void Normalise(const float* x, const float* added, const BatchNormScratch& scratch,
                 float* y) const {
    p_.ForEachPart([&](int64_t, int64_t first, int64_t last) {
      ForEachRun(p_.view, first, last, true, [&](const Piece& run) {
        const Vec a = LoadUpTo(scratch.a + run.channel, run.lanes);
        const Vec b = LoadUpTo(scratch.b + run.channel, run.lanes);
        for (int64_t i = 0; i < run.pixels; ++i) {
          const int64_t at = run.offset + i * run.stride;
          Vec v = LoadUpTo(x + at, run.lanes) * a + b;
          if constexpr (residual) v += LoadUpTo(added + at, run.lanes);
          if constexpr (relu) v = Relu(v);
          StoreUpTo(y + at, v, run.lanes);
        }
      });
    });
  }

  const BatchNormProblem p_;
  const float average_factor_;
};

// Inputs of the two gradient ops.
struct GradInputs {
  int scale, mean, variance;
  int offset = -1, y = -1;  // with Relu
};

class BatchNormBackwardKernel final : public Kernel {
 public:
  BatchNormBackwardKernel(BatchNormProblem problem, const GradInputs& inputs, int num_inputs,
                          int num_outputs)
      : p_(std::move(problem)), in_(inputs) {
    traits_.input_layouts.resize(static_cast<size_t>(num_inputs));
    traits_.output_layouts.resize(static_cast<size_t>(num_outputs));
    traits_.input_layouts[0] = traits_.input_layouts[1] = p_.layout;
    traits_.output_layouts[0] = p_.layout;
    if (p_.residual) {
      traits_.input_layouts[static_cast<size_t>(in_.y)] = p_.layout;
      traits_.output_layouts[3] = p_.layout;
      traits_.reuses = {{1, 0}, {0, 3}};
    } else {
      traits_.reuses = {{0, 0}, {1, 0}};
    }
    traits_.scratch_bytes = p_.ScratchBytes();
  }

  Status Run(KernelContext& context) override {
    for (int i : {0, 1}) CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, i, p_.shape));
    const Shape vector{p_.channels()};
    for (int i : {in_.scale, in_.mean, in_.variance, in_.offset}) {
      if (i >= 0) CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, i, vector));
    }
    if (p_.residual) CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, in_.y, p_.shape));
    // The residual's gradient first: it may take the place of the gradient that came in, and then
    // stands for it.
    float* residual_grad = nullptr;
    if (p_.residual) {
      CARILLON_ASSIGN_OR_RETURN(Tensor * tensor, context.ReuseOrAllocateOutput(3, {0}, p_.shape));
      residual_grad = tensor->mutable_data<float>();
    }
    StatusOr<Tensor*> x_grad = p_.residual ? context.ReuseOrAllocateOutput(0, {1}, p_.shape)
                                           : context.ReuseOrAllocateOutput(0, {0, 1}, p_.shape);
    CARILLON_RETURN_IF_ERROR(x_grad.status());
    CARILLON_ASSIGN_OR_RETURN(Tensor * scale_grad, context.AllocateOutput(1, vector));
    CARILLON_ASSIGN_OR_RETURN(Tensor * offset_grad, context.AllocateOutput(2, vector));
    if (!p_.relu) {
      for (int i : {3, 4}) CARILLON_RETURN_IF_ERROR(context.AllocateOutput(i, Shape{0}).status());
    }
    CARILLON_ASSIGN_OR_RETURN(const KernelScratch memory,
                              KernelScratch::Get(context, traits_.scratch_bytes));
    const BatchNormScratch scratch(memory.data(), p_);
    const float* const grad = context.input(0).data<float>();
    const float* const x = context.input(1).data<float>();
    const float* const y = p_.residual ? context.input(in_.y).data<float>() : nullptr;
    float* const to = (*x_grad)->mutable_data<float>();
    PrepareMask(context, scratch);
    const float* const means = context.input(in_.mean).data<float>();
    if (p_.residual) {
      Reduce<Mask::kOutput>(grad, x, y, means, scratch, residual_grad);
    } else if (p_.relu) {
      Reduce<Mask::kRecomputed>(grad, x, nullptr, means, scratch, nullptr);
    } else {
      Reduce<Mask::kNone>(grad, x, nullptr, means, scratch, nullptr);
    }
    FindFactors(context, scratch, scale_grad->mutable_data<float>(),
                offset_grad->mutable_data<float>());
    if (p_.relu && !p_.residual) {
      Differentiate<true>(grad, x, scratch, to);
    } else {
      Differentiate<false>(p_.residual ? residual_grad : grad, x, scratch, to);
    }
    return absl::OkStatus();
  }

 private:
  using Piece = carillon::Run;
  // Where the Relu let through: everywhere, where a * x + b was positive, or where y is.
  enum class Mask { kNone, kRecomputed, kOutput };

  // a and b of the forward pass.
  void PrepareMask(const KernelContext& context, const BatchNormScratch& scratch) const {
    if (!p_.relu || p_.residual) return;
    const float* const scale = context.input(in_.scale).data<float>();
    const float* const offset = context.input(in_.offset).data<float>();
    const float* const mean = context.input(in_.mean).data<float>();
    const float* const variance = context.input(in_.variance).data<float>();
    for (int64_t c = 0; c < p_.channels(); ++c) {
      const double a = static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) +
                                                                 static_cast<double>(p_.epsilon));
      scratch.a[c] = static_cast<float>(a);
      scratch.b[c] =
          static_cast<float>(static_cast<double>(offset[c]) - static_cast<double>(mean[c]) * a);
    }
  }

  // Sums of the gradient that comes through, and of it times x - mean.
  template <Mask mask>
  void Reduce(const float* grad, const float* x, const float* y, const float* means,
              const BatchNormScratch& scratch, float* passed) const {
    p_.ForEachPart([&](int64_t part, int64_t first, int64_t last) {
      double* const sums = scratch.Row(p_, part, 0);
      double* const projections = scratch.Row(p_, part, 1);
      std::fill_n(sums, 2 * p_.channels(), 0.0);
      ForEachRun(p_.view, first, last, false, [&](const Piece& run) {
        const Vec mean = LoadUpTo(means + run.channel, run.lanes);
        Vec a{}, b{};
        if constexpr (mask == Mask::kRecomputed) {
          a = LoadUpTo(scratch.a + run.channel, run.lanes);
          b = LoadUpTo(scratch.b + run.channel, run.lanes);
        }
        SumRun(run, sums, projections, [&](int64_t at, Vec* sum, Vec* projection) {
          Vec g = LoadUpTo(grad + at, run.lanes);
          const Vec value = LoadUpTo(x + at, run.lanes);
          if constexpr (mask == Mask::kRecomputed) g = value * a + b > Vec{} ? g : Vec{};
          if constexpr (mask == Mask::kOutput) {
            g = LoadUpTo(y + at, run.lanes) > Vec{} ? g : Vec{};
            StoreUpTo(passed + at, g, run.lanes);
          }
          *sum += g;
          *projection += g * (value - mean);
        });
      });
    });
  }

  // The gradients of scale and offset, and the factors of that of x.
  void FindFactors(const KernelContext& context, const BatchNormScratch& scratch, float* scale_grad,
                   float* offset_grad) const {
    const float* const scale = context.input(in_.scale).data<float>();
    const float* const means = context.input(in_.mean).data<float>();
    const float* const variances = context.input(in_.variance).data<float>();
    const double count = p_.count();
    for (int64_t c = 0; c < p_.channels(); ++c) {
      const double inverse =
          1 / std::sqrt(static_cast<double>(variances[c]) + static_cast<double>(p_.epsilon));
      const double sum = scratch.Total(p_, 0, c);
      const double projection = scratch.Total(p_, 1, c);
      offset_grad[c] = static_cast<float>(sum);
      scale_grad[c] = static_cast<float>(projection * inverse);
      const double f = static_cast<double>(scale[c]) * inverse;
      // In training the batch's own mean and variance depend on x too.
      const double k = p_.is_training ? projection / count * inverse * inverse : 0;
      const double shift = p_.is_training ? sum / count : 0;
      scratch.grad[c] = static_cast<float>(f);
      scratch.x[c] = static_cast<float>(-f * k);
      scratch.shift[c] = static_cast<float>(f * (static_cast<double>(means[c]) * k - shift));
    }
  }

  template <bool masked>
  void Differentiate(const float* grad, const float* x, const BatchNormScratch& scratch,
                     float* to) const {
    p_.ForEachPart([&](int64_t, int64_t first, int64_t last) {
      ForEachRun(p_.view, first, last, true, [&](const Piece& run) {
        const Vec f = LoadUpTo(scratch.grad + run.channel, run.lanes);
        const Vec p = LoadUpTo(scratch.x + run.channel, run.lanes);
        const Vec q = LoadUpTo(scratch.shift + run.channel, run.lanes);
        Vec a{}, b{};
        if constexpr (masked) {
          a = LoadUpTo(scratch.a + run.channel, run.lanes);
          b = LoadUpTo(scratch.b + run.channel, run.lanes);
        }
        for (int64_t i = 0; i < run.pixels; ++i) {
          const int64_t at = run.offset + i * run.stride;
          Vec g = LoadUpTo(grad + at, run.lanes);
          const Vec value = LoadUpTo(x + at, run.lanes);
          if constexpr (masked) g = value * a + b > Vec{} ? g : Vec{};
          StoreUpTo(to + at, f * g + (p * value + q), run.lanes);
        }
      });
    });
  }

  const BatchNormProblem p_;
  const GradInputs in_;
};

// `image`: the input whose layout decides.
StatusOr<BatchNormProblem> MakeProblem(const KernelRequest& request, int image) {
  BatchNormProblem p;
  for (const ValueInfo& value : request.inputs) {
    if (value.dtype != DType::kFloat) return Unimplemented("only float");
  }
  if (!request.InputShape(image, &p.shape)) return Unimplemented("the shapes are not known");
  if (p.shape.num_elements() == 0) return Unimplemented("there are no elements");
  const std::string& data_format = request.attr<std::string>("data_format");
  if (p.shape.rank() != static_cast<int>(data_format.size()))
    return Unimplemented("the shape does not fit the format");
  p.layout = request.inputs[static_cast<size_t>(image)].layout;
  if (data_format.size() == 4) {
    CARILLON_ASSIGN_OR_RETURN(const ImageFormat format, ImageFormat::Parse(data_format));
    const std::optional<ChannelBlocks> view = ViewAsBlocks(p.layout, p.shape, format);
    if (!view) return Unimplemented("the layout ", p.layout->ToString(), " is not known here");
    p.view = *view;
  } else {
    if (data_format != "NDHWC" || p.layout != nullptr)
      return Unimplemented("of volumes only row-major ones with channels last");
    p.view = {p.shape.dim(0), 1, p.shape.dim(1) * p.shape.dim(2), p.shape.dim(3), p.shape.dim(4)};
  }
  if (p.view.block < kVec / 2) return Unimplemented("too few channels lie side by side");
  p.epsilon = request.attr<float>("epsilon");
  p.is_training = request.attr<bool>("is_training");
  const bool small = p.shape.num_elements() < 32768;
  p.parts = small ? 1 : std::min<int64_t>(p.view.batch, std::max(1, request.options.threads));
  return p;
}

// Reads whether a residual is there, the last of the op's inputs.
bool HasResidual(const KernelRequest& request) { return request.attr<int64_t>("N") == 1; }

template <bool relu>
KernelResult MakeForward(const KernelRequest& request) {
  CARILLON_ASSIGN_OR_RETURN(BatchNormProblem p, MakeProblem(request, 0));
  p.relu = relu;
  p.residual = relu && HasResidual(request);
  return std::make_unique<BatchNormForwardKernel>(
      std::move(p), request.attr<float>("exponential_avg_factor"),
      static_cast<int>(request.inputs.size()), static_cast<int>(request.outputs.size()));
}

KernelResult MakeBackward(const KernelRequest& request) {
  CARILLON_ASSIGN_OR_RETURN(BatchNormProblem p, MakeProblem(request, 1));
  return std::make_unique<BatchNormBackwardKernel>(std::move(p), GradInputs{2, 3, 4},
                                                   static_cast<int>(request.inputs.size()),
                                                   static_cast<int>(request.outputs.size()));
}

KernelResult MakeReluBackward(const KernelRequest& request) {
  CARILLON_ASSIGN_OR_RETURN(BatchNormProblem p, MakeProblem(request, 1));
  p.relu = true;
  p.residual = HasResidual(request);
  const GradInputs inputs{2, 4, 5, 3, p.residual ? 6 : -1};
  return std::make_unique<BatchNormBackwardKernel>(std::move(p), inputs,
                                                   static_cast<int>(request.inputs.size()),
                                                   static_cast<int>(request.outputs.size()));
}

}  // namespace

void AddBatchNormCpuKernels(KernelTable& table) {
  table.Add({
      {"FusedBatchNorm", "cpu", MakeForward<false>},
      {"FusedBatchNormV2", "cpu", MakeForward<false>},
      {"FusedBatchNormV3", "cpu", MakeForward<false>},
      {"_FusedBatchNormRelu", "cpu", MakeForward<true>},
      {"FusedBatchNormGrad", "cpu", MakeBackward},
      {"FusedBatchNormGradV2", "cpu", MakeBackward},
      {"FusedBatchNormGradV3", "cpu", MakeBackward},
      {"_FusedBatchNormReluGrad", "cpu", MakeReluBackward},
  });
}

}  // namespace carillon
