// Vectors of 16 floats, in the compiler's own terms: one AVX-512 register, or several smaller ones.
// Every function here is inlined, so that no calling convention depends on the instruction set.
#pragma once

#include <cstdint>
#include <cstring>

namespace carillon {

inline constexpr int64_t kVec = 16;

using Vec = float __attribute__((vector_size(64)));
using VecInt = int32_t __attribute__((vector_size(64)));

#define CARILLON_ALWAYS_INLINE [[gnu::always_inline]] inline

CARILLON_ALWAYS_INLINE Vec Load(const float* from) {
  Vec v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

CARILLON_ALWAYS_INLINE void Store(float* to, const Vec& v) { std::memcpy(to, &v, sizeof v); }

CARILLON_ALWAYS_INLINE Vec Splat(float value) { return value - Vec{}; }

// The first n < 16 elements; the others are 0.
CARILLON_ALWAYS_INLINE Vec LoadPart(const float* from, int64_t n) {
  Vec v{};
  std::memcpy(&v, from, static_cast<size_t>(n) * sizeof(float));
  return v;
}

CARILLON_ALWAYS_INLINE void StorePart(float* to, const Vec& v, int64_t n) {
  std::memcpy(to, &v, static_cast<size_t>(n) * sizeof(float));
}

// a where a > b, else b: NaN in a is passed over.
CARILLON_ALWAYS_INLINE Vec MaxOf(const Vec& a, const Vec& b) { return a > b ? a : b; }

}  // namespace carillon
