// Where the pixels of a crop lie in the picture: what CropAndResize and its gradients share.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/status.h"
#include "carillon/tensor.h"

namespace carillon {

// Pixel i of n of the stretch from `low` to `high` (where 1 is the last pixel) of a side.
inline float CropPosition(float low, float high, int64_t side, int64_t i, int64_t n) {
  const auto last = static_cast<float>(side - 1);
  if (n <= 1) return 0.5f * (low + high) * last;
  const float scale = (high - low) * last / static_cast<float>(n - 1);
  return low * last + static_cast<float>(i) * scale;
}

// Between two pixels of one side of a picture.
struct CropSample {
  explicit CropSample(float at, int64_t side)
      : inside(at >= 0 && at <= static_cast<float>(side - 1)) {
    if (!inside) return;
    lower = static_cast<int64_t>(std::floor(at));
    upper = static_cast<int64_t>(std::ceil(at));
    nearest = static_cast<int64_t>(std::roundf(at));
    fraction = at - std::floor(at);
  }
  bool inside;
  int64_t lower = 0, upper = 0, nearest = 0;
  float fraction = 0;
};

// InvalidArgument unless there are four numbers and a picture for each box, OutOfRange when there
// is no such picture.
Status CheckCropBoxes(const Tensor& boxes, const Tensor& owners, int64_t images);

}  // namespace carillon
