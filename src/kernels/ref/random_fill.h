// Fills tensors from a Philox sequence, with the very numbers that TensorFlow makes of it on a CPU.
// Large tensors are filled on all threads; the result does not depend on how many there are.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "carillon/tensor.h"
#include "kernels/philox.h"

namespace carillon {

enum class Distribution {
  kUniform,          // [0, 1)
  kNormal,           // mean 0, deviation 1
  kTruncatedNormal,  // the same, within (-2, 2)
};

// Floating dtypes; false when `out` is of another.
bool FillRandom(Distribution distribution, const Philox& philox, Tensor& out);

// Uniform in [lo, hi), of the dtype of `out`: int32 or int64; false for another. lo < hi.
bool FillRandomInt(int64_t lo, int64_t hi, const Philox& philox, Tensor& out);

// Every value of the dtype is as likely: int32, int64, uint32 or uint64; false for another.
bool FillRandomFullInt(const Philox& philox, Tensor& out);

// How random words become numbers.

inline float UniformFloat(uint32_t word) {
  return std::bit_cast<float>(0x3f800000u | (word & 0x7fffffu)) - 1.0f;
}

inline double UniformDouble(uint32_t word0, uint32_t word1) {
  const uint64_t mantissa = uint64_t{word0 & 0xfffffu} << 32 | word1;
  return std::bit_cast<double>(0x3ff0000000000000u | mantissa) - 1.0;
}

// The Box-Muller transform: two independent normal numbers. The order and precision of each step
// decide the last bits, which must be TensorFlow's.
inline std::array<float, 2> NormalFloats(uint32_t word0, uint32_t word1) {
  const float u = std::max(UniformFloat(word0), 1.0e-7f);
  const auto angle = static_cast<float>(2.0 * M_PI * static_cast<double>(UniformFloat(word1)));
  const float radius = std::sqrt(-2.0f * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

inline std::array<double, 2> NormalDoubles(uint32_t word0, uint32_t word1, uint32_t word2,
                                           uint32_t word3) {
  const double u = std::max(UniformDouble(word0, word1), 1.0e-7);
  const double angle = 2.0 * M_PI * UniformDouble(word2, word3);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

}  // namespace carillon
