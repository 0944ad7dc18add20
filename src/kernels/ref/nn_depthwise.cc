// Depthwise convolutions as plain loops: output channel c * multiplier + m comes from input channel
// c alone.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/nn_conv_kernel.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

int64_t RowGrain(const ConvGeometry& g) {
  return GrainFor(static_cast<double>(g.width.output) * static_cast<double>(g.height.size) *
                  static_cast<double>(g.width.size) * static_cast<double>(g.out_channels));
}

template <typename T>
void Forward(const ConvGeometry& g, const T* input, const T* filter, T* output) {
  using A = Accumulator<T>;
  const ImageStrides in(g.format, g.height.input, g.width.input, g.in_channels);
  const ImageStrides out(g.format, g.height.output, g.width.output, g.out_channels);
  const int64_t multiplier = g.in_channels == 0 ? 0 : g.out_channels / g.in_channels;
  ParallelFor(g.batch * g.height.output, RowGrain(g), [&](int64_t begin, int64_t end) {
    std::vector<A> sums(static_cast<size_t>(g.out_channels));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / g.height.output;
      const int64_t y = row % g.height.output;
      const TapRange ky(g.height, g.height.Start(y));
      for (int64_t x = 0; x < g.width.output; ++x) {
        if (WorkIsCancelled()) return;  // a filter may be millions wide
        const TapRange kx(g.width, g.width.Start(x));
        std::fill(sums.begin(), sums.end(), A{});
        for (int64_t i = ky.begin; i < ky.end; ++i) {
          for (int64_t j = kx.begin; j < kx.end; ++j) {
            const T* pixel = input + n * in.batch +
                             (g.height.Start(y) + i * g.height.dilation) * in.height +
                             (g.width.Start(x) + j * g.width.dilation) * in.width;
            const T* weights = filter + (i * g.width.size + j) * g.out_channels;
            for (int64_t c = 0; c < g.in_channels; ++c) {
              const A value = static_cast<A>(pixel[c * in.channels]);
              for (int64_t m = c * multiplier; m < (c + 1) * multiplier; ++m)
                sums[static_cast<size_t>(m)] += value * static_cast<A>(weights[m]);
            }
          }
        }
        T* result = output + n * out.batch + y * out.height + x * out.width;
        for (int64_t o = 0; o < g.out_channels; ++o)
          result[o * out.channels] = static_cast<T>(sums[static_cast<size_t>(o)]);
      }
    }
  });
}

template <typename T>
void BackwardInput(const ConvGeometry& g, const T* filter, const T* grad, T* result) {
  using A = Accumulator<T>;
  const ImageStrides in(g.format, g.height.input, g.width.input, g.in_channels);
  const ImageStrides out(g.format, g.height.output, g.width.output, g.out_channels);
  const int64_t multiplier = g.in_channels == 0 ? 0 : g.out_channels / g.in_channels;
  ParallelFor(g.batch, 1, [&](int64_t begin, int64_t end) {
    // The image's gradient, channels last.
    std::vector<A> sums(static_cast<size_t>(in.batch));
    for (int64_t n = begin; n < end; ++n) {
      std::fill(sums.begin(), sums.end(), A{});
      for (int64_t oy = 0; oy < g.height.output; ++oy) {
        const TapRange ky(g.height, g.height.Start(oy));
        for (int64_t ox = 0; ox < g.width.output; ++ox) {
          if (WorkIsCancelled()) return;
          const TapRange kx(g.width, g.width.Start(ox));
          const T* grads = grad + n * out.batch + oy * out.height + ox * out.width;
          for (int64_t i = ky.begin; i < ky.end; ++i) {
            const int64_t y = g.height.Start(oy) + i * g.height.dilation;
            for (int64_t j = kx.begin; j < kx.end; ++j) {
              const int64_t x = g.width.Start(ox) + j * g.width.dilation;
              A* pixel = sums.data() + (y * g.width.input + x) * g.in_channels;
              const T* weights = filter + (i * g.width.size + j) * g.out_channels;
              for (int64_t c = 0; c < g.in_channels; ++c) {
                for (int64_t m = c * multiplier; m < (c + 1) * multiplier; ++m)
                  pixel[c] += static_cast<A>(grads[m * out.channels]) * static_cast<A>(weights[m]);
              }
            }
          }
        }
      }
      for (int64_t at = 0; at < g.height.input * g.width.input; ++at) {
        T* pixel = result + n * in.batch + at * in.width;
        for (int64_t c = 0; c < g.in_channels; ++c)
          pixel[c * in.channels] =
              static_cast<T>(sums[static_cast<size_t>(at * g.in_channels + c)]);
      }
    }
  });
}

template <typename T>
void BackwardFilter(const ConvGeometry& g, const T* input, const T* grad, T* result) {
  using A = Accumulator<T>;
  const ImageStrides in(g.format, g.height.input, g.width.input, g.in_channels);
  const ImageStrides out(g.format, g.height.output, g.width.output, g.out_channels);
  const int64_t multiplier = g.in_channels == 0 ? 0 : g.out_channels / g.in_channels;
  ParallelFor(g.height.size * g.width.size, 1, [&](int64_t begin, int64_t end) {
    std::vector<A> sums(static_cast<size_t>(g.out_channels));
    for (int64_t tap = begin; tap < end; ++tap) {
      const int64_t dy = tap / g.width.size * g.height.dilation;
      const int64_t dx = tap % g.width.size * g.width.dilation;
      std::fill(sums.begin(), sums.end(), A{});
      for (int64_t n = 0; n < g.batch; ++n) {
        for (int64_t oy = 0; oy < g.height.output; ++oy) {
          if (WorkIsCancelled()) return;
          const int64_t y = g.height.Start(oy) + dy;
          if (y < 0 || y >= g.height.input) continue;
          for (int64_t ox = 0; ox < g.width.output; ++ox) {
            const int64_t x = g.width.Start(ox) + dx;
            if (x < 0 || x >= g.width.input) continue;
            const T* pixel = input + n * in.batch + y * in.height + x * in.width;
            const T* grads = grad + n * out.batch + oy * out.height + ox * out.width;
            for (int64_t c = 0; c < g.in_channels; ++c) {
              const A value = static_cast<A>(pixel[c * in.channels]);
              for (int64_t m = c * multiplier; m < (c + 1) * multiplier; ++m)
                sums[static_cast<size_t>(m)] += value * static_cast<A>(grads[m * out.channels]);
            }
          }
        }
      }
      T* to = result + tap * g.out_channels;
      for (int64_t o = 0; o < g.out_channels; ++o)
        to[o] = static_cast<T>(sums[static_cast<size_t>(o)]);
    }
  });
}

class DepthwiseForwardKernel final : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& filter = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(const ConvGeometry g,
                              MakeDepthwiseGeometry(attrs_, input.shape(), filter.shape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, g.OutputShape()));
    if (!DispatchFloating(input.dtype(), [&]<typename T>() {
          Forward<T>(g, input.data<T>(), filter.data<T>(), output->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), input.dtype());
    }
    return CheckWanted();
  }
};

class DepthwiseBackpropInputKernel final : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  Status Run(KernelContext& context) override {
    const Tensor& filter = context.input(1);
    const Tensor& grad = context.input(2);
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromSizes(context.input(0), 4));
    CARILLON_ASSIGN_OR_RETURN(const ConvGeometry g,
                              MakeDepthwiseGeometry(attrs_, shape, filter.shape()));
    CARILLON_RETURN_IF_ERROR(CheckGradient(g, grad));
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, shape));
    if (!DispatchFloating(grad.dtype(), [&]<typename T>() {
          BackwardInput<T>(g, filter.data<T>(), grad.data<T>(), result->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), grad.dtype());
    }
    return CheckWanted();
  }
};

class DepthwiseBackpropFilterKernel final : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& grad = context.input(2);
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromSizes(context.input(1), 4));
    CARILLON_ASSIGN_OR_RETURN(const ConvGeometry g,
                              MakeDepthwiseGeometry(attrs_, input.shape(), shape));
    CARILLON_RETURN_IF_ERROR(CheckGradient(g, grad));
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, shape));
    if (!DispatchFloating(grad.dtype(), [&]<typename T>() {
          BackwardFilter<T>(g, input.data<T>(), grad.data<T>(), result->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), grad.dtype());
    }
    return CheckWanted();
  }
};

}  // namespace

void AddDepthwiseConvReferenceKernels(KernelTable& table) {
  table.Add({
      {"DepthwiseConv2dNative", "ref", ConvKernel::MakeOf<DepthwiseForwardKernel>},
      {"DepthwiseConv2dNativeBackpropInput", "ref",
       ConvKernel::MakeOf<DepthwiseBackpropInputKernel>},
      {"DepthwiseConv2dNativeBackpropFilter", "ref",
       ConvKernel::MakeOf<DepthwiseBackpropFilterKernel>},
  });
}

}  // namespace carillon
