// CropAndResize: boxes cut out of pictures, all brought to one size.
#include "kernels/ref/image_crop.h"

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
    CARILLON_ASSIGN_OR_RETURN(const ImageSize size, SizeInput(context, 3));
    Shape shape;
    if (!Shape::TryMake(std::array{boxes.dim(0), size.height, size.width, images.dim(3)}, &shape)) {
      return InvalidArgument("crops of ", size.height, " x ", size.width, " are too large");
    }
    if (!std::ranges::all_of(boxes.values<float>(), [](float x) { return std::isfinite(x); })) {
      return InvalidArgument("boxes contain an element that is not finite");
    }
    CARILLON_RETURN_IF_ERROR(CheckCropBoxes(boxes, owners, images.dim(0)));
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

  template <typename T>
  void Crop(const Tensor& images, const float* box, const T* image, const ImageSize& size,
            float* to) const {
    const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
    for (int64_t y = 0; y < size.height; ++y) {
      const CropSample row(CropPosition(box[0], box[2], height, y, size.height), height);
      for (int64_t x = 0; x < size.width; ++x, to += channels) {
        const CropSample column(CropPosition(box[1], box[3], width, x, size.width), width);
        if (!row.inside || !column.inside) {
          std::fill(to, to + channels, outside_);
          continue;
        }
        const auto pixel = [&](int64_t i, int64_t j, int64_t c) {
          return static_cast<float>(image[(i * width + j) * channels + c]);
        };
        for (int64_t c = 0; c < channels; ++c) {
          if (nearest_) {
            to[c] = pixel(row.nearest, column.nearest, c);
            continue;
          }
          const float a = pixel(row.lower, column.lower, c), b = pixel(row.lower, column.upper, c);
          const float d = pixel(row.upper, column.lower, c), e = pixel(row.upper, column.upper, c);
          const float above = a + (b - a) * column.fraction;
          const float below = d + (e - d) * column.fraction;
          to[c] = above + (below - above) * row.fraction;
        }
      }
    }
  }

  const bool nearest_;
  const float outside_;
};

}  // namespace

Status CheckCropBoxes(const Tensor& boxes, const Tensor& owners, int64_t images) {
  if (boxes.rank() != 2 || boxes.dim(1) != 4 || owners.rank() != 1 ||
      owners.dim(0) != boxes.dim(0)) {
    return InvalidArgument("boxes of shape ", boxes.shape().ToString(), " and box_ind of shape ",
                           owners.shape().ToString(), " should be [n,4] and [n]");
  }
  for (const int32_t owner : owners.values<int32_t>()) {
    if (owner < 0 || owner >= images)
      return OutOfRange("box_ind ", owner, " is outside of 0 … ", images - 1);
  }
  return absl::OkStatus();
}

void AddImageCropKernels(KernelTable& table) {
  table.Add({"CropAndResize", "ref", FromClass<CropAndResizeKernel>});
  AddImageCropGradKernels(table);
}

}  // namespace carillon
