// Functions of one operand.
#include <cmath>
#include <cstdint>

#include "kernels/ref/elementwise.h"
#include "kernels/ref/math.h"
#include "kernels/ref/special_functions.h"

namespace carillon {
namespace {

#define CARILLON_UNARY(Name, expression) \
  struct Name {                          \
    template <typename T>                \
    static auto Apply(T x) {             \
      return expression;                 \
    }                                    \
  }

CARILLON_UNARY(Neg, WrapSub(T(0), x));
CARILLON_UNARY(Square, WrapMul(x, x));
CARILLON_UNARY(Exp, std::exp(x));
CARILLON_UNARY(Expm1, std::expm1(x));
CARILLON_UNARY(Log, std::log(x));
CARILLON_UNARY(Log1p, std::log1p(x));
CARILLON_UNARY(Sqrt, std::sqrt(x));
CARILLON_UNARY(Rsqrt, T(1) / std::sqrt(x));
CARILLON_UNARY(Reciprocal, T(1) / x);
CARILLON_UNARY(Sin, std::sin(x));
CARILLON_UNARY(Cos, std::cos(x));
CARILLON_UNARY(Tan, std::tan(x));
CARILLON_UNARY(Asin, std::asin(x));
CARILLON_UNARY(Acos, std::acos(x));
CARILLON_UNARY(Atan, std::atan(x));
CARILLON_UNARY(Sinh, std::sinh(x));
CARILLON_UNARY(Cosh, std::cosh(x));
CARILLON_UNARY(Tanh, std::tanh(x));
CARILLON_UNARY(Asinh, std::asinh(x));
CARILLON_UNARY(Acosh, std::acosh(x));
CARILLON_UNARY(Atanh, std::atanh(x));
CARILLON_UNARY(Sigmoid, T(1) / (T(1) + std::exp(-x)));
CARILLON_UNARY(Erf, std::erf(x));
CARILLON_UNARY(Erfc, std::erfc(x));
CARILLON_UNARY(Erfinv, ErfInverse(x));
CARILLON_UNARY(Ndtri, NormalQuantile(x));
CARILLON_UNARY(Lgamma, LogGamma(x));
CARILLON_UNARY(DigammaOf, Digamma(x));
CARILLON_UNARY(Floor, std::floor(x));
CARILLON_UNARY(Ceil, std::ceil(x));
CARILLON_UNARY(Rint, std::rint(x));
CARILLON_UNARY(IsNan, x != x);
CARILLON_UNARY(IsInf, std::abs(x) == std::numeric_limits<T>::infinity());
CARILLON_UNARY(IsFinite, std::abs(x) <= std::numeric_limits<T>::max());
CARILLON_UNARY(LogicalNot, !x);
CARILLON_UNARY(Invert, static_cast<T>(~x));
#undef CARILLON_UNARY

struct Abs {
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x < T(0) ? WrapSub(T(0), x) : x;
    } else {
      return std::abs(x);
    }
  }
};
// NaN stays NaN, and both zeros give zero.
struct Sign {
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>((x > T(0)) - (x < T(0)));
    } else {
      return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x;
    }
  }
};
// Halves go to the even neighbour; integers are round already.
struct Round {
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return std::rint(x);
    }
  }
};

template <typename Op>
constexpr auto FromFloating = FromUnary<Op, FloatingTypes>;
template <typename Op>
constexpr auto FromCostly = FromUnary<Op, FloatingTypes, kCostlyGrain>;
template <typename Op>
constexpr auto FromPredicate = FromUnary<Op, FloatingTypes, kCheapGrain, bool>;

}  // namespace

void AddMathUnaryKernels(KernelTable& table) {
  table.Add({
      {"Neg", "ref", FromUnary<Neg, SignedTypes>},
      {"Abs", "ref", FromUnary<Abs, SignedTypes>},
      {"Sign", "ref", FromUnary<Sign, SignedTypes>},
      {"Round", "ref", FromUnary<Round, SignedTypes>},
      {"Square", "ref", FromUnary<Square, NumberTypes>},
      {"Sqrt", "ref", FromFloating<Sqrt>},
      {"Rsqrt", "ref", FromFloating<Rsqrt>},
      {"Reciprocal", "ref", FromFloating<Reciprocal>},
      {"Inv", "ref", FromFloating<Reciprocal>},
      {"Floor", "ref", FromFloating<Floor>},
      {"Ceil", "ref", FromFloating<Ceil>},
      {"Rint", "ref", FromFloating<Rint>},
      {"Exp", "ref", FromCostly<Exp>},
      {"Expm1", "ref", FromCostly<Expm1>},
      {"Log", "ref", FromCostly<Log>},
      {"Log1p", "ref", FromCostly<Log1p>},
      {"Sin", "ref", FromCostly<Sin>},
      {"Cos", "ref", FromCostly<Cos>},
      {"Tan", "ref", FromCostly<Tan>},
      {"Asin", "ref", FromCostly<Asin>},
      {"Acos", "ref", FromCostly<Acos>},
      {"Atan", "ref", FromCostly<Atan>},
      {"Sinh", "ref", FromCostly<Sinh>},
      {"Cosh", "ref", FromCostly<Cosh>},
      {"Tanh", "ref", FromCostly<Tanh>},
      {"Asinh", "ref", FromCostly<Asinh>},
      {"Acosh", "ref", FromCostly<Acosh>},
      {"Atanh", "ref", FromCostly<Atanh>},
      {"Sigmoid", "ref", FromCostly<Sigmoid>},
      {"Erf", "ref", FromCostly<Erf>},
      {"Erfc", "ref", FromCostly<Erfc>},
      {"Erfinv", "ref", FromCostly<Erfinv>},
      {"Ndtri", "ref", FromCostly<Ndtri>},
      {"Lgamma", "ref", FromCostly<Lgamma>},
      {"Digamma", "ref", FromCostly<DigammaOf>},
      {"IsNan", "ref", FromPredicate<IsNan>},
      {"IsInf", "ref", FromPredicate<IsInf>},
      {"IsFinite", "ref", FromPredicate<IsFinite>},
      {"LogicalNot", "ref", FromUnary<LogicalNot, Types<bool>>},
      {"Invert", "ref", FromUnary<Invert, IntegerTypes>},
  });
}

}  // namespace carillon
