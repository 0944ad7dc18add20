// Pictures of data sets, to look at.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "carillon/data.h"
#include "report/picture.h"

namespace carillon {

// One sample. The images must be uint8 with 1 or 3 channels.
Picture PictureOf(const Dataset& dataset, int64_t index);
// Half as wide and high; each pixel is the mean of four.
Picture Halved(const Picture& picture);

// Samples in rows on a dark ground, each pixel `zoom` pixels wide, the class below each.
Picture ContactSheet(const Dataset& dataset, std::span<const int64_t> indices, int columns,
                     int zoom);

// The first `count` samples from `first` on, or of one class (-1: of any).
std::vector<int64_t> PickSamples(const Dataset& dataset, int64_t first, int64_t count,
                                 int64_t wanted_class);
// The first `per_class` samples of each class, class by class.
std::vector<int64_t> PickByClass(const Dataset& dataset, int64_t per_class);

}  // namespace carillon
