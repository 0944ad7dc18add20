// CropAndResize: boxes cut out of pictures, all brought to one size.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/image_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

class CropAndResizeKernel final : public Kernel {
 public:
  explicit CropAndResizeKernel(const KernelRequest& request)
      : nearest_(request.attr<std::string>("method") == "nearest"),
        outside_(request.attr<float>("extrapolation_value")) {}

  Status Run(KernelContext& context) override {
    const Tensor &images = context.input(0), &boxes = context.input(1), &owners = context.input(2);
    if (images.rank() != 4) {
      return InvalidArgument("pictures should have 4 dimensions but have shape ",
                             images.shape().ToString());
    }
    if (images.dim(1) == 0 || images.dim(2) == 0) return InvalidArgument("pictures have no pixels");
    if (boxes.rank() != 2 || boxes.dim(1) != 4 || owners.rank() != 1 ||
        owners.dim(0) != boxes.dim(0)) {
      return InvalidArgument("boxes of shape ", boxes.shape().ToString(), " and box_ind of shape ",
                             owners.shape().ToString(), " should be [n,4] and [n]");
    }
    CARILLON_ASSIGN_OR_RETURN(const ImageSize size, SizeInput(context, 3));
    Shape shape;
    if (!Shape::TryMake(std::array{boxes.dim(0), size.height, size.width, images.dim(3)}, &shape)) {
      return InvalidArgument("crops of ", size.height, " x ", size.width, " are too large");
    }
    if (!std::ranges::all_of(boxes.values<float>(), [](float x) { return std::isfinite(x); })) {
      return InvalidArgument("boxes contain an element that is not finite");
    }
    for (const int32_t owner : owners.values<int32_t>()) {
      if (owner < 0 || owner >= images.dim(0)) {
        return OutOfRange("box_ind ", owner, " is outside of 0 … ", images.dim(0) - 1);
      }
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    DispatchNumber(images.dtype(), [&]<typename T>() {
      ParallelFor(boxes.dim(0), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Crop(images, boxes.data<float>() + 4 * i,
               images.data<T>() + PixelsOf(images) * owners.data<int32_t>()[i], size,
               out->mutable_data<float>() + i * size.height * size.width * images.dim(3));
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  static int64_t PixelsOf(const Tensor& images) {
    return images.dim(1) * images.dim(2) * images.dim(3);
  }

  // Pixel i of n of the stretch from `low` to `high` (where 1 is the last pixel) of a side.
  static float Position(float low, float high, int64_t side, int64_t i, int64_t n) {
    const auto last = static_cast<float>(side - 1);
    if (n <= 1) return 0.5f * (low + high) * last;
    const float scale = (high - low) * last / static_cast<float>(n - 1);
    return low * last + static_cast<float>(i) * scale;
  }

  template <typename T>
  void Crop(const Tensor& images, const float* box, const T* image, const ImageSize& size,
            float* to) const {
    const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
    const auto is_inside = [](float at, int64_t side) {
      return at >= 0 && at <= static_cast<float>(side - 1);
    };
    for (int64_t y = 0; y < size.height; ++y) {
      const float at_y = Position(box[0], box[2], height, y, size.height);
      for (int64_t x = 0; x < size.width; ++x, to += channels) {
        const float at_x = Position(box[1], box[3], width, x, size.width);
        if (!is_inside(at_y, height) || !is_inside(at_x, width)) {
          std::fill(to, to + channels, outside_);
          continue;
        }
        const auto pixel = [&](float row, float column, int64_t c) {
          return static_cast<float>(
              image[(static_cast<int64_t>(row) * width + static_cast<int64_t>(column)) * channels +
                    c]);
        };
        const float top = std::floor(at_y), bottom = std::ceil(at_y);
        const float left = std::floor(at_x), right = std::ceil(at_x);
        for (int64_t c = 0; c < channels; ++c) {
          if (nearest_) {
            to[c] = pixel(std::roundf(at_y), std::roundf(at_x), c);
            continue;
          }
          const float a = pixel(top, left, c), b = pixel(top, right, c);
          const float d = pixel(bottom, left, c), e = pixel(bottom, right, c);
          const float above = a + (b - a) * (at_x - left), below = d + (e - d) * (at_x - left);
          to[c] = above + (below - above) * (at_y - top);
        }
      }
    }
  }

  const bool nearest_;
  const float outside_;
};

}  // namespace

void AddImageCropKernels(KernelTable& table) {
  table.Add({"CropAndResize", "ref", FromClass<CropAndResizeKernel>});
}

}  // namespace carillon
