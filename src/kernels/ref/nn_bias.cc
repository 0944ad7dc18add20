// BiasAdd and its gradient, for any rank: a tensor seen as [outer, channels, inner].
#include <algorithm>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/nn.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

struct BiasView {
  int64_t outer = 1, channels = 0, inner = 1;
};

// With NCHW the channels are the second dimension, else the last.
StatusOr<BiasView> ViewAsBias(const Shape& shape, bool channels_second) {
  const int least = channels_second ? 3 : 2;
  if (shape.rank() < least) {
    return InvalidArgument("the value must have at least ", least, " dimensions but is ",
                           shape.ToString());
  }
  const int axis = channels_second ? 1 : shape.rank() - 1;
  BiasView view;
  view.channels = shape.dim(axis);
  if (shape.num_elements() == 0) {
    view.outer = view.inner = 0;
    return view;
  }
  for (int i = 0; i < shape.rank(); ++i) {
    if (i < axis) view.outer *= shape.dim(i);
    if (i > axis) view.inner *= shape.dim(i);
  }
  return view;
}

bool ChannelsSecond(const Node& node) {
  return node.FindAttr("data_format") != nullptr && node.attr<std::string>("data_format") == "NCHW";
}

class BiasAddKernel final : public Kernel {
 public:
  explicit BiasAddKernel(const KernelRequest& request)
      : channels_second_(ChannelsSecond(request.node)) {
    traits_.reuses.push_back({0, 0});
  }
  Status Run(KernelContext& context) override {
    const Tensor& value = context.input(0);
    const Tensor& bias = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(const BiasView view, ViewAsBias(value.shape(), channels_second_));
    if (bias.rank() != 1 || bias.dim(0) != view.channels) {
      return InvalidArgument("the bias should be a vector of ", view.channels, " but is ",
                             bias.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output,
                              context.ReuseOrAllocateOutput(0, {0}, value.shape()));
    if (!DispatchNumber(value.dtype(), [&]<typename T>() {
          Add<T>(view, value.data<T>(), bias.data<T>(), output->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), value.dtype());
    }
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static void Add(const BiasView& view, const T* value, const T* bias, T* output) {
    using A = Accumulator<T>;
    const int64_t block = view.channels * view.inner;
    ParallelFor(view.outer, GrainFor(static_cast<double>(block)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* from = value + i * block;
        T* to = output + i * block;
        if (view.inner == 1) {
          for (int64_t c = 0; c < view.channels; ++c)
            to[c] = static_cast<T>(
                MultiplyAdd<A>(static_cast<A>(from[c]), static_cast<A>(bias[c]), A{1}));
          continue;
        }
        for (int64_t c = 0; c < view.channels; ++c) {
          const A shift = static_cast<A>(bias[c]);
          for (int64_t k = c * view.inner; k < (c + 1) * view.inner; ++k)
            to[k] = static_cast<T>(MultiplyAdd<A>(static_cast<A>(from[k]), shift, A{1}));
        }
      }
    });
  }
  const bool channels_second_;
};

class BiasAddGradKernel final : public Kernel {
 public:
  explicit BiasAddGradKernel(const KernelRequest& request)
      : channels_second_(ChannelsSecond(request.node)) {}
  Status Run(KernelContext& context) override {
    const Tensor& grad = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const BiasView view, ViewAsBias(grad.shape(), channels_second_));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, Shape{view.channels}));
    if (!DispatchNumber(grad.dtype(), [&]<typename T>() {
          Sum<T>(view, grad.data<T>(), output->mutable_data<T>());
        })) {
      return NoSuchType(context.node(), grad.dtype());
    }
    return absl::OkStatus();
  }

 private:
  // Threads share the channels, so that the order of summation does not depend on their number.
  template <typename T>
  static void Sum(const BiasView& view, const T* grad, T* output) {
    using A = Accumulator<T>;
    const int64_t block = view.channels * view.inner;
    const double channel_work = static_cast<double>(view.outer) * static_cast<double>(view.inner);
    const int64_t grain = std::max<int64_t>(view.inner == 1 ? 16 : 1, GrainFor(channel_work));
    ParallelFor(view.channels, grain, [&](int64_t begin, int64_t end) {
      std::vector<A> sums(static_cast<size_t>(end - begin), A{});
      for (int64_t i = 0; i < view.outer; ++i) {
        const T* from = grad + i * block;
        for (int64_t c = begin; c < end; ++c) {
          A sum = sums[static_cast<size_t>(c - begin)];
          for (int64_t k = c * view.inner; k < (c + 1) * view.inner; ++k)
            sum = MultiplyAdd<A>(sum, static_cast<A>(from[k]), A{1});
          sums[static_cast<size_t>(c - begin)] = sum;
        }
      }
      for (int64_t c = begin; c < end; ++c)
        output[c] = static_cast<T>(sums[static_cast<size_t>(c - begin)]);
    });
  }
  const bool channels_second_;
};

}  // namespace

void AddBiasReferenceKernels(KernelTable& table) {
  table.Add({
      {"BiasAdd", "ref", FromClass<BiasAddKernel>},
      {"BiasAddV1", "ref", FromClass<BiasAddKernel>},
      {"BiasAddGrad", "ref", FromClass<BiasAddGradKernel>},
  });
}

}  // namespace carillon
