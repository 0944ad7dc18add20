// Max pooling and its gradients. Of several equal maxima the first in row-major order counts.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/nn.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// The window comes from attributes, or from inputs 1 and 2 past the tensors (the V2 ops).
StatusOr<WindowAttrs> ResolveAttrs(const WindowAttrs& attrs, const KernelContext& context,
                                   int first_window_input) {
  if (first_window_input < 0) return attrs;
  std::array<std::array<int64_t, 4>, 2> values;
  for (int k = 0; k < 2; ++k) {
    const Tensor& vector = context.input(first_window_input + k);
    if (vector.rank() != 1 || vector.dim(0) != 4) {
      return InvalidArgument(k == 0 ? "ksize" : "strides", " must have 4 values but is ",
                             vector.ToString());
    }
    for (size_t i = 0; i < 4; ++i) values[static_cast<size_t>(k)][i] = vector.data<int32_t>()[i];
  }
  WindowAttrs resolved = attrs;
  CARILLON_RETURN_IF_ERROR(resolved.SetWindow(values[0], values[1]));
  return resolved;
}

class PoolKernel : public Kernel {
 public:
  PoolKernel(WindowAttrs attrs, int first_window_input)
      : attrs_(std::move(attrs)), first_window_input_(first_window_input) {}
  // `first_window_input`: -1 when the window stands in the attributes.
  template <typename K, int first_window_input = -1>
  static KernelResult MakeOf(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(request.node));
    return std::make_unique<K>(std::move(attrs), first_window_input);
  }

 protected:
  StatusOr<PoolGeometry> Geometry(const KernelContext& context, const Shape& input) const {
    CARILLON_ASSIGN_OR_RETURN(const WindowAttrs attrs,
                              ResolveAttrs(attrs_, context, first_window_input_));
    return MakePoolGeometry(attrs, input);
  }
  const WindowAttrs attrs_;
  const int first_window_input_;
};

Status CheckShape(std::string_view what, const Tensor& tensor, const Shape& wanted) {
  if (tensor.shape() == wanted) return absl::OkStatus();
  return InvalidArgument(what, " should have shape ", wanted.ToString(), " but has ",
                         tensor.shape().ToString());
}

int64_t RowGrain(const PoolGeometry& g) {
  return GrainFor(static_cast<double>(g.width.output) * static_cast<double>(g.channels) *
                  static_cast<double>(g.height.size) * static_cast<double>(g.width.size));
}

// Starts from the lowest finite number, so that NaN never wins and -inf becomes that number, as in
// TensorFlow.
template <typename T>
void MaxPoolForward(const PoolGeometry& g, const T* input, T* output) {
  const ImageStrides in(g.format, g.height.input, g.width.input, g.channels);
  const ImageStrides out(g.format, g.height.output, g.width.output, g.channels);
  using A = Accumulator<T>;
  A lowest = std::numeric_limits<A>::lowest();
  if constexpr (std::is_same_v<T, Half>) lowest = -65504.0f;
  if constexpr (std::is_same_v<T, Bfloat16>)
    lowest = internal::Bfloat16BitsToFloat(0xff7f);  // the largest negative one
  ParallelFor(g.batch * g.height.output, RowGrain(g), [&](int64_t begin, int64_t end) {
    std::vector<A> best(static_cast<size_t>(g.channels));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / g.height.output;
      const int64_t y = row % g.height.output;
      const TapRange ky(g.height, g.height.Start(y));
      for (int64_t x = 0; x < g.width.output; ++x) {
        if (WorkIsCancelled()) return;  // a window may be millions wide
        const TapRange kx(g.width, g.width.Start(x));
        std::fill(best.begin(), best.end(), lowest);
        for (int64_t i = ky.begin; i < ky.end; ++i) {
          for (int64_t j = kx.begin; j < kx.end; ++j) {
            const T* pixel = input + n * in.batch + (g.height.Start(y) + i) * in.height +
                             (g.width.Start(x) + j) * in.width;
            for (int64_t c = 0; c < g.channels; ++c) {
              const A value = static_cast<A>(pixel[c * in.channels]);
              A& largest = best[static_cast<size_t>(c)];
              largest = largest < value ? value : largest;
            }
          }
        }
        T* result = output + n * out.batch + y * out.height + x * out.width;
        for (int64_t c = 0; c < g.channels; ++c)
          result[c * out.channels] = static_cast<T>(best[static_cast<size_t>(c)]);
      }
    }
  });
}

// Calls visit(output offset, offset of the maximum inside the whole input) for every window of
// image n: the first element wins unless a later one is larger.
template <typename T, typename Visit>
void ForEachMaximum(const PoolGeometry& g, const T* input, int64_t n, const Visit& visit) {
  using A = Accumulator<T>;
  const ImageStrides in(g.format, g.height.input, g.width.input, g.channels);
  const ImageStrides out(g.format, g.height.output, g.width.output, g.channels);
  for (int64_t y = 0; y < g.height.output; ++y) {
    const TapRange ky(g.height, g.height.Start(y));
    for (int64_t x = 0; x < g.width.output; ++x) {
      const TapRange kx(g.width, g.width.Start(x));
      if (WorkIsCancelled()) return;
      for (int64_t c = 0; c < g.channels; ++c) {
        int64_t best = -1;
        A largest{};
        for (int64_t i = ky.begin; i < ky.end; ++i) {
          for (int64_t j = kx.begin; j < kx.end; ++j) {
            const int64_t at = n * in.batch + (g.height.Start(y) + i) * in.height +
                               (g.width.Start(x) + j) * in.width + c * in.channels;
            const A value = static_cast<A>(input[at]);
            if (best < 0 || largest < value) {
              best = at;
              largest = value;
            }
          }
        }
        visit(n * out.batch + y * out.height + x * out.width + c * out.channels, best);
      }
    }
  }
}

template <typename T>
void MaxPoolBackward(const PoolGeometry& g, const T* input, const T* grad, T* result) {
  using A = Accumulator<T>;
  const int64_t image = g.height.input * g.width.input * g.channels;
  ParallelFor(g.batch, 1, [&](int64_t begin, int64_t end) {
    std::vector<A> sums(static_cast<size_t>(image));
    for (int64_t n = begin; n < end; ++n) {
      std::fill(sums.begin(), sums.end(), A{});
      ForEachMaximum(g, input, n, [&](int64_t out, int64_t best) {
        if (best >= 0) {
          A& sum = sums[static_cast<size_t>(best - n * image)];
          sum = MultiplyAdd<A>(sum, static_cast<A>(grad[out]), A{1});
        }
      });
      for (int64_t i = 0; i < image; ++i)
        result[n * image + i] = static_cast<T>(sums[static_cast<size_t>(i)]);
    }
  });
}

// The same for features that a Relu made, with the gradient of that Relu.
template <typename T>
void ReluPoolBackward(const PoolGeometry& g, const T* features, const T* grad, T* result) {
  MaxPoolBackward<T>(g, features, grad, result);
  const int64_t image = g.height.input * g.width.input * g.channels;
  ParallelFor(g.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * image; i < end * image; ++i)
      result[i] = static_cast<float>(features[i]) > 0 ? result[i] : T{};
  });
}

// Windows over the channels alone: MaxPool takes them when they do not overlap and fit evenly.
Status CheckDepthWindow(const WindowAttrs& attrs, const Shape& input) {
  if (attrs.ksize[0] != 1 || attrs.ksize[1] != 1 || attrs.strides[0] != 1 ||
      attrs.strides[1] != 1) {
    return Unimplemented("pooling over channels and space at once is not supported");
  }
  if (!attrs.format.channels_last())
    return Unimplemented("pooling over channels is supported for NHWC alone");
  if (input.rank() != 4)
    return InvalidArgument("the input must have 4 dimensions but is ", input.ToString());
  if (attrs.depth_window != attrs.depth_stride || input.dim(3) % attrs.depth_window != 0) {
    return Unimplemented(
        "pooling over channels needs windows that equal the stride and divide the ", input.dim(3),
        " channels evenly");
  }
  return absl::OkStatus();
}

class MaxPoolKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const WindowAttrs attrs,
                              ResolveAttrs(attrs_, context, first_window_input_));
    PoolGeometry g;
    Shape output_shape;
    if (attrs.depth_window > 1) {
      // The channels become a row of pixels with one channel each.
      CARILLON_RETURN_IF_ERROR(CheckDepthWindow(attrs, input.shape()));
      g.batch = 1;
      g.channels = 1;
      g.height = {1, 1, 1, 1, 0, 0, 1};
      g.width.input = input.num_elements();
      g.width.size = g.width.stride = attrs.depth_window;
      g.width.output = input.num_elements() / attrs.depth_window;
      output_shape = input.shape();
      output_shape.set_dim(3, input.dim(3) / attrs.depth_window);
    } else {
      CARILLON_ASSIGN_OR_RETURN(g, MakePoolGeometry(attrs, input.shape()));
      output_shape = g.OutputShape();
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, output_shape));
    if (!DispatchNumber(input.dtype(), [&]<typename T>() {
          MaxPoolForward<T>(g, input.data<T>(), output->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), input.dtype());
    }
    return CheckWanted();
  }
};

template <bool relu>
class MaxPoolGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& grad = context.input(2);
    CARILLON_ASSIGN_OR_RETURN(const PoolGeometry g, Geometry(context, input.shape()));
    CARILLON_RETURN_IF_ERROR(CheckShape("orig_output", context.input(1), g.OutputShape()));
    CARILLON_RETURN_IF_ERROR(CheckShape("grad", grad, g.OutputShape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, input.shape()));
    const auto run = [&]<typename T>() {
      relu ? ReluPoolBackward<T>(g, input.data<T>(), grad.data<T>(), result->mutable_data<T>())
           : MaxPoolBackward<T>(g, input.data<T>(), grad.data<T>(), result->mutable_data<T>());
    };
    if (!(relu ? DispatchFloating(input.dtype(), run) : DispatchNumber(input.dtype(), run))) {
      return NoSuchType(context.node(), input.dtype());
    }
    return CheckWanted();
  }
};

// Picks, for every window, the gradient at the place of its maximum.
class MaxPoolGradGradKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& grad = context.input(2);
    CARILLON_ASSIGN_OR_RETURN(const PoolGeometry g, Geometry(context, input.shape()));
    CARILLON_RETURN_IF_ERROR(CheckShape("orig_output", context.input(1), g.OutputShape()));
    CARILLON_RETURN_IF_ERROR(CheckShape("grad", grad, input.shape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, g.OutputShape()));
    if (!DispatchNumber(input.dtype(), [&]<typename T>() {
          const T* from = grad.data<T>();
          T* to = result->mutable_data<T>();
          ParallelFor(g.batch, 1, [&](int64_t begin, int64_t end) {
            for (int64_t n = begin; n < end; ++n) {
              ForEachMaximum(g, input.data<T>(), n, [&](int64_t out, int64_t best) {
                to[out] = best < 0 ? T{} : from[best];
              });
            }
          });
        })) {
      return NoSuchType(context.node(), input.dtype());
    }
    return CheckWanted();
  }
};

class MaxPoolWithArgmaxKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const PoolGeometry g, Geometry(context, input.shape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, g.OutputShape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * argmax, context.AllocateOutput(1, g.OutputShape()));
    const bool with_batch = context.node().attr<bool>("include_batch_in_index");
    const int64_t image = g.height.input * g.width.input * g.channels;
    const auto run = [&]<typename T, typename Index>() {
      const T* from = input.data<T>();
      T* to = output->mutable_data<T>();
      Index* indices = argmax->mutable_data<Index>();
      ParallelFor(g.batch, 1, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          ForEachMaximum(g, from, n, [&](int64_t out, int64_t best) {
            to[out] = best < 0 ? T{} : from[best];
            indices[out] = static_cast<Index>(with_batch ? best : best - n * image);
          });
        }
      });
    };
    if (!DispatchNumber(input.dtype(), [&]<typename T>() {
          argmax->dtype() == DType::kInt32 ? run.template operator()<T, int32_t>()
                                           : run.template operator()<T, int64_t>();
        })) {
      return NoSuchType(context.node(), input.dtype());
    }
    return CheckWanted();
  }
};

class MaxPoolGradWithArgmaxKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& grad = context.input(1);
    const Tensor& argmax = context.input(2);
    CARILLON_ASSIGN_OR_RETURN(const PoolGeometry g, Geometry(context, input.shape()));
    CARILLON_RETURN_IF_ERROR(CheckShape("grad", grad, g.OutputShape()));
    CARILLON_RETURN_IF_ERROR(CheckShape("argmax", argmax, g.OutputShape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, input.shape()));
    Status status;
    if (!DispatchNumber(input.dtype(), [&]<typename T>() {
          status = argmax.dtype() == DType::kInt32
                       ? Scatter<T, int32_t>(context, g, grad, argmax, result)
                       : Scatter<T, int64_t>(context, g, grad, argmax, result);
        })) {
      return NoSuchType(context.node(), input.dtype());
    }
    return status;
  }

 private:
  template <typename T, typename Index>
  static Status Scatter(const KernelContext& context, const PoolGeometry& g, const Tensor& grad,
                        const Tensor& argmax, Tensor* result) {
    using A = Accumulator<T>;
    const int64_t image = g.height.input * g.width.input * g.channels;
    const int64_t windows = g.height.output * g.width.output * g.channels;
    const bool with_batch = context.node().attr<bool>("include_batch_in_index");
    const T* from = grad.data<T>();
    const Index* indices = argmax.data<Index>();
    std::vector<A> sums(static_cast<size_t>(image));
    for (int64_t n = 0; n < g.batch; ++n) {
      std::fill(sums.begin(), sums.end(), A{});
      for (int64_t i = n * windows; i < (n + 1) * windows; ++i) {
        const int64_t at = static_cast<int64_t>(indices[i]) - (with_batch ? n * image : 0);
        if (at < 0 || at >= image) {
          return InvalidArgument("argmax ", static_cast<int64_t>(indices[i]),
                                 " lies outside image ", n, " of ", image, " elements");
        }
        A& sum = sums[static_cast<size_t>(at)];
        sum = MultiplyAdd<A>(sum, static_cast<A>(from[i]), A{1});
      }
      T* to = result->mutable_data<T>() + n * image;
      for (int64_t i = 0; i < image; ++i) to[i] = static_cast<T>(sums[static_cast<size_t>(i)]);
    }
    return absl::OkStatus();
  }
};

}  // namespace

void AddMaxPoolReferenceKernels(KernelTable& table) {
  table.Add({
      {"MaxPool", "ref", PoolKernel::MakeOf<MaxPoolKernel>},
      {"MaxPoolV2", "ref", PoolKernel::MakeOf<MaxPoolKernel, 1>},
      {"MaxPoolGrad", "ref", PoolKernel::MakeOf<MaxPoolGradKernel<false>>},
      {"MaxPoolGradV2", "ref", PoolKernel::MakeOf<MaxPoolGradKernel<false>, 3>},
      {"_FusedReluPoolGrad", "ref", PoolKernel::MakeOf<MaxPoolGradKernel<true>>},
      {"MaxPoolGradGrad", "ref", PoolKernel::MakeOf<MaxPoolGradGradKernel>},
      {"MaxPoolWithArgmax", "ref", PoolKernel::MakeOf<MaxPoolWithArgmaxKernel>},
      {"MaxPoolGradWithArgmax", "ref", PoolKernel::MakeOf<MaxPoolGradWithArgmaxKernel>},
  });
}

}  // namespace carillon
