#include "data/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data/random.h"

namespace carillon {
namespace {

inline float ToFloat(uint8_t value) { return static_cast<float>(value) * (1 / 255.0f); }
inline float ToFloat(float value) { return value; }

template <typename T>
void Convert(const T* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = ToFloat(from[i]);
}

// The sum of (v - offset)^power over all values, power 1 or 2: in lanes, which the compiler turns
// into vector instructions as it may not reorder one long sum.
template <int power>
double SumOf(const float* values, int64_t n, float offset) {
  constexpr int64_t kLanes = 16;
  std::array<float, kLanes> lanes{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const float v = values[i + k] - offset;
      lanes[static_cast<size_t>(k)] += power == 1 ? v : v * v;
    }
  }
  double sum = std::accumulate(lanes.begin(), lanes.end(), 0.0);
  for (; i < n; ++i) {
    const float v = values[i] - offset;
    sum += power == 1 ? v : v * v;
  }
  return sum;
}

// What TensorFlow's per_image_standardization gives for the picture before it was scaled by `unit`:
// there the deviation counts as 1/sqrt(n) at least, so that a plain picture is not blown up.
void Standardise(float* values, int64_t n, double unit) {
  const auto count = static_cast<double>(n);
  const auto mean = static_cast<float>(SumOf<1>(values, n, 0) / count);
  const double deviation = std::sqrt(SumOf<2>(values, n, mean) / count);
  const auto scale = static_cast<float>(1 / std::max(deviation, unit / std::sqrt(count)));
  for (int64_t i = 0; i < n; ++i) values[i] = (values[i] - mean) * scale;
}

}  // namespace

Augmenter::Augmenter(const PictureSize& size, const Augmentation& augment)
    : size_(size), augment_(augment), whole_(static_cast<size_t>(size.elements())) {}

// Row y and column x of the result come from row y + down and column x + right of the picture; then
// each row is mirrored.
void Augmenter::ShiftAndFlip(int64_t down, int64_t right, bool flip, float* to) const {
  const int64_t channels = size_.channels, row = size_.width * channels;
  const int64_t begin = std::max<int64_t>(0, -right);
  const int64_t end = std::max(begin, std::min(size_.width, size_.width - right));
  for (int64_t y = 0; y < size_.height; ++y, to += row) {
    if (y + down < 0 || y + down >= size_.height) {
      std::fill_n(to, row, 0.0f);
      continue;
    }
    const float* from = whole_.data() + (y + down) * row + (begin + right) * channels;
    std::fill_n(to, begin * channels, 0.0f);
    std::copy_n(from, (end - begin) * channels, to + begin * channels);
    std::fill_n(to + end * channels, (size_.width - end) * channels, 0.0f);
    for (int64_t x = 0, mirror = size_.width - 1; flip && x < mirror; ++x, --mirror) {
      std::swap_ranges(to + x * channels, to + (x + 1) * channels, to + mirror * channels);
    }
  }
}

template <typename T>
void Augmenter::ApplyTo(const T* from, uint64_t key, float* to) {
  int64_t down = 0, right = 0;
  bool flip = false;
  if (augment_.pad_crop > 0 || augment_.flip) {
    RandomStream random({key});
    const auto shift = [&] {
      const auto most = static_cast<int64_t>(augment_.pad_crop);
      return static_cast<int64_t>(random.Below(static_cast<uint64_t>(2 * most + 1))) - most;
    };
    down = shift();
    right = shift();
    flip = augment_.flip && random.Chance(0.5f);
  }
  if (down == 0 && right == 0 && !flip) {
    Convert(from, size_.elements(), to);
  } else {
    Convert(from, size_.elements(), whole_.data());
    ShiftAndFlip(down, right, flip, to);
  }
  if (augment_.standardise) Standardise(to, size_.elements(), static_cast<double>(ToFloat(T{1})));
}

void Augmenter::Apply(const uint8_t* from, uint64_t key, float* to) { ApplyTo(from, key, to); }
void Augmenter::Apply(const float* from, uint64_t key, float* to) { ApplyTo(from, key, to); }

}  // namespace carillon
