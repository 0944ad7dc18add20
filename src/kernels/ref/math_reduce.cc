// Reductions: Sum, Mean, Prod, Max, Min, EuclideanNorm, All, Any.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/ref/arithmetic.h"
#include "kernels/ref/math.h"
#include "kernels/ref/reduce.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// A reduction of elements T: Step takes elements into a Partial, of which some hundreds at most
// become one; Merge takes these into the Accumulator. That keeps long float sums exact, while the
// inner loop computes in the element's own width.
template <typename T>
struct SumOf {
  using Accumulator =
      std::conditional_t<kIsFloating<T>, double,
                         std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  using Partial = std::conditional_t<kIsFloating<T>, Compute<T>, Accumulator>;
  static constexpr Partial kNothing = 0;
  static Partial Step(Partial sum, Compute<T> x) { return WrapAdd<Partial>(sum, x); }
  static Accumulator Merge(Accumulator sum, Partial part) {
    return WrapAdd<Accumulator>(sum, part);
  }
  static T Finish(Accumulator sum, int64_t) { return static_cast<T>(sum); }
};
template <typename T>
struct MeanOf : SumOf<T> {
  using Accumulator = typename SumOf<T>::Accumulator;
  static T Finish(Accumulator sum, int64_t count) {
    if constexpr (std::is_integral_v<T>) {
      return count == 0 ? T(0) : static_cast<T>(sum / static_cast<Accumulator>(count));
    } else {
      return static_cast<T>(sum / static_cast<double>(count));
    }
  }
};
// Integer squares wrap around in the element's type before the root is taken, as in TensorFlow.
template <typename T>
struct NormOf : SumOf<T> {
  using Partial = typename SumOf<T>::Partial;
  using Accumulator = typename SumOf<T>::Accumulator;
  static Partial Step(Partial sum, Compute<T> x) {
    return WrapAdd<Partial>(sum, WrapMul<Partial>(x, x));
  }
  static T Finish(Accumulator sum, int64_t) {
    if constexpr (std::is_integral_v<T>) {
      const T wrapped = static_cast<T>(sum);
      return wrapped < T(0) ? T(0) : static_cast<T>(std::sqrt(static_cast<double>(wrapped)));
    } else {
      return static_cast<T>(std::sqrt(sum));
    }
  }
};
template <typename T>
struct SameThroughout {
  using Accumulator = Compute<T>;
  using Partial = Compute<T>;
  static T Finish(Accumulator result, int64_t) { return static_cast<T>(result); }
};
template <typename T>
struct ProdOf : SameThroughout<T> {
  using C = Compute<T>;
  static constexpr C kNothing = 1;
  static C Step(C product, C x) { return WrapMul(product, x); }
  static C Merge(C product, C part) { return WrapMul(product, part); }
};
template <typename T>
struct MaxOfAll : SameThroughout<T> {
  using C = Compute<T>;
  static constexpr C kNothing = std::numeric_limits<C>::has_infinity
                                    ? -std::numeric_limits<C>::infinity()
                                    : std::numeric_limits<C>::lowest();
  static C Step(C most, C x) { return MaxOf(x, most); }
  static C Merge(C most, C part) { return MaxOf(part, most); }
};
template <typename T>
struct MinOfAll : SameThroughout<T> {
  using C = Compute<T>;
  static constexpr C kNothing = std::numeric_limits<C>::has_infinity
                                    ? std::numeric_limits<C>::infinity()
                                    : std::numeric_limits<C>::max();
  static C Step(C least, C x) { return MinOf(x, least); }
  static C Merge(C least, C part) { return MinOf(part, least); }
};
template <typename T>
struct AllOf : SameThroughout<T> {
  static constexpr bool kNothing = true;
  static bool Step(bool all, bool x) { return all & x; }
  static bool Merge(bool all, bool part) { return all & part; }
};
template <typename T>
struct AnyOf : SameThroughout<T> {
  static constexpr bool kNothing = false;
  static bool Step(bool any, bool x) { return any | x; }
  static bool Merge(bool any, bool part) { return any | part; }
};

constexpr int64_t kPartialSteps = 64;  // elements that one Partial takes in

// Accumulators differ in type from partial results only where both are sums.
template <typename Op>
typename Op::Accumulator MergeAccumulators(typename Op::Accumulator a, typename Op::Accumulator b) {
  if constexpr (std::is_same_v<typename Op::Accumulator, typename Op::Partial>) {
    return Op::Merge(a, b);
  } else {
    return WrapAdd(a, b);
  }
}

// A row is taken in by many partial results at once, which the compiler turns into vectors.
template <typename Op, typename T>
typename Op::Accumulator ReduceRow(const T* in, int64_t n, typename Op::Accumulator result) {
  using Partial = typename Op::Partial;
  constexpr int64_t kLanes = kIsRare<T> ? 1 : 32;
  if constexpr (std::is_integral_v<Partial>) {
    // One after the other: gcc 12 makes wrong code of two integers that take turns.
    if (n < kLanes) {
      Partial partial = Op::kNothing;
      for (int64_t i = 0; i < n; ++i) partial = Op::Step(partial, in[i]);
      return Op::Merge(result, partial);
    }
  }
  if (n < kLanes) {
    Partial even = Op::kNothing, odd = Op::kNothing;
    int64_t i = 0;
    for (; i + 1 < n; i += 2) {
      even = Op::Step(even, in[i]);
      odd = Op::Step(odd, in[i + 1]);
    }
    if (i < n) even = Op::Step(even, in[i]);
    return Op::Merge(Op::Merge(result, even), odd);
  }
  typename Op::Accumulator totals[kLanes];
  std::fill_n(totals, kLanes, typename Op::Accumulator(Op::kNothing));
  while (n > 0) {
    const int64_t block = std::min(n, kLanes * kPartialSteps);
    Partial lanes[kLanes];
    std::fill_n(lanes, kLanes, Op::kNothing);
    int64_t i = 0;
    for (; i + kLanes <= block; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] = Op::Step(lanes[lane], in[i + lane]);
    }
    for (int64_t lane = 0; i < block; ++i, ++lane) lanes[lane] = Op::Step(lanes[lane], in[i]);
    for (int64_t lane = 0; lane < kLanes; ++lane)
      totals[lane] = Op::Merge(totals[lane], lanes[lane]);
    in += block;
    n -= block;
  }
  for (const auto total : totals) result = MergeAccumulators<Op>(result, total);
  return result;
}

template <typename Op, typename T>
struct Loops {
  using Partial = typename Op::Partial;
  using Accumulator = typename Op::Accumulator;
  static_assert(sizeof(Accumulator) <= kMaxAccumulatorBytes);

  static void Start(void* accumulators, int64_t n) {
    std::fill_n(static_cast<Accumulator*>(accumulators), n, Accumulator(Op::kNothing));
  }
  static void Rows(const void* in_data, int64_t stride, int64_t length, void* accumulators,
                   int64_t n) {
    const T* in = static_cast<const T*>(in_data);
    Accumulator* out = static_cast<Accumulator*>(accumulators);
    for (int64_t u = 0; u < n; ++u) out[u] = ReduceRow<Op>(in + u * stride, length, out[u]);
  }
  static void Columns(const void* in_data, int64_t stride, int64_t length, void* accumulators,
                      int64_t n) {
    const T* in = static_cast<const T*>(in_data);
    Accumulator* out = static_cast<Accumulator*>(accumulators);
    if constexpr (kIsRare<T>) {
      for (int64_t j = 0; j < n; ++j) {
        Partial partial = Op::kNothing;
        for (int64_t row = 0; row < length; ++row) {
          partial = Op::Step(partial, in[row * stride + j]);
          if (row % kPartialSteps == kPartialSteps - 1) {
            out[j] = Op::Merge(out[j], partial);
            partial = Op::kNothing;
          }
        }
        out[j] = Op::Merge(out[j], partial);
      }
      return;
    }
    Partial partial[kReduceBatch];
    for (int64_t begin = 0; begin < length; begin += kPartialSteps) {
      const int64_t end = std::min(length, begin + kPartialSteps);
      std::fill_n(partial, n, Op::kNothing);
      for (int64_t row = begin; row < end; ++row) {
        const T* from = in + row * stride;
        for (int64_t j = 0; j < n; ++j) partial[j] = Op::Step(partial[j], from[j]);
      }
      for (int64_t j = 0; j < n; ++j) out[j] = Op::Merge(out[j], partial[j]);
    }
  }
  static void Merge(const void* others, void* accumulators, int64_t n) {
    const Accumulator* from = static_cast<const Accumulator*>(others);
    Accumulator* to = static_cast<Accumulator*>(accumulators);
    for (int64_t i = 0; i < n; ++i) to[i] = MergeAccumulators<Op>(to[i], from[i]);
  }
  static void Finish(const void* accumulators, int64_t count, void* out_data, int64_t n) {
    const Accumulator* from = static_cast<const Accumulator*>(accumulators);
    T* out = static_cast<T*>(out_data);
    for (int64_t i = 0; i < n; ++i) out[i] = Op::Finish(from[i], count);
  }
};

template <template <typename> typename Op, template <typename> typename Inner, typename T>
Reducer MakeReducer() {
  using Pieces = Loops<Inner<T>, T>;
  return {.in_size = sizeof(T),
          .accumulator_size = sizeof(typename Pieces::Accumulator),
          .out_size = sizeof(T),
          .start = Pieces::Start,
          .rows = Pieces::Rows,
          .columns = Pieces::Columns,
          .merge = Pieces::Merge,
          .finish = Loops<Op<T>, T>::Finish};
}

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const KernelRequest& request, const Reducer& reducer)
      : reducer_(reducer), keep_dims_(request.attr<bool>("keep_dims")) {}

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const ReducePlan plan,
                              MakeReducePlan(in.shape(), context.input(1), keep_dims_));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, plan.output));
    return Reduce(plan, reducer_, in.raw_data(), out->mutable_raw_data(), context);
  }

 private:
  const Reducer reducer_;
  const bool keep_dims_;
};

// `Inner` is Op where that takes in elements in its own way, else the Op that it shares that with.
template <template <typename> typename Op, template <typename> typename Inner = Op, typename... Ts>
KernelResult MakeAmong(const KernelRequest& request, Types<Ts...>) {
  Reducer reducer;
  const bool found = DispatchAmong<Ts...>(
      request.input_dtype(0), [&]<typename T>() { reducer = MakeReducer<Op, Inner, T>(); });
  if (!found) return Unimplemented("no reduction of ", DTypeName(request.input_dtype(0)));
  return std::make_unique<ReduceKernel>(request, reducer);
}
template <template <typename> typename Op, template <typename> typename Inner = Op>
KernelResult FromReduction(const KernelRequest& request) {
  return MakeAmong<Op, Inner>(request, NumberTypes{});
}
template <template <typename> typename Op>
KernelResult FromLogical(const KernelRequest& request) {
  return MakeAmong<Op>(request, Types<bool>{});
}

}  // namespace

void AddMathReduceKernels(KernelTable& table) {
  table.Add({
      {"Sum", "ref", FromReduction<SumOf>},
      {"Mean", "ref", FromReduction<MeanOf, SumOf>},
      {"Prod", "ref", FromReduction<ProdOf>},
      {"Max", "ref", FromReduction<MaxOfAll>},
      {"Min", "ref", FromReduction<MinOfAll>},
      {"EuclideanNorm", "ref", FromReduction<NormOf>},
      {"All", "ref", FromLogical<AllOf>},
      {"Any", "ref", FromLogical<AnyOf>},
  });
}

}  // namespace carillon
