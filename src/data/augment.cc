#include "data/augment.h"

#include <algorithm>
#include <cmath>

#include "data/random.h"

namespace carillon {
namespace {

inline float ToFloat(uint8_t value) { return static_cast<float>(value) * (1 / 255.0f); }
inline float ToFloat(float value) { return value; }

template <typename T>
void Convert(const T* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = ToFloat(from[i]);
}

// Row `y` and column `x` of the result come from row y + down and column x + right, or from the
// mirror image of that column.
template <typename T>
void ShiftAndFlip(const T* from, const PictureSize& size, int64_t down, int64_t right, bool flip,
                  float* to) {
  const int64_t row = size.width * size.channels;
  for (int64_t y = 0; y < size.height; ++y) {
    float* out = to + y * row;
    std::fill_n(out, row, 0.0f);
    if (y + down < 0 || y + down >= size.height) continue;
    const T* in = from + (y + down) * row;
    const int64_t begin = std::max<int64_t>(0, -right);
    const int64_t end = std::min(size.width, size.width - right);
    if (!flip) {
      if (end > begin) {
        Convert(in + (begin + right) * size.channels, (end - begin) * size.channels,
                out + begin * size.channels);
      }
      continue;
    }
    for (int64_t x = begin; x < end; ++x) {
      Convert(in + (x + right) * size.channels, size.channels,
              out + (size.width - 1 - x) * size.channels);
    }
  }
}

// What TensorFlow's per_image_standardization gives for the picture before it was scaled by `unit`:
// there the deviation counts as 1/sqrt(n) at least, so that a plain picture is not blown up.
void Standardise(float* values, int64_t n, double unit) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; ++i) sum += values[i];
  const double mean = sum / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) squares += (values[i] - mean) * (values[i] - mean);
  const double deviation = std::max(std::sqrt(squares / static_cast<double>(n)),
                                    unit / std::sqrt(static_cast<double>(n)));
  const auto offset = static_cast<float>(mean), scale = static_cast<float>(1 / deviation);
  for (int64_t i = 0; i < n; ++i) values[i] = (values[i] - offset) * scale;
}

template <typename T>
void AugmentAs(const T* from, const PictureSize& size, const Augmentation& augment, uint64_t key,
               float* to) {
  int64_t down = 0, right = 0;
  bool flip = false;
  if (augment.pad_crop > 0 || augment.flip) {
    RandomStream random({key});
    const auto shift = [&] {
      const auto most = static_cast<int64_t>(augment.pad_crop);
      return static_cast<int64_t>(random.Below(static_cast<uint64_t>(2 * most + 1))) - most;
    };
    down = shift();
    right = shift();
    flip = augment.flip && random.Chance(0.5f);
  }
  if (down == 0 && right == 0 && !flip) {
    Convert(from, size.elements(), to);
  } else {
    ShiftAndFlip(from, size, down, right, flip, to);
  }
  if (augment.standardise) Standardise(to, size.elements(), static_cast<double>(ToFloat(T{1})));
}

}  // namespace

void Augment(const uint8_t* from, const PictureSize& size, const Augmentation& augment,
             uint64_t key, float* to) {
  AugmentAs(from, size, augment, key, to);
}

void Augment(const float* from, const PictureSize& size, const Augmentation& augment, uint64_t key,
             float* to) {
  AugmentAs(from, size, augment, key, to);
}

}  // namespace carillon
