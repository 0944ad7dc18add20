// Average pooling: padding counts neither in the sum nor in the number.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/nn.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

template <typename T>
void AvgPoolForward(const PoolGeometry& g, const T* input, T* output) {
  using A = Accumulator<T>;
  const ImageStrides in(g.format, g.height.input, g.width.input, g.channels);
  const ImageStrides out(g.format, g.height.output, g.width.output, g.channels);
  const double row_work = static_cast<double>(g.width.output) * static_cast<double>(g.channels) *
                          static_cast<double>(g.height.size) * static_cast<double>(g.width.size);
  ParallelFor(g.batch * g.height.output, GrainFor(row_work), [&](int64_t begin, int64_t end) {
    std::vector<A> sums(static_cast<size_t>(g.channels));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / g.height.output;
      const int64_t y = row % g.height.output;
      const TapRange ky(g.height, g.height.Start(y));
      for (int64_t x = 0; x < g.width.output; ++x) {
        if (WorkIsCancelled()) return;  // a window may be millions wide
        const TapRange kx(g.width, g.width.Start(x));
        std::fill(sums.begin(), sums.end(), A{});
        for (int64_t i = ky.begin; i < ky.end; ++i) {
          for (int64_t j = kx.begin; j < kx.end; ++j) {
            const T* pixel = input + n * in.batch + (g.height.Start(y) + i) * in.height +
                             (g.width.Start(x) + j) * in.width;
            for (int64_t c = 0; c < g.channels; ++c)
              sums[static_cast<size_t>(c)] += static_cast<A>(pixel[c * in.channels]);
          }
        }
        const A count = static_cast<A>((ky.end - ky.begin) * (kx.end - kx.begin));
        T* result = output + n * out.batch + y * out.height + x * out.width;
        for (int64_t c = 0; c < g.channels; ++c)
          result[c * out.channels] = static_cast<T>(sums[static_cast<size_t>(c)] / count);
      }
    }
  });
}

template <typename T>
void AvgPoolBackward(const PoolGeometry& g, const T* grad, T* result) {
  using A = Accumulator<T>;
  const ImageStrides in(g.format, g.height.input, g.width.input, g.channels);
  const ImageStrides out(g.format, g.height.output, g.width.output, g.channels);
  ParallelFor(g.batch, 1, [&](int64_t begin, int64_t end) {
    std::vector<A> sums(static_cast<size_t>(in.batch));
    for (int64_t n = begin; n < end; ++n) {
      std::fill(sums.begin(), sums.end(), A{});
      for (int64_t y = 0; y < g.height.output; ++y) {
        const TapRange ky(g.height, g.height.Start(y));
        for (int64_t x = 0; x < g.width.output; ++x) {
          if (WorkIsCancelled()) return;
          const TapRange kx(g.width, g.width.Start(x));
          const A count = static_cast<A>((ky.end - ky.begin) * (kx.end - kx.begin));
          const T* from = grad + n * out.batch + y * out.height + x * out.width;
          for (int64_t i = ky.begin; i < ky.end; ++i) {
            for (int64_t j = kx.begin; j < kx.end; ++j) {
              A* pixel = sums.data() + (g.height.Start(y) + i) * in.height +
                         (g.width.Start(x) + j) * in.width;
              for (int64_t c = 0; c < g.channels; ++c)
                pixel[c * in.channels] += static_cast<A>(from[c * out.channels]) / count;
            }
          }
        }
      }
      for (int64_t i = 0; i < in.batch; ++i)
        result[n * in.batch + i] = static_cast<T>(sums[static_cast<size_t>(i)]);
    }
  });
}

class AvgPoolKernel final : public Kernel {
 public:
  explicit AvgPoolKernel(WindowAttrs attrs) : attrs_(std::move(attrs)) {}
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(request.node));
    return std::make_unique<AvgPoolKernel>(std::move(attrs));
  }
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const PoolGeometry g, MakePoolGeometry(attrs_, input.shape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, g.OutputShape()));
    if (!DispatchFloating(input.dtype(), [&]<typename T>() {
          AvgPoolForward<T>(g, input.data<T>(), output->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), input.dtype());
    }
    return CheckWanted();
  }

 private:
  const WindowAttrs attrs_;
};

class AvgPoolGradKernel final : public Kernel {
 public:
  explicit AvgPoolGradKernel(WindowAttrs attrs) : attrs_(std::move(attrs)) {}
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(request.node));
    return std::make_unique<AvgPoolGradKernel>(std::move(attrs));
  }
  Status Run(KernelContext& context) override {
    const Tensor& grad = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromSizes(context.input(0), 4));
    CARILLON_ASSIGN_OR_RETURN(const PoolGeometry g, MakePoolGeometry(attrs_, shape));
    if (grad.shape() != g.OutputShape()) {
      return InvalidArgument("the gradient should have the pool's output shape ",
                             g.OutputShape().ToString(), " but is ", grad.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, shape));
    if (!DispatchFloating(grad.dtype(), [&]<typename T>() {
          AvgPoolBackward<T>(g, grad.data<T>(), result->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), grad.dtype());
    }
    return CheckWanted();
  }

 private:
  const WindowAttrs attrs_;
};

}  // namespace

void AddAvgPoolReferenceKernels(KernelTable& table) {
  table.Add({
      {"AvgPool", "ref", FromClass<AvgPoolKernel>},
      {"AvgPoolGrad", "ref", FromClass<AvgPoolGradKernel>},
  });
}

}  // namespace carillon
