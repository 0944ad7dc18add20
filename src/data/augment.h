// One picture of a data set becomes one picture of a batch.
#pragma once

#include <cstdint>
#include <vector>

#include "carillon/data.h"

namespace carillon {

struct PictureSize {
  int64_t height = 0, width = 0, channels = 0;
  int64_t elements() const { return height * width * channels; }
};

// Not thread-safe: it has a picture to work on.
class Augmenter {
 public:
  Augmenter(const PictureSize& size, const Augmentation& augment);

  // The picture scaled to [0, 1] and changed as the Augmentation says. `key` decides about the
  // random changes; nothing else does.
  void Apply(const uint8_t* from, uint64_t key, float* to);
  // The same for a picture of floats, which keeps its scale.
  void Apply(const float* from, uint64_t key, float* to);

 private:
  template <typename T>
  void ApplyTo(const T* from, uint64_t key, float* to);
  void ShiftAndFlip(int64_t down, int64_t right, bool flip, float* to) const;

  const PictureSize size_;
  const Augmentation augment_;
  std::vector<float> whole_;  // the picture before it is shifted
};

}  // namespace carillon
