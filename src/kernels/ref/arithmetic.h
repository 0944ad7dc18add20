// Arithmetic on elements: in which type to compute, and integers that wrap around.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "carillon/dtype.h"

namespace carillon {

template <typename T>
inline constexpr bool kIsFloating =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;
template <typename T>
inline constexpr bool kIsSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;

// The type to compute in: 16-bit floats are for storage only.
template <typename T>
using Compute = std::conditional_t<kIsSmallFloat<T>, float, T>;

// Lists of element types, for tables of kernels.
template <typename... Ts>
struct Types {};
using FloatingTypes = Types<float, double, Half, Bfloat16>;
using IntegerTypes =
    Types<int32_t, int64_t, uint8_t, int8_t, int16_t, uint16_t, uint32_t, uint64_t>;
using SignedTypes = Types<float, double, int32_t, int64_t, Half, Bfloat16, int8_t, int16_t>;
using NumberTypes = Types<float, double, int32_t, int64_t, Half, Bfloat16, uint8_t, int8_t, int16_t,
                          uint16_t, uint32_t, uint64_t>;

namespace internal {
// Wide enough not to be promoted to a signed type.
template <typename T>
using Unsigned = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
}  // namespace internal

// Integer results wrap around, as in TensorFlow; in C++ only unsigned ones may.
template <typename T>
T WrapAdd(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = internal::Unsigned<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T WrapSub(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = internal::Unsigned<T>;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  } else {
    return a - b;
  }
}
template <typename T>
T WrapMul(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = internal::Unsigned<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else {
    return a * b;
  }
}

// NaN when either is, unlike std::max.
template <typename T>
T MaxOf(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a > b || a != a ? a : b;
  } else {
    return a > b ? a : b;
  }
}
template <typename T>
T MinOf(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || a != a ? a : b;
  } else {
    return a < b ? a : b;
  }
}

// Element types that are rare: their loops are kept small rather than fast.
template <typename T>
inline constexpr bool kIsRare =
    !(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> ||
      std::is_same_v<T, int64_t> || std::is_same_v<T, bool> || std::is_same_v<T, uint8_t>);

}  // namespace carillon
