// One picture of a data set becomes one picture of a batch.
#pragma once

#include <cstdint>

#include "carillon/data.h"

namespace carillon {

struct PictureSize {
  int64_t height = 0, width = 0, channels = 0;
  int64_t elements() const { return height * width * channels; }
};

// Scaled to [0, 1], changed as `augment` says. `key` decides about the random changes; nothing else
// does.
void Augment(const uint8_t* from, const PictureSize& size, const Augmentation& augment,
             uint64_t key, float* to);
// The same for pictures that are floats already, which keep their scale.
void Augment(const float* from, const PictureSize& size, const Augmentation& augment, uint64_t key,
             float* to);

}  // namespace carillon
