// CropAndResizeGradImage and CropAndResizeGradBoxes: each pixel's gradient goes back to the pixels
// that it was made of, and to the corners of its box.
#include <algorithm>
#include <array>

#include "kernels/ref/image_crop.h"
#include "kernels/ref/image_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

Status CheckGrads(const Tensor& grads, const Tensor& boxes) {
  if (grads.rank() != 4 || grads.dim(1) == 0 || grads.dim(2) == 0) {
    return InvalidArgument(
        "gradients of crops should have 4 dimensions, and pixels, but have shape ",
        grads.shape().ToString());
  }
  if (boxes.rank() < 1 || boxes.dim(0) != grads.dim(0)) {
    return InvalidArgument("boxes of shape ", boxes.shape().ToString(),
                           " do not fit gradients of shape ", grads.shape().ToString());
  }
  return absl::OkStatus();
}

// Calls visit(box, y, x, row, column, grads) for each pixel of each crop that lies inside of its
// picture, where `grads` are those of its channels.
template <typename Visit>
void ForEachSample(const Tensor& grads, const Tensor& boxes, int64_t height, int64_t width,
                   const Visit& visit) {
  const auto* grad = grads.data<float>();
  for (int64_t i = 0; i < grads.dim(0); ++i) {
    const float* box = boxes.data<float>() + 4 * i;
    for (int64_t y = 0; y < grads.dim(1); ++y) {
      const CropSample row(CropPosition(box[0], box[2], height, y, grads.dim(1)), height);
      for (int64_t x = 0; x < grads.dim(2); ++x, grad += grads.dim(3)) {
        const CropSample column(CropPosition(box[1], box[3], width, x, grads.dim(2)), width);
        if (row.inside && column.inside) visit(i, y, x, row, column, grad);
      }
    }
  }
}

class GradImageKernel final : public Kernel {
 public:
  explicit GradImageKernel(const KernelRequest& request)
      : nearest_(request.attr<std::string>("method") == "nearest") {}

  Status Run(KernelContext& context) override {
    const Tensor &grads = context.input(0), &boxes = context.input(1), &owners = context.input(2);
    CARILLON_RETURN_IF_ERROR(CheckGrads(grads, boxes));
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ImageShape(context.input(3)));
    if (shape.dim(3) != grads.dim(3)) {
      return InvalidArgument("pictures of shape ", shape.ToString(),
                             " do not fit gradients of shape ", grads.shape().ToString());
    }
    CARILLON_RETURN_IF_ERROR(CheckCropBoxes(boxes, owners, shape.dim(0)));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    const int64_t height = shape.dim(1), width = shape.dim(2), channels = shape.dim(3);
    DispatchFloating(out->dtype(), [&]<typename T>() {
      T* const base = out->mutable_data<T>();
      std::fill(base, base + out->num_elements(), T(0.0f));
      // Boxes overlap, so they take turns.
      ForEachSample(grads, boxes, height, width,
                    [&](int64_t i, int64_t, int64_t, const CropSample& row,
                        const CropSample& column, const float* grad) {
                      T* image = base + owners.data<int32_t>()[i] * height * width * channels;
                      const auto add = [&](int64_t y, int64_t x, float by_y, float by_x) {
                        T* to = image + (y * width + x) * channels;
                        for (int64_t c = 0; c < channels; ++c)
                          to[c] = static_cast<T>(to[c] + static_cast<T>(by_x * (by_y * grad[c])));
                      };
                      if (nearest_) return add(row.nearest, column.nearest, 1, 1);
                      const float down = row.fraction, right = column.fraction;
                      add(row.lower, column.lower, 1 - down, 1 - right);
                      add(row.lower, column.upper, 1 - down, right);
                      add(row.upper, column.lower, down, 1 - right);
                      add(row.upper, column.upper, down, right);
                    });
    });
    return absl::OkStatus();
  }

 private:
  static StatusOr<Shape> ImageShape(const Tensor& size) {
    if (size.rank() != 1 || size.dim(0) != 4)
      return InvalidArgument("image_size should be 4 numbers, not ", size.ToString());
    const int32_t* dims = size.data<int32_t>();
    Shape shape;
    if (dims[1] <= 0 || dims[2] <= 0 ||
        !Shape::TryMake(std::array<int64_t, 4>{dims[0], dims[1], dims[2], dims[3]}, &shape)) {
      return InvalidArgument("image_size is ", size.ToString(), ", which no pictures have");
    }
    return shape;
  }
  const bool nearest_;
};

Status RunGradBoxes(KernelContext& context) {
  const Tensor &grads = context.input(0), &images = context.input(1);
  const Tensor &boxes = context.input(2), &owners = context.input(3);
  CARILLON_RETURN_IF_ERROR(CheckGrads(grads, boxes));
  if (images.rank() != 4 || images.dim(1) == 0 || images.dim(2) == 0 ||
      images.dim(3) != grads.dim(3)) {
    return InvalidArgument("pictures of shape ", images.shape().ToString(),
                           " do not fit gradients of shape ", grads.shape().ToString());
  }
  CARILLON_RETURN_IF_ERROR(CheckCropBoxes(boxes, owners, images.dim(0)));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, boxes.shape()));
  auto* const result = out->mutable_data<float>();
  std::fill(result, result + out->num_elements(), 0.0f);
  const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
  // How much pixel i of n moves when the corner in front of the stretch does, and the one behind.
  const auto add = [](float grad, int64_t side, int64_t i, int64_t n, float* front, float* behind) {
    const auto last = static_cast<float>(side - 1);
    const float part = n > 1 ? static_cast<float>(i) * (last / static_cast<float>(n - 1)) : 0;
    *front += grad * (n > 1 ? last - part : 0.5f * last);
    *behind += grad * (n > 1 ? part : 0.5f * last);
  };
  DispatchNumber(images.dtype(), [&]<typename T>() {
    const T* const base = images.data<T>();
    ForEachSample(
        grads, boxes, height, width,
        [&](int64_t i, int64_t y, int64_t x, const CropSample& row, const CropSample& column,
            const float* grad) {
          const T* image = base + owners.data<int32_t>()[i] * height * width * channels;
          float* box = result + 4 * i;
          for (int64_t c = 0; c < channels; ++c) {
            const auto pixel = [&](int64_t y, int64_t x) {
              return static_cast<float>(image[(y * width + x) * channels + c]);
            };
            const float a = pixel(row.lower, column.lower), b = pixel(row.lower, column.upper);
            const float d = pixel(row.upper, column.lower), e = pixel(row.upper, column.upper);
            const float by_y = (1 - column.fraction) * (d - a) + column.fraction * (e - b);
            const float by_x = (1 - row.fraction) * (b - a) + row.fraction * (e - d);
            add(by_y * grad[c], height, y, grads.dim(1), &box[0], &box[2]);
            add(by_x * grad[c], width, x, grads.dim(2), &box[1], &box[3]);
          }
        });
  });
  return absl::OkStatus();
}

}  // namespace

void AddImageCropGradKernels(KernelTable& table) {
  table.Add({
      {"CropAndResizeGradImage", "ref", FromClass<GradImageKernel>},
      {"CropAndResizeGradBoxes", "ref", FromFunction<RunGradBoxes>},
  });
}

}  // namespace carillon
