// Where the pixels of a resized picture come from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/ref/image_kernels.h"

namespace carillon {

// Between two neighbours: lower * (1 - fraction) + upper * fraction.
struct Sample {
  int64_t lower = 0, upper = 0;
  float fraction = 0;
};

// How two grids of pixels lie on each other, along one side.
class SampleGrid {
 public:
  explicit SampleGrid(const KernelRequest& request)
      : align_corners_(request.attr<bool>("align_corners")),
        half_pixel_centers_(request.attr<bool>("half_pixel_centers")) {}

  std::vector<Sample> Bilinear(int64_t in, int64_t out) const {
    const float scale = ResizeScale(in, out, align_corners_);
    std::vector<Sample> samples(static_cast<size_t>(out));
    for (int64_t i = 0; i < out; ++i) {
      const float at = half_pixel_centers_ ? (static_cast<float>(i) + 0.5f) * scale - 0.5f
                                           : static_cast<float>(i) * scale;
      const float below = std::floor(at);
      samples[static_cast<size_t>(i)] = {
          std::max<int64_t>(static_cast<int64_t>(below), 0),
          std::min<int64_t>(static_cast<int64_t>(std::ceil(at)), in - 1), at - below};
    }
    return samples;
  }

  std::vector<int64_t> Nearest(int64_t in, int64_t out) const {
    const float scale = ResizeScale(in, out, align_corners_);
    std::vector<int64_t> nearest(static_cast<size_t>(out));
    for (int64_t i = 0; i < out; ++i) {
      const float at = half_pixel_centers_ ? (static_cast<float>(i) + 0.5f) * scale
                                           : static_cast<float>(i) * scale;
      const auto pixel = static_cast<int64_t>(align_corners_ ? std::roundf(at) : std::floor(at));
      nearest[static_cast<size_t>(i)] = std::clamp<int64_t>(pixel, 0, in - 1);
    }
    return nearest;
  }

 private:
  const bool align_corners_, half_pixel_centers_;
};

}  // namespace carillon
