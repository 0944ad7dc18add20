// ParameterizedTruncatedNormal: normal numbers between two bounds, by rejection from the proposal
// that fits the bounds best (Robert: "Simulation of truncated normal variables", 1995).
// TensorFlow's choices and order of operations, so that the numbers are the same; where it cuts the
// work into pieces by its number of threads, we give what it gives in one piece.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/ref/array_kernels.h"
#include "kernels/ref/random_fill.h"
#include "kernels/ref/random_kernels.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Half with arithmetic that rounds after each operation, as a half-precision computation does.
struct RoundedHalf {
  Half value;
  RoundedHalf() = default;
  RoundedHalf(float x) : value(x) {}  // NOLINT: converts like a number
  operator float() const { return value; }
};
RoundedHalf operator+(RoundedHalf a, RoundedHalf b) { return float{a} + float{b}; }
RoundedHalf operator-(RoundedHalf a, RoundedHalf b) { return float{a} - float{b}; }
RoundedHalf operator*(RoundedHalf a, RoundedHalf b) { return float{a} * float{b}; }
RoundedHalf operator/(RoundedHalf a, RoundedHalf b) { return float{a} / float{b}; }
RoundedHalf operator-(RoundedHalf a) { return -float{a}; }

template <typename N>
N Exp(N x) {
  if constexpr (std::is_same_v<N, RoundedHalf>)
    return std::exp(float{x});
  else
    return std::exp(x);
}
template <typename N>
N Log(N x) {
  if constexpr (std::is_same_v<N, RoundedHalf>)
    return std::log(float{x});
  else
    return std::log(x);
}
template <typename N>
N Sqrt(N x) {
  if constexpr (std::is_same_v<N, RoundedHalf>)
    return std::sqrt(float{x});
  else
    return std::sqrt(x);
}

// The numbers of one block: four, or two doubles.
template <typename N>
struct Numbers {
  static constexpr int kCount = std::is_same_v<N, double> ? 2 : 4;
  std::array<N, kCount> values;

  static Numbers Uniform(Philox& philox) {
    const Philox::Block block = philox.Next();
    Numbers out;
    for (size_t i = 0; i < kCount; ++i) {
      if constexpr (std::is_same_v<N, double>) {
        out.values[i] = UniformDouble(block[2 * i], block[2 * i + 1]);
      } else if constexpr (std::is_same_v<N, RoundedHalf>) {
        out.values[i] = static_cast<float>(block[i] & 0x3ffu) * 0x1p-10f;
      } else {
        out.values[i] = UniformFloat(block[i]);
      }
    }
    return out;
  }

  static Numbers Normal(Philox& philox) {
    const Philox::Block block = philox.Next();
    if constexpr (std::is_same_v<N, double>) {
      return {NormalDoubles(block[0], block[1], block[2], block[3])};
    } else {
      const auto [a, b] = NormalFloats(block[0], block[1]);
      const auto [c, d] = NormalFloats(block[2], block[3]);
      return {{N(a), N(b), N(c), N(d)}};
    }
  }
};

constexpr int kMostRejections = 1000;

// Draws numbers of one normal distribution between two bounds.
template <typename N>
class Sampler {
 public:
  // A one-sided bound becomes the lower one, and bounds below the mean are mirrored above it.
  Sampler(N mean, N deviation, N lower, N upper) : mean_(mean), deviation_(deviation) {
    if ((std::isinf(static_cast<double>(lower)) && lower < N(0)) || upper < mean) {
      std::swap(lower, upper);
      deviation_ = -deviation_;
    }
    low_ = (lower - mean_) / deviation_;
    high_ = (upper - mean_) / deviation_;
  }

  // Fills [out, end) and moves `philox` on. False when too many numbers in a row were rejected.
  bool Fill(N* out, N* end, Philox& philox) {
    const N root = Sqrt(low_ * low_ + N(4));
    const N widest_for_uniform = N(2) * Exp(N(0.5) + (low_ * (low_ - root)) / N(4)) / (low_ + root);
    const N inside = N(1.3);  // deviations on one side of the mean that make plain sampling pay
    if ((low_ < -inside && high_ >= N(0)) || (high_ > inside && low_ <= N(0))) {
      return FromNormal(out, end, philox);
    }
    if (high_ - low_ < widest_for_uniform) return FromUniform(out, end, philox);
    return FromExponential(out, end, philox);
  }

 private:
  N Scale(N z) const { return z * deviation_ + mean_; }

  bool FromNormal(N* out, N* end, Philox& philox) {
    int rejected = 0;
    while (out != end) {
      for (const N z : Numbers<N>::Normal(philox).values) {
        if (z >= low_ && z <= high_) {
          *out++ = Scale(z);
          if (out == end) break;
          rejected = 0;
        } else if (++rejected > kMostRejections) {
          return false;
        }
      }
    }
    return true;
  }

  bool FromUniform(N* out, N* end, Philox& philox) {
    const N width = high_ - low_;
    const N peak = low_ < N(0) ? N(0) : low_ * low_;
    int rejected = 0;
    while (out != end) {
      const auto places = Numbers<N>::Uniform(philox).values;
      const auto chances = Numbers<N>::Uniform(philox).values;
      for (size_t i = 0; i < places.size(); ++i) {
        const N z = places[i] * width + low_;
        if (chances[i] <= Exp((peak - z * z) / N(2))) {
          *out++ = Scale(z);
          if (out == end) break;
          rejected = 0;
        } else if (++rejected >= kMostRejections) {
          return false;
        }
      }
    }
    return true;
  }

  bool FromExponential(N* out, N* end, Philox& philox) {
    const N alpha = (low_ + Sqrt(low_ * low_ + N(4))) / N(2);
    int rejected = 0;
    while (out != end) {
      const auto numbers = Numbers<N>::Uniform(philox).values;
      for (size_t i = 0; i < numbers.size(); i += 2) {
        const N z = -Log(numbers[i]) / alpha + low_;
        const N x = low_ < alpha ? alpha - z : low_ - alpha;
        if (numbers[i + 1] <= Exp(-x * x / N(2)) && z < high_) {
          *out++ = Scale(z);
          if (out == end) break;
          rejected = 0;
        } else if (++rejected >= kMostRejections) {
          return false;
        }
      }
    }
    return true;
  }

  N mean_, deviation_, low_, high_;
};

constexpr const char* kParameters[] = {"means", "stdevs", "minvals", "maxvals"};

class ParameterizedTruncatedNormalKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    if (request.output_dtype(0) == DType::kBfloat16) return Unimplemented("bfloat16");
    CARILLON_ASSIGN_OR_RETURN(auto generator, SessionGenerator(request));
    return std::make_unique<ParameterizedTruncatedNormalKernel>(std::move(generator));
  }
  explicit ParameterizedTruncatedNormalKernel(std::shared_ptr<GeneratorState> generator)
      : generator_(std::move(generator)) {}

  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(0), "shape"));
    if (shape.rank() == 0) return InvalidArgument("shape must not be empty");
    CARILLON_ASSIGN_OR_RETURN(const bool same, CheckParameters(context, shape.dim(0)));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    // Batches of equal parameters are cut anew, into a hundred samples each.
    const int64_t n = out->num_elements();
    const int64_t samples = same ? 100 : n / shape.dim(0);
    const int64_t batches = (n + samples - 1) / samples;
    Philox philox = generator_->Reserve(
        static_cast<uint64_t>(batches * 2 * kMostRejections * (samples + 3) / 4));
    Status status;
    DispatchAmong<float, double, Half>(out->dtype(), [&]<typename T>() {
      status = Fill<T>(context, batches, samples, philox, *out);
    });
    return status;
  }

 private:
  // Each parameter is one value for all batches, or one for each. True when no parameter is a
  // vector of several, as TensorFlow decides that.
  static StatusOr<bool> CheckParameters(const KernelContext& context, int64_t batches) {
    bool same = true;
    for (int i = 0; i < 4; ++i) {
      const Shape& shape = context.input(i + 1).shape();
      if (shape.rank() > 1) {
        return InvalidArgument("Input ", kParameters[i],
                               " should be a scalar or vector, got shape ", shape.ToString());
      }
      same = same && (shape.rank() == 0 || (i < 2 && shape.dim(0) == 1));
    }
    for (int i = 0; i < 4 && !same; ++i) {
      const Shape& shape = context.input(i + 1).shape();
      if (shape.rank() == 1 && shape.dim(0) != 1 && shape.dim(0) != batches) {
        return InvalidArgument("Input ", kParameters[i], " should have length 1 or ", batches,
                               " (the first dimension of the output), got shape ",
                               shape.ToString());
      }
    }
    return same;
  }

  template <typename T>
  static Status Fill(const KernelContext& context, int64_t batches, int64_t samples, Philox philox,
                     Tensor& out) {
    using N = std::conditional_t<std::is_same_v<T, Half>, RoundedHalf, T>;
    static_assert(sizeof(N) == sizeof(T));
    N* const values = reinterpret_cast<N*>(out.mutable_data<T>());
    for (int64_t batch = 0; batch < batches; ++batch) {
      CARILLON_RETURN_IF_ERROR(CheckWanted());
      const auto parameter = [&](int i) {
        const Tensor& input = context.input(i + 1);
        return N(input.data<T>()[input.num_elements() == 1 ? 0 : batch]);
      };
      const N mean = parameter(0), deviation = parameter(1), lower = parameter(2),
              upper = parameter(3);
      if (!(deviation > N(0) && lower < upper) ||
          (std::isinf(static_cast<double>(lower)) && std::isinf(static_cast<double>(upper)))) {
        return InvalidArgument(
            "the deviation must be positive, minval less than maxval and one of them finite, but "
            "batch ",
            batch, " has deviation ", static_cast<double>(deviation), ", minval ",
            static_cast<double>(lower), ", maxval ", static_cast<double>(upper));
      }
      N* const begin = values + batch * samples;
      N* const end = values + std::min((batch + 1) * samples, out.num_elements());
      if (!Sampler<N>(mean, deviation, lower, upper).Fill(begin, end, philox)) {
        return Internal("no sample was accepted in ", kMostRejections,
                        " tries: the bounds are too far from the mean");
      }
    }
    return absl::OkStatus();
  }

  const std::shared_ptr<GeneratorState> generator_;
};

}  // namespace

void AddTruncatedNormalKernels(KernelTable& table) {
  table.Add({
      {"ParameterizedTruncatedNormal", "ref", FromClass<ParameterizedTruncatedNormalKernel>},
  });
}

}  // namespace carillon
