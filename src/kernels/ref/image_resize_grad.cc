// ResizeBilinearGrad and ResizeNearestNeighborGrad: each pixel's gradient goes back to where the
// pixel came from.
#include <algorithm>
#include <vector>

#include "kernels/ref/image_kernels.h"
#include "kernels/ref/image_samples.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

Status CheckGrads(const Tensor& grads) {
  if (grads.rank() == 4 && grads.dim(1) > 0 && grads.dim(2) > 0) return absl::OkStatus();
  return InvalidArgument("gradients of pictures have shape ", grads.shape().ToString());
}

class ResizeBilinearGradKernel final : public Kernel {
 public:
  explicit ResizeBilinearGradKernel(const KernelRequest& request) : grid_(request) {}

  Status Run(KernelContext& context) override {
    const Tensor &grads = context.input(0), &image = context.input(1);
    CARILLON_RETURN_IF_ERROR(CheckGrads(grads));
    if (image.rank() != 4 || image.dim(1) == 0 || image.dim(2) == 0 ||
        image.dim(0) != grads.dim(0) || image.dim(3) != grads.dim(3)) {
      return InvalidArgument("pictures of shape ", image.shape().ToString(),
                             " do not fit gradients of shape ", grads.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, image.shape()));
    const std::vector<Sample> ys = grid_.Bilinear(image.dim(1), grads.dim(1));
    const std::vector<Sample> xs = grid_.Bilinear(image.dim(2), grads.dim(2));
    const int64_t channels = image.dim(3), row_size = image.dim(2) * channels;
    const auto* grad = grads.data<float>();
    DispatchFloating(out->dtype(), [&]<typename T>() {
      T* base = out->mutable_data<T>();
      std::fill(base, base + out->num_elements(), T(0.0f));
      for (int64_t n = 0; n < image.dim(0); ++n, base += image.dim(1) * row_size) {
        for (const Sample& sy : ys) {
          for (const Sample& sx : xs) {
            for (int64_t c = 0; c < channels; ++c, ++grad) {
              const auto add = [&](int64_t y, int64_t x, float wy, float wx) {
                T& target = base[y * row_size + x * channels + c];
                target = static_cast<T>(target + static_cast<T>(*grad * wy * wx));
              };
              const float down = sy.fraction, right = sx.fraction;
              add(sy.lower, sx.lower, 1 - down, 1 - right);
              add(sy.lower, sx.upper, 1 - down, right);
              add(sy.upper, sx.lower, down, 1 - right);
              add(sy.upper, sx.upper, down, right);
            }
          }
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  const SampleGrid grid_;
};

class ResizeNearestGradKernel final : public Kernel {
 public:
  explicit ResizeNearestGradKernel(const KernelRequest& request) : grid_(request) {}

  Status Run(KernelContext& context) override {
    const Tensor& grads = context.input(0);
    CARILLON_RETURN_IF_ERROR(CheckGrads(grads));
    CARILLON_ASSIGN_OR_RETURN(const ImageSize size, SizeInput(context, 1));
    Shape shape;
    if (!Shape::TryMake(std::array{grads.dim(0), size.height, size.width, grads.dim(3)}, &shape)) {
      return InvalidArgument("pictures of ", size.height, " x ", size.width, " are too large");
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    const std::vector<int64_t> ys = grid_.Nearest(size.height, grads.dim(1));
    const std::vector<int64_t> xs = grid_.Nearest(size.width, grads.dim(2));
    const int64_t channels = grads.dim(3), row_size = size.width * channels;
    DispatchNumber(out->dtype(), [&]<typename T>() {
      const T* grad = grads.data<T>();
      T* base = out->mutable_data<T>();
      std::fill(base, base + out->num_elements(), T(0));
      for (int64_t n = 0; n < grads.dim(0); ++n, base += size.height * row_size) {
        for (const int64_t y : ys) {
          for (const int64_t x : xs) {
            T* target = base + y * row_size + x * channels;
            for (int64_t c = 0; c < channels; ++c) {
              target[c] = static_cast<T>(target[c] + *grad++);
            }
          }
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  const SampleGrid grid_;
};

}  // namespace

void AddImageResizeGradKernels(KernelTable& table) {
  table.Add({
      {"ResizeBilinearGrad", "ref", FromClass<ResizeBilinearGradKernel>},
      {"ResizeNearestNeighborGrad", "ref", FromClass<ResizeNearestGradKernel>},
  });
}

}  // namespace carillon
