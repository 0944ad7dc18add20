// ResizeBilinear and ResizeNearestNeighbor.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/image_kernels.h"
#include "kernels/ref/image_samples.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

class ResizeKernel : public Kernel {
 public:
  explicit ResizeKernel(const KernelRequest& request) : grid_(request) {}

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    if (in.rank() != 4) {
      return InvalidArgument("pictures should have 4 dimensions but have shape ",
                             in.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(const ImageSize size, SizeInput(context, 1));
    if (in.dim(1) == 0 || in.dim(2) == 0 || in.dim(3) == 0) {
      return InvalidArgument("pictures of shape ", in.shape().ToString(), " have no pixels");
    }
    Shape shape;
    if (!Shape::TryMake(std::array{in.dim(0), size.height, size.width, in.dim(3)}, &shape)) {
      return InvalidArgument("pictures of ", size.height, " x ", size.width, " are too large");
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    Resize(in, out);
    return absl::OkStatus();
  }

 protected:
  virtual void Resize(const Tensor& in, Tensor* out) const = 0;

  // Calls body(in_row, …) for every row of the output.
  template <typename Body>
  static void ForEachRow(const Tensor& out, Body&& body) {
    const int64_t rows = out.dim(0) * out.dim(1), width = out.dim(2) * out.dim(3);
    ParallelFor(rows, std::max<int64_t>(1, (32 << 10) / std::max<int64_t>(width, 1)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row)
                    body(row / out.dim(1), row % out.dim(1), row * width);
                });
  }

  const SampleGrid grid_;
};

class ResizeBilinearKernel final : public ResizeKernel {
 public:
  using ResizeKernel::ResizeKernel;

 private:
  void Resize(const Tensor& in, Tensor* out) const override {
    const std::vector<Sample> ys = grid_.Bilinear(in.dim(1), out->dim(1));
    const std::vector<Sample> xs = grid_.Bilinear(in.dim(2), out->dim(2));
    const int64_t channels = in.dim(3), row_size = in.dim(2) * channels;
    DispatchNumber(in.dtype(), [&]<typename T>() {
      ForEachRow(*out, [&](int64_t image, int64_t y, int64_t at) {
        const T* base = in.data<T>() + image * in.dim(1) * row_size;
        const Sample& sy = ys[static_cast<size_t>(y)];
        const T *top = base + sy.lower * row_size, *bottom = base + sy.upper * row_size;
        float* to = out->mutable_data<float>() + at;
        for (const Sample& sx : xs) {
          for (int64_t c = 0; c < channels; ++c) {
            const auto value = [&](const T* row, int64_t x) {
              return static_cast<float>(row[x * channels + c]);
            };
            const float a = value(top, sx.lower), b = value(top, sx.upper);
            const float d = value(bottom, sx.lower), e = value(bottom, sx.upper);
            const float above = a + (b - a) * sx.fraction, below = d + (e - d) * sx.fraction;
            *to++ = above + (below - above) * sy.fraction;
          }
        }
      });
    });
  }
};

class ResizeNearestKernel final : public ResizeKernel {
 public:
  using ResizeKernel::ResizeKernel;

 private:
  void Resize(const Tensor& in, Tensor* out) const override {
    const std::vector<int64_t> ys = grid_.Nearest(in.dim(1), out->dim(1));
    const std::vector<int64_t> xs = grid_.Nearest(in.dim(2), out->dim(2));
    const int64_t channels = in.dim(3), row_size = in.dim(2) * channels;
    DispatchBySize(in.dtype(), [&]<typename T>() {
      const auto* from = static_cast<const T*>(in.raw_data());
      auto* result = static_cast<T*>(out->mutable_raw_data());
      ForEachRow(*out, [&](int64_t image, int64_t y, int64_t at) {
        const T* row = from + (image * in.dim(1) + ys[static_cast<size_t>(y)]) * row_size;
        T* to = result + at;
        for (const int64_t x : xs) to = std::copy_n(row + x * channels, channels, to);
      });
    });
  }
};

}  // namespace

void AddImageResizeKernels(KernelTable& table) {
  table.Add({
      {"ResizeBilinear", "ref", FromClass<ResizeBilinearKernel>},
      {"ResizeNearestNeighbor", "ref", FromClass<ResizeNearestKernel>},
  });
}

}  // namespace carillon
