// Arithmetic of two operands.
#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/ref/elementwise.h"
#include "kernels/ref/math.h"

namespace carillon {
namespace {

struct Add {
  template <typename T>
  static T Apply(const T& a, const T& b) {
    return WrapAdd(a, b);
  }
};
struct Sub {
  template <typename T>
  static T Apply(T a, T b) {
    return WrapSub(a, b);
  }
};
struct Mul {
  template <typename T>
  static T Apply(T a, T b) {
    return WrapMul(a, b);
  }
};
struct MulNoNan {
  template <typename T>
  static T Apply(T a, T b) {
    return b == T(0) ? T(0) : a * b;
  }
};
struct DivNoNan {
  template <typename T>
  static T Apply(T a, T b) {
    return b == T(0) ? T(0) : a / b;
  }
};

// Integer division: zero has no result, and the one quotient that does not fit, of the least
// integer and -1, wraps around where the processor would trap.
struct IntegerDivision {
  static constexpr std::string_view kFailure = "Integer division by zero";
  template <typename T>
  static bool IsValid(T, T b) {
    return !std::is_integral_v<T> || b != T(0);
  }
  template <typename T>
  static T Quotient(T a, T b) {
    if (b == T(0)) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return WrapSub(T(0), a);
    }
    return static_cast<T>(a / b);
  }
  template <typename T>
  static T Remainder(T a, T b) {
    if (b == T(0)) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return 0;
    }
    return static_cast<T>(a % b);
  }
};
struct Div : IntegerDivision {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return Quotient(a, b);
    } else {
      return a / b;
    }
  }
};
struct TruncateDiv : IntegerDivision {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return Quotient(a, b);
    } else {
      return std::trunc(a / b);
    }
  }
};
struct FloorDiv : IntegerDivision {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      const T quotient = Quotient(a, b);
      return (a < T(0)) != (b < T(0)) && Remainder(a, b) != T(0) ? WrapSub(quotient, T(1))
                                                                 : quotient;
    } else {
      return std::floor(a / b);
    }
  }
};
struct TruncateMod : IntegerDivision {
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return Remainder(a, b);
    } else {
      return std::fmod(a, b);
    }
  }
};
struct FloorMod : IntegerDivision {
  template <typename T>
  static T Apply(T a, T b) {
    const T remainder = TruncateMod::Apply(a, b);
    return remainder != T(0) && (remainder < T(0)) != (b < T(0)) ? WrapAdd(remainder, b)
                                                                 : remainder;
  }
};

struct Pow {
  static constexpr std::string_view kFailure =
      "Integers to negative integer powers are not allowed";
  template <typename T>
  static bool IsValid(T, T b) {
    return !std::is_integral_v<T> || b >= T(0);
  }
  template <typename T>
  static T Apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      T result = 1;
      for (; b > 0; b = static_cast<T>(b >> 1)) {
        if ((b & 1) != 0) result = WrapMul(result, a);
        a = WrapMul(a, a);
      }
      return result;
    } else {
      return std::pow(a, b);
    }
  }
};

struct Maximum {
  template <typename T>
  static T Apply(T a, T b) {
    return MaxOf(a, b);
  }
};
struct Minimum {
  template <typename T>
  static T Apply(T a, T b) {
    return MinOf(a, b);
  }
};
struct SquaredDifference {
  template <typename T>
  static T Apply(T a, T b) {
    const T difference = WrapSub(a, b);
    return WrapMul(difference, difference);
  }
};
struct Atan2 {
  template <typename T>
  static T Apply(T y, T x) {
    return std::atan2(y, x);
  }
};
struct Xdivy {
  template <typename T>
  static T Apply(T x, T y) {
    return x == T(0) ? T(0) : x / y;
  }
};
struct Xlogy {
  template <typename T>
  static T Apply(T x, T y) {
    return x == T(0) ? T(0) : x * std::log(y);
  }
};
struct Xlog1py {
  template <typename T>
  static T Apply(T x, T y) {
    return x == T(0) ? T(0) : x * std::log1p(y);
  }
};

// Shifts by a negative or too large number count as the nearest possible one.
template <typename T>
int ShiftWidth(T wanted) {
  constexpr T kMost = sizeof(T) * 8 - 1;
  return static_cast<int>(wanted < T(0) ? T(0) : std::min(wanted, kMost));
}
struct LeftShift {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(static_cast<internal::Unsigned<T>>(a) << ShiftWidth(b));
  }
};
struct RightShift {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a >> ShiftWidth(b));
  }
};
struct BitwiseAnd {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOr {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXor {
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

// Gradients of functions in terms of their result y. Where the gradient dy is zero so is the
// product, even if the function is infinitely steep there.
struct SqrtGrad {
  template <typename T>
  static T Apply(T y, T dy) {
    return dy == T(0) ? T(0) : T(0.5) * dy / y;
  }
};
struct RsqrtGrad {
  template <typename T>
  static T Apply(T y, T dy) {
    return dy == T(0) ? T(0) : T(-0.5) * dy * y * (y * y);
  }
};
struct TanhGrad {
  template <typename T>
  static T Apply(T y, T dy) {
    return dy * (T(1) - y * y);
  }
};
struct SigmoidGrad {
  template <typename T>
  static T Apply(T y, T dy) {
    return dy * y * (T(1) - y);
  }
};
struct ReciprocalGrad {
  template <typename T>
  static T Apply(T y, T dy) {
    return dy == T(0) ? T(0) : -dy * (y * y);
  }
};

template <typename Op>
KernelResult FromGradient(const KernelRequest& request) {
  return MakeBinaryKernel(request, FindBinaryLoop<Op>(request.input_dtype(0), FloatingTypes{}),
                          {.broadcasts = false});
}

}  // namespace

BinaryLoop FindArithmeticLoop(Arithmetic op, DType dtype) {
  switch (op) {
    case Arithmetic::kAdd:
      return FindBinaryLoop<Add>(dtype, NumberTypes{});
    case Arithmetic::kMultiply:
      return FindBinaryLoop<Mul>(dtype, NumberTypes{});
    case Arithmetic::kMaximum:
      return FindBinaryLoop<Maximum>(dtype, NumberTypes{});
    case Arithmetic::kMinimum:
      return FindBinaryLoop<Minimum>(dtype, NumberTypes{});
  }
  return nullptr;
}

void AddMathBinaryKernels(KernelTable& table) {
  using AddTypes = Types<float, double, int32_t, int64_t, Half, Bfloat16, uint8_t, int8_t, int16_t,
                         uint16_t, uint32_t, uint64_t, std::string>;
  using ModTypes = Types<float, double, int32_t, int64_t, Half, Bfloat16>;
  table.Add({
      {"Add", "ref", FromBinary<Add, AddTypes>},
      {"AddV2", "ref", FromBinary<Add, NumberTypes>},
      {"Sub", "ref", FromBinary<Sub, NumberTypes>},
      {"Mul", "ref", FromBinary<Mul, NumberTypes>},
      {"MulNoNan", "ref", FromBinary<MulNoNan, FloatingTypes>},
      {"Div", "ref", FromBinary<Div, NumberTypes>},
      {"RealDiv", "ref", FromBinary<Div, FloatingTypes>},
      {"DivNoNan", "ref", FromBinary<DivNoNan, FloatingTypes>},
      {"TruncateDiv", "ref", FromBinary<TruncateDiv, NumberTypes>},
      {"FloorDiv", "ref", FromBinary<FloorDiv, NumberTypes>},
      {"FloorMod", "ref", FromBinary<FloorMod, NumberTypes, kCostlyGrain>},
      {"Mod", "ref", FromBinary<TruncateMod, ModTypes, kCostlyGrain>},
      {"TruncateMod", "ref", FromBinary<TruncateMod, ModTypes, kCostlyGrain>},
      {"Pow", "ref", FromBinary<Pow, SignedTypes, kCostlyGrain>},
      {"Maximum", "ref", FromBinary<Maximum, NumberTypes>},
      {"Minimum", "ref", FromBinary<Minimum, NumberTypes>},
      {"SquaredDifference", "ref", FromBinary<SquaredDifference, ModTypes>},
      {"Atan2", "ref", FromBinary<Atan2, FloatingTypes, kCostlyGrain>},
      {"Xdivy", "ref", FromBinary<Xdivy, FloatingTypes>},
      {"Xlogy", "ref", FromBinary<Xlogy, FloatingTypes, kCostlyGrain>},
      {"Xlog1py", "ref", FromBinary<Xlog1py, FloatingTypes, kCostlyGrain>},
      {"LeftShift", "ref", FromBinary<LeftShift, IntegerTypes>},
      {"RightShift", "ref", FromBinary<RightShift, IntegerTypes>},
      {"BitwiseAnd", "ref", FromBinary<BitwiseAnd, IntegerTypes>},
      {"BitwiseOr", "ref", FromBinary<BitwiseOr, IntegerTypes>},
      {"BitwiseXor", "ref", FromBinary<BitwiseXor, IntegerTypes>},
      {"SqrtGrad", "ref", FromGradient<SqrtGrad>},
      {"RsqrtGrad", "ref", FromGradient<RsqrtGrad>},
      {"TanhGrad", "ref", FromGradient<TanhGrad>},
      {"SigmoidGrad", "ref", FromGradient<SigmoidGrad>},
      {"ReciprocalGrad", "ref", FromGradient<ReciprocalGrad>},
      {"InvGrad", "ref", FromGradient<ReciprocalGrad>},
  });
}

}  // namespace carillon
