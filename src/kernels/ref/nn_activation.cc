// Activations and their gradients, element by element; and L2Loss.
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "kernels/ref/nn.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

constexpr int64_t kGrain = 16384;
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

// Each activation is a struct with Forward(x) and Backward(gradient, y), where y is what its
// gradient op takes: the features or the outputs. NaN goes through.
struct ReluFunction {
  template <typename A>
  static A Forward(A x) {
    return x < A{0} ? A{0} : x;
  }
  // A product, not a choice: a gradient of inf or NaN shows even where the feature is not positive.
  template <typename A>
  static A Backward(A gradient, A y) {
    return static_cast<A>(gradient * static_cast<A>(y > A{0}));
  }
};

struct Relu6Function {
  template <typename A>
  static A Forward(A x) {
    return x < A{0} ? A{0} : x > A{6} ? A{6} : x;
  }
  template <typename A>
  static A Backward(A gradient, A y) {
    return static_cast<A>(gradient * static_cast<A>(y > A{0} && y < A{6}));
  }
};

struct EluFunction {
  template <typename A>
  static A Forward(A x) {
    return x < A{0} ? std::expm1(x) : x;
  }
  template <typename A>
  static A Backward(A gradient, A y) {
    return y < A{0} ? gradient * (y + A{1}) : gradient;
  }
};

struct SeluFunction {
  template <typename A>
  static A Forward(A x) {
    return x < A{0} ? static_cast<A>(kSeluScaleAlpha) * std::expm1(x)
                    : static_cast<A>(kSeluScale) * x;
  }
  template <typename A>
  static A Backward(A gradient, A y) {
    return y < A{0} ? gradient * (y + static_cast<A>(kSeluScaleAlpha))
                    : gradient * static_cast<A>(kSeluScale);
  }
};

// log(exp(x) + 1); far from zero it is x or exp(x) to the last digit.
struct SoftplusFunction {
  template <typename A>
  static A Forward(A x) {
    const A threshold = std::log(std::numeric_limits<A>::epsilon()) + A{2};
    if (x > -threshold) return x;
    return x < threshold ? std::exp(x) : std::log1p(std::exp(x));
  }
  template <typename A>
  static A Backward(A gradient, A y) {
    return gradient / (std::exp(-y) + A{1});
  }
};

struct SoftsignFunction {
  template <typename A>
  static A Forward(A x) {
    return x / (std::abs(x) + A{1});
  }
  template <typename A>
  static A Backward(A gradient, A y) {
    const A d = std::abs(y) + A{1};
    return gradient / (d * d);
  }
};

template <typename T, typename Function>
void Map(const Tensor& x, Tensor* y, const Function& function) {
  using A = Accumulator<T>;
  const T* from = x.data<T>();
  T* to = y->mutable_data<T>();
  ParallelFor(x.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(function(static_cast<A>(from[i])));
  });
}

template <typename T, typename Function>
void Map2(const Tensor& x, const Tensor& y, Tensor* z, const Function& function) {
  using A = Accumulator<T>;
  const T* from = x.data<T>();
  const T* other = y.data<T>();
  T* to = z->mutable_data<T>();
  ParallelFor(x.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      to[i] = static_cast<T>(function(static_cast<A>(from[i]), static_cast<A>(other[i])));
  });
}

Status CheckSameShape(const Tensor& a, const Tensor& b) {
  if (a.shape() == b.shape()) return absl::OkStatus();
  return InvalidArgument("gradients and features must have the same shape but have ",
                         a.shape().ToString(), " and ", b.shape().ToString());
}

// `integers` says whether the op takes integers too.
template <typename F, bool integers>
Status RunForward(KernelContext& context) {
  const Tensor& x = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(Tensor * y, context.ReuseOrAllocateOutput(0, {0}, x.shape()));
  const auto body = [&]<typename T>() {
    Map<T>(x, y, [](Accumulator<T> value) { return F::Forward(value); });
  };
  if (DispatchFloating(x.dtype(), body)) return absl::OkStatus();
  if constexpr (integers) {
    if (DispatchInteger(x.dtype(), body)) return absl::OkStatus();
  }
  return NoSuchType(context.node(), x.dtype());
}

template <typename F, bool integers>
Status RunBackward(KernelContext& context) {
  const Tensor& gradients = context.input(0);
  const Tensor& y = context.input(1);
  CARILLON_RETURN_IF_ERROR(CheckSameShape(gradients, y));
  CARILLON_ASSIGN_OR_RETURN(Tensor * result,
                            context.ReuseOrAllocateOutput(0, {0, 1}, gradients.shape()));
  const auto body = [&]<typename T>() {
    using A = Accumulator<T>;
    Map2<T>(gradients, y, result, [](A gradient, A value) { return F::Backward(gradient, value); });
  };
  if (DispatchFloating(y.dtype(), body)) return absl::OkStatus();
  if constexpr (integers) {
    if (DispatchInteger(y.dtype(), body)) return absl::OkStatus();
  }
  return NoSuchType(context.node(), y.dtype());
}

class LeakyReluKernel final : public Kernel {
 public:
  explicit LeakyReluKernel(const KernelRequest& request) : alpha_(request.attr<float>("alpha")) {
    traits_.reuses.push_back({0, 0});
  }
  Status Run(KernelContext& context) override {
    const Tensor& x = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * y, context.ReuseOrAllocateOutput(0, {0}, x.shape()));
    if (!DispatchFloating(x.dtype(), [&]<typename T>() {
          using A = Accumulator<T>;
          const A alpha = static_cast<A>(alpha_);
          Map<T>(x, y, [alpha](A value) { return value > A{0} ? value : value * alpha; });
        })) {
      return NoSuchType(context.node(), x.dtype());
    }
    return absl::OkStatus();
  }

 private:
  const float alpha_;
};

class LeakyReluGradKernel final : public Kernel {
 public:
  explicit LeakyReluGradKernel(const KernelRequest& request)
      : alpha_(request.attr<float>("alpha")) {
    traits_.reuses = {{0, 0}, {1, 0}};
  }
  Status Run(KernelContext& context) override {
    const Tensor& gradients = context.input(0);
    const Tensor& features = context.input(1);
    CARILLON_RETURN_IF_ERROR(CheckSameShape(gradients, features));
    CARILLON_ASSIGN_OR_RETURN(Tensor * result,
                              context.ReuseOrAllocateOutput(0, {0, 1}, gradients.shape()));
    if (!DispatchFloating(features.dtype(), [&]<typename T>() {
          using A = Accumulator<T>;
          const A alpha = static_cast<A>(alpha_);
          Map2<T>(gradients, features, result, [alpha](A gradient, A feature) {
            return feature > A{0} ? gradient : gradient * alpha;
          });
        })) {
      return NoSuchType(context.node(), features.dtype());
    }
    return absl::OkStatus();
  }

 private:
  const float alpha_;
};

// Sums blocks of fixed size and then the blocks, so that the result does not depend on the number
// of threads.
Status RunL2Loss(KernelContext& context) {
  const Tensor& t = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, Shape{}));
  const int64_t blocks = (t.num_elements() + kGrain - 1) / kGrain;
  CARILLON_ASSIGN_OR_RETURN(Tensor partial,
                            context.AllocateTemporary(DType::kDouble, Shape{blocks}));
  double* sums = partial.mutable_data<double>();
  if (!DispatchFloating(t.dtype(), [&]<typename T>() {
        using A = Accumulator<T>;
        const T* values = t.data<T>();
        ParallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
          for (int64_t block = begin; block < end; ++block) {
            constexpr int kLanes = 16;
            A lanes[kLanes] = {};
            const int64_t from = block * kGrain;
            const int64_t to = std::min(from + kGrain, t.num_elements());
            int64_t i = from;
            for (; i + kLanes <= to; i += kLanes) {
              for (int k = 0; k < kLanes; ++k) {
                const A value = static_cast<A>(values[i + k]);
                lanes[k] += value * value;
              }
            }
            double sum = 0;
            for (A lane : lanes) sum += static_cast<double>(lane);
            for (; i < to; ++i) {
              const double value = static_cast<double>(static_cast<A>(values[i]));
              sum += value * value;
            }
            sums[block] = sum;
          }
        });
        double sum = 0;
        for (int64_t block = 0; block < blocks; ++block) sum += sums[block];
        output->mutable_data<T>()[0] = static_cast<T>(static_cast<A>(sum / 2));
      })) {
    return NoSuchType(context.node(), t.dtype());
  }
  return absl::OkStatus();
}

}  // namespace

void AddActivationReferenceKernels(KernelTable& table) {
  table.Add({
      {"Relu", "ref", FromElementwise<RunForward<ReluFunction, true>>},
      {"ReluGrad", "ref", FromElementwise<RunBackward<ReluFunction, true>>},
      {"Relu6", "ref", FromElementwise<RunForward<Relu6Function, true>>},
      {"Relu6Grad", "ref", FromElementwise<RunBackward<Relu6Function, true>>},
      {"LeakyRelu", "ref", FromClass<LeakyReluKernel>},
      {"LeakyReluGrad", "ref", FromClass<LeakyReluGradKernel>},
      {"Elu", "ref", FromElementwise<RunForward<EluFunction, false>>},
      {"EluGrad", "ref", FromElementwise<RunBackward<EluFunction, false>>},
      {"Selu", "ref", FromElementwise<RunForward<SeluFunction, false>>},
      {"SeluGrad", "ref", FromElementwise<RunBackward<SeluFunction, false>>},
      {"Softplus", "ref", FromElementwise<RunForward<SoftplusFunction, false>>},
      {"SoftplusGrad", "ref", FromElementwise<RunBackward<SoftplusFunction, false>>},
      {"Softsign", "ref", FromElementwise<RunForward<SoftsignFunction, false>>},
      {"SoftsignGrad", "ref", FromElementwise<RunBackward<SoftsignFunction, false>>},
      {"L2Loss", "ref", FromFunction<RunL2Loss>},
  });
}

}  // namespace carillon
