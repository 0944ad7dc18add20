// Small random streams. A stream is made from what identifies its use (a seed, an epoch, a sample),
// so that results depend on these alone and not on the order or the thread in which work is done.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace carillon {

class RandomStream {
 public:
  // Streams of different keys are independent; the order of the parts matters.
  explicit RandomStream(std::initializer_list<uint64_t> key) {
    for (const uint64_t part : key) state_ = Mix(state_ ^ Mix(part + kGolden));
  }

  // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
  uint64_t Next() { return Mix(state_ += kGolden); }

  // Uniform in [0, n), n > 0. The multiplication favours some values by less than n / 2^64.
  uint64_t Below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * n) >> 64);
  }
  // Uniform in [0, 1).
  float Uniform() { return static_cast<float>(Next() >> 40) * 0x1p-24f; }
  float Uniform(float low, float high) { return low + (high - low) * Uniform(); }
  bool Chance(float probability) { return Uniform() < probability; }
  // About normal with mean 0 and variance 1, never beyond 3.5: the sum of four uniform numbers.
  float Normal() {
    const uint64_t bits = Next();
    const uint64_t sum =
        (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    return (static_cast<float>(sum) * 0x1p-16f - 2.0f) * 1.7320508f;
  }

 private:
  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
  static uint64_t Mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t state_ = 0;
};

}  // namespace carillon
