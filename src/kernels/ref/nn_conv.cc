// Convolutions as plain loops. Channels are innermost, so that they vectorise; sums of one output
// stay in one small buffer.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/nn_conv_kernel.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

template <typename Body>
bool DispatchConv(DType dtype, Body&& body) {
  return DispatchFloating(dtype, body) || DispatchAmong<int32_t>(dtype, body);
}

int64_t RowGrain(const ConvGeometry& g, int64_t row_pixels) {
  return GrainFor(static_cast<double>(row_pixels) * static_cast<double>(g.height.size) *
                  static_cast<double>(g.width.size) * static_cast<double>(g.filter_in_channels()) *
                  static_cast<double>(g.out_channels));
}

template <typename T>
void Forward(const ConvGeometry& g, const T* input, const T* filter, T* output) {
  using A = Accumulator<T>;
  const ImageStrides in(g.format, g.height.input, g.width.input, g.in_channels);
  const ImageStrides out(g.format, g.height.output, g.width.output, g.out_channels);
  const int64_t ins = g.filter_in_channels();
  const int64_t outs = g.out_channels / g.groups;
  ParallelFor(g.batch * g.height.output, RowGrain(g, g.width.output),
              [&](int64_t begin, int64_t end) {
                std::vector<A> sums(static_cast<size_t>(outs));
                for (int64_t row = begin; row < end; ++row) {
                  const int64_t n = row / g.height.output;
                  const int64_t y = row % g.height.output;
                  const TapRange ky(g.height, g.height.Start(y));
                  for (int64_t x = 0; x < g.width.output; ++x) {
                    if (WorkIsCancelled()) return;  // a filter may be millions wide
                    const TapRange kx(g.width, g.width.Start(x));
                    for (int64_t group = 0; group < g.groups; ++group) {
                      std::fill(sums.begin(), sums.end(), A{});
                      for (int64_t i = ky.begin; i < ky.end; ++i) {
                        for (int64_t j = kx.begin; j < kx.end; ++j) {
                          const T* pixel = input + n * in.batch +
                                           (g.height.Start(y) + i * g.height.dilation) * in.height +
                                           (g.width.Start(x) + j * g.width.dilation) * in.width +
                                           group * ins * in.channels;
                          const T* taps =
                              filter + (i * g.width.size + j) * ins * g.out_channels + group * outs;
                          for (int64_t c = 0; c < ins; ++c) {
                            const A value = static_cast<A>(pixel[c * in.channels]);
                            const T* weights = taps + c * g.out_channels;
                            for (int64_t o = 0; o < outs; ++o) {
                              A& sum = sums[static_cast<size_t>(o)];
                              sum = MultiplyAdd<A>(sum, value, static_cast<A>(weights[o]));
                            }
                          }
                        }
                      }
                      T* result = output + n * out.batch + y * out.height + x * out.width +
                                  group * outs * out.channels;
                      for (int64_t o = 0; o < outs; ++o)
                        result[o * out.channels] = static_cast<T>(sums[static_cast<size_t>(o)]);
                    }
                  }
                }
              });
}

// The output position whose window meets input position `at` with tap `tap`; -1 when there is none.
int64_t MeetingOutput(const WindowDim& window, int64_t at, int64_t tap) {
  const int64_t offset = at + window.pad_before - tap * window.dilation;
  if (offset < 0 || offset % window.stride != 0) return -1;
  const int64_t out = offset / window.stride;
  return out < window.output ? out : -1;
}

template <typename T>
void BackwardInput(const ConvGeometry& g, const T* filter, const T* grad, T* result) {
  using A = Accumulator<T>;
  const ImageStrides in(g.format, g.height.input, g.width.input, g.in_channels);
  const ImageStrides out(g.format, g.height.output, g.width.output, g.out_channels);
  const int64_t ins = g.filter_in_channels();
  const int64_t outs = g.out_channels / g.groups;
  ParallelFor(
      g.batch * g.height.input, RowGrain(g, g.width.input), [&](int64_t begin, int64_t end) {
        std::vector<A> sums(static_cast<size_t>(ins));
        for (int64_t row = begin; row < end; ++row) {
          const int64_t n = row / g.height.input;
          const int64_t y = row % g.height.input;
          for (int64_t x = 0; x < g.width.input; ++x) {
            if (WorkIsCancelled()) return;
            for (int64_t group = 0; group < g.groups; ++group) {
              std::fill(sums.begin(), sums.end(), A{});
              for (int64_t i = 0; i < g.height.size; ++i) {
                const int64_t oy = MeetingOutput(g.height, y, i);
                if (oy < 0) continue;
                for (int64_t j = 0; j < g.width.size; ++j) {
                  const int64_t ox = MeetingOutput(g.width, x, j);
                  if (ox < 0) continue;
                  const T* pixel = grad + n * out.batch + oy * out.height + ox * out.width +
                                   group * outs * out.channels;
                  const T* taps =
                      filter + (i * g.width.size + j) * ins * g.out_channels + group * outs;
                  for (int64_t c = 0; c < ins; ++c) {
                    A sum = sums[static_cast<size_t>(c)];
                    for (int64_t o = 0; o < outs; ++o) {
                      sum = MultiplyAdd<A>(sum, static_cast<A>(pixel[o * out.channels]),
                                           static_cast<A>(taps[c * g.out_channels + o]));
                    }
                    sums[static_cast<size_t>(c)] = sum;
                  }
                }
              }
              T* pixel =
                  result + n * in.batch + y * in.height + x * in.width + group * ins * in.channels;
              for (int64_t c = 0; c < ins; ++c)
                pixel[c * in.channels] = static_cast<T>(sums[static_cast<size_t>(c)]);
            }
          }
        }
      });
}

template <typename T>
void BackwardFilter(const ConvGeometry& g, const T* input, const T* grad, T* result) {
  using A = Accumulator<T>;
  const ImageStrides in(g.format, g.height.input, g.width.input, g.in_channels);
  const ImageStrides out(g.format, g.height.output, g.width.output, g.out_channels);
  const int64_t ins = g.filter_in_channels();
  const int64_t outs = g.out_channels / g.groups;
  const int64_t tap_elements = ins * g.out_channels;
  ParallelFor(g.height.size * g.width.size, 1, [&](int64_t begin, int64_t end) {
    std::vector<A> sums(static_cast<size_t>(tap_elements));
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
            for (int64_t group = 0; group < g.groups; ++group) {
              for (int64_t c = 0; c < ins; ++c) {
                const A value = static_cast<A>(pixel[(group * ins + c) * in.channels]);
                A* row = sums.data() + c * g.out_channels + group * outs;
                const T* grad_row = grads + group * outs * out.channels;
                for (int64_t o = 0; o < outs; ++o) {
                  row[o] =
                      MultiplyAdd<A>(row[o], value, static_cast<A>(grad_row[o * out.channels]));
                }
              }
            }
          }
        }
      }
      T* to = result + tap * tap_elements;
      for (int64_t i = 0; i < tap_elements; ++i)
        to[i] = static_cast<T>(sums[static_cast<size_t>(i)]);
    }
  });
}

// Adds a bias to each channel of an image batch and takes the Relu of it.
template <typename T>
void AddBias(const ConvGeometry& g, const T* bias, bool relu, T* output) {
  using A = Accumulator<T>;
  const ImageStrides out(g.format, g.height.output, g.width.output, g.out_channels);
  ParallelFor(g.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      for (int64_t at = 0; at < g.height.output * g.width.output; ++at) {
        T* pixel = output + n * out.batch + at * out.width;
        for (int64_t o = 0; o < g.out_channels; ++o) {
          const A sum = static_cast<A>(pixel[o * out.channels]) + static_cast<A>(bias[o]);
          pixel[o * out.channels] = static_cast<T>(relu && sum < A{0} ? A{0} : sum);
        }
      }
    }
  });
}

// The sum of each channel of an image batch.
template <typename T>
void SumChannels(const ConvGeometry& g, const T* grad, T* sums) {
  using A = Accumulator<T>;
  const ImageStrides out(g.format, g.height.output, g.width.output, g.out_channels);
  ParallelFor(g.out_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      A sum{};
      for (int64_t n = 0; n < g.batch; ++n) {
        for (int64_t at = 0; at < g.height.output * g.width.output; ++at)
          sum += static_cast<A>(grad[n * out.batch + at * out.width + o * out.channels]);
      }
      sums[o] = static_cast<T>(sum);
    }
  });
}

class Conv2DKernel final : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& filter = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(const ConvGeometry g,
                              MakeConvGeometry(attrs_, input.shape(), filter.shape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, g.OutputShape()));
    if (!DispatchConv(input.dtype(), [&]<typename T>() {
          Forward<T>(g, input.data<T>(), filter.data<T>(), output->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), input.dtype());
    }
    return CheckWanted();
  }
};

class FusedConv2DKernel final : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& filter = context.input(1);
    const Tensor& bias = context.input(2);
    CARILLON_ASSIGN_OR_RETURN(const ConvGeometry g,
                              MakeConvGeometry(attrs_, input.shape(), filter.shape()));
    if (bias.shape() != Shape{g.out_channels}) {
      return InvalidArgument("the bias should be a vector of ", g.out_channels, " but is ",
                             bias.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, g.OutputShape()));
    const bool relu = context.node().attr<bool>("relu");
    if (!DispatchFloating(input.dtype(), [&]<typename T>() {
          Forward<T>(g, input.data<T>(), filter.data<T>(), output->mutable_data<T>());
          AddBias<T>(g, bias.data<T>(), relu, output->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), input.dtype());
    }
    return CheckWanted();
  }
};

class Conv2DBackpropInputKernel final : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  Status Run(KernelContext& context) override {
    const Tensor& filter = context.input(1);
    const Tensor& grad = context.input(2);
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, InputShape(context));
    CARILLON_ASSIGN_OR_RETURN(const ConvGeometry g,
                              MakeConvGeometry(attrs_, shape, filter.shape()));
    CARILLON_RETURN_IF_ERROR(CheckGradient(g, grad));
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, shape));
    if (!DispatchConv(grad.dtype(), [&]<typename T>() {
          BackwardInput<T>(g, filter.data<T>(), grad.data<T>(), result->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), grad.dtype());
    }
    return CheckWanted();
  }

 private:
  // From four sizes, or from height and width alone.
  StatusOr<Shape> InputShape(const KernelContext& context) const {
    const Tensor& sizes = context.input(0);
    if (sizes.num_elements() != 2) return ShapeFromSizes(sizes, 4);
    CARILLON_ASSIGN_OR_RETURN(const Shape sides, ShapeFromSizes(sizes, 2));
    const Tensor& filter = context.input(1);
    const Tensor& grad = context.input(2);
    if (filter.rank() != 4 || grad.rank() != 4) {
      return InvalidArgument("filter and gradient must have 4 dimensions but are ",
                             filter.shape().ToString(), " and ", grad.shape().ToString());
    }
    std::array<int64_t, 4> dims;
    dims[static_cast<size_t>(attrs_.format.batch)] = grad.dim(attrs_.format.batch);
    dims[static_cast<size_t>(attrs_.format.channels)] = filter.dim(2);
    dims[static_cast<size_t>(attrs_.format.height)] = sides.dim(0);
    dims[static_cast<size_t>(attrs_.format.width)] = sides.dim(1);
    Shape shape;
    if (!Shape::TryMake(dims, &shape)) return InvalidArgument("the input would be too large");
    return shape;
  }
};

class Conv2DBackpropFilterKernel final : public ConvKernel {
 public:
  using ConvKernel::ConvKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& grad = context.input(2);
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromSizes(context.input(1), 4));
    CARILLON_ASSIGN_OR_RETURN(const ConvGeometry g, MakeConvGeometry(attrs_, input.shape(), shape));
    CARILLON_RETURN_IF_ERROR(CheckGradient(g, grad));
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, shape));
    Tensor* bias_grad = nullptr;  // of _ConvBackpropFilterBias
    if (context.num_outputs() > 1) {
      CARILLON_ASSIGN_OR_RETURN(bias_grad, context.AllocateOutput(1, Shape{g.out_channels}));
    }
    if (!DispatchFloating(grad.dtype(), [&]<typename T>() {
          BackwardFilter<T>(g, input.data<T>(), grad.data<T>(), result->mutable_data<T>());
          if (bias_grad != nullptr) SumChannels<T>(g, grad.data<T>(), bias_grad->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), grad.dtype());
    }
    return CheckWanted();
  }
};

}  // namespace

void AddConvReferenceKernels(KernelTable& table) {
  table.Add({
      {"Conv2D", "ref", ConvKernel::MakeOf<Conv2DKernel>},
      {"Conv2DBackpropInput", "ref", ConvKernel::MakeOf<Conv2DBackpropInputKernel>},
      {"Conv2DBackpropFilter", "ref", ConvKernel::MakeOf<Conv2DBackpropFilterKernel>},
      {"_FusedConv2D", "ref", ConvKernel::MakeOf<FusedConv2DKernel>},
      {"_ConvBackpropFilterBias", "ref", ConvKernel::MakeOf<Conv2DBackpropFilterKernel>},
  });
}

}  // namespace carillon
