// Elementary functions of float without branches or calls, so that the compiler turns a loop around
// them into vector code. Within 2.5 units in the last place of the exact result; NaN, infinities
// and subnormal numbers come out as the C library gives them.
//
// The polynomials are minimax fits of our own over the stated range.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace carillon::simd {

// a * b + c, in one instruction where there is one.
inline float MulAdd(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// Coefficients from the highest power down.
template <typename... Rest>
inline float Polynomial(float x, float first, Rest... rest) {
  float sum = first;
  ((sum = MulAdd(sum, x, rest)), ...);
  return sum;
}

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
// ln 2 in two parts; the first has few bits, so that its small multiples are exact.
inline constexpr float kLn2High = 0.693359375f;
inline constexpr float kLn2Low = -2.12194440e-4f;

// e^x = 2^n e^r with |r| ≤ ln 2 / 2.
inline float Exp(float x) {
  x = x > 89.0f ? 89.0f : x;      // infinite from here on
  x = x < -104.0f ? -104.0f : x;  // zero
  // Adding 1.5 · 2^23 leaves x / ln 2, rounded, in the low bits.
  constexpr float kShift = 12582912.0f;
  const float shifted = MulAdd(x, 1.44269504f, kShift);
  const float n = shifted - kShift;
  const float r = MulAdd(n, -kLn2Low, MulAdd(n, -kLn2High, x));
  const float p =
      Polynomial(r, 1.38131424e-3f, 8.36941879e-3f, 4.16684560e-2f, 1.66665152e-1f, 4.99999940e-1f);
  const float y = MulAdd(r * r, p, r) + 1.0f;
  // 2^n in two factors: n may be beyond the exponents of normal numbers.
  const int32_t whole =
      static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kShift));
  const int32_t half = whole >> 1;
  const auto power = [](int32_t exponent) {
    return std::bit_cast<float>((static_cast<uint32_t>(exponent) + 127u) << 23);
  };
  return y * power(half) *
         power(static_cast<int32_t>(static_cast<uint32_t>(whole) - static_cast<uint32_t>(half)));
}

// log x = n ln 2 + log m with m in [√½, √2).
inline float Log(float x) {
  const bool is_tiny = x < std::numeric_limits<float>::min();
  const float scaled = is_tiny ? x * 8388608.0f : x;  // 2^23: subnormal numbers become normal
  constexpr uint32_t kSqrtHalf = 0x3f3504f3u;
  const uint32_t above = std::bit_cast<uint32_t>(scaled) - kSqrtHalf;
  const float n = static_cast<float>(static_cast<int32_t>(above) >> 23) - (is_tiny ? 23.0f : 0.0f);
  const float f = std::bit_cast<float>((above & 0x007fffffu) + kSqrtHalf) - 1.0f;
  const float p =
      Polynomial(f, 6.74660131e-2f, -1.16756409e-1f, 1.18881747e-1f, -1.24055915e-1f,
                 1.42195508e-1f, -1.66679963e-1f, 2.00021192e-1f, -2.50000089e-1f, 3.33333135e-1f);
  const float f2 = f * f;
  float y = f2 * f * p;
  y = MulAdd(n, kLn2Low, y);
  y = MulAdd(-0.5f, f2, y);
  y = MulAdd(n, kLn2High, f + y);
  y = x == kInfinity ? kInfinity : y;
  y = x == 0.0f ? -kInfinity : y;
  return x >= 0.0f ? y : kNan;  // also where x is NaN
}

// e^x - 1.
inline float Expm1(float x) {
  const float p =
      Polynomial(x, 1.98059381e-4f, 1.39812252e-3f, 8.33370537e-3f, 4.16658707e-2f, 1.66666627e-1f);
  const float x2 = x * x;
  const float near_zero = MulAdd(x2 * x, p, MulAdd(0.5f, x2, x));
  return std::abs(x) < 0.5f ? near_zero : Exp(x) - 1.0f;
}

// log(1 + x). What rounding 1 + x loses is put right to first order.
inline float Log1p(float x) {
  const float u = 1.0f + x;
  const float lost = x - (u - 1.0f);
  const float y = Log(u) + lost / u;
  return u == kInfinity || u <= 0.0f ? Log(u) : y;
}

// 1 / (1 + e^-x).
inline float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

inline float Tanh(float x) {
  const float a = std::abs(x);
  const float x2 = x * x;
  const float p = Polynomial(x2, -5.71703678e-3f, 2.06505787e-2f, -5.37434965e-2f, 1.33314908e-1f,
                             -3.33332837e-1f);
  const float near_zero = MulAdd(x * x2, p, x);
  const float far = std::copysign(1.0f - 2.0f / (Exp(2.0f * a) + 1.0f), x);
  return a < 0.625f ? near_zero : far;
}

// Up to 1 a polynomial, beyond it 1 - e^-q with a polynomial q; from 4 on it rounds to 1.
inline float Erf(float x) {
  float a = std::abs(x);
  const float x2 = x * x;
  const float near_zero =
      x * Polynomial(x2, 7.85385782e-5f, -8.01019254e-4f, 5.18832775e-3f, -2.68538110e-2f,
                     1.12835854e-1f, -3.76126260e-1f, 1.12837911f);
  const bool is_near = a < 1.0f;
  a = a > 4.0f ? 4.0f : a;
  const float q = Polynomial(a, 2.16867720e-5f, -4.41335345e-4f, 4.20455635e-3f, -2.52082404e-2f,
                             1.08418547e-1f, 6.33219898e-1f, 1.12957835f, -1.88035934e-4f);
  const float far = std::copysign(1.0f - Exp(-q), x);
  return is_near ? near_zero : far;
}

}  // namespace carillon::simd
