// Local response normalisation over neighbouring channels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/nn.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

class LrnKernel : public Kernel {
 public:
  explicit LrnKernel(const KernelRequest& request)
      : radius_(request.attr<int64_t>("depth_radius")),
        bias_(request.attr<float>("bias")),
        alpha_(request.attr<float>("alpha")),
        beta_(request.attr<float>("beta")) {}
  template <typename K>
  static KernelResult MakeOf(const KernelRequest& request) {
    const int64_t radius = request.attr<int64_t>("depth_radius");
    if (radius < 0 || radius > std::numeric_limits<int>::max())
      return InvalidArgument("depth_radius must be between 0 and the largest int but is ", radius);
    return std::make_unique<K>(request);
  }

 protected:
  // norms[c] = bias + alpha * sum of squares of the channels around c.
  template <typename T>
  void Norms(const T* pixel, int64_t channels, std::vector<float>* norms) const {
    for (int64_t c = 0; c < channels; ++c) {
      if (WorkIsCancelled()) return;  // there may be millions around it
      float sum = 0;
      for (int64_t k = Begin(c); k < End(c, channels); ++k) {
        const float value = static_cast<float>(pixel[k]);
        sum += value * value;
      }
      (*norms)[static_cast<size_t>(c)] = bias_ + alpha_ * sum;
    }
  }
  int64_t Begin(int64_t c) const { return std::max<int64_t>(0, c - radius_); }
  int64_t End(int64_t c, int64_t channels) const { return std::min(channels, c + radius_ + 1); }

  static Status CheckImage(const Tensor& image) {
    if (image.rank() == 4) return absl::OkStatus();
    return InvalidArgument("the image must have 4 dimensions but is ", image.shape().ToString());
  }

  const int64_t radius_;
  const float bias_, alpha_, beta_;
};

class LrnForwardKernel final : public LrnKernel {
 public:
  using LrnKernel::LrnKernel;
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    CARILLON_RETURN_IF_ERROR(CheckImage(input));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
    const int64_t channels = input.dim(3);
    const int64_t pixels = channels == 0 ? 0 : input.num_elements() / channels;
    if (!DispatchAmong<float, Half, Bfloat16>(input.dtype(), [&]<typename T>() {
          const T* from = input.data<T>();
          T* to = output->mutable_data<T>();
          ParallelFor(pixels, 64, [&](int64_t begin, int64_t end) {
            std::vector<float> norms(static_cast<size_t>(channels));
            for (int64_t p = begin; p < end; ++p) {
              Norms(from + p * channels, channels, &norms);
              for (int64_t c = 0; c < channels; ++c) {
                to[p * channels + c] =
                    static_cast<T>(static_cast<float>(from[p * channels + c]) *
                                   std::pow(norms[static_cast<size_t>(c)], -beta_));
              }
            }
          });
        })) {
      return NoSuchType(context.node(), input.dtype());
    }
    return CheckWanted();
  }
};

class LrnGradKernel final : public LrnKernel {
 public:
  using LrnKernel::LrnKernel;
  Status Run(KernelContext& context) override {
    const Tensor& grads = context.input(0);
    const Tensor& input = context.input(1);
    const Tensor& output = context.input(2);
    CARILLON_RETURN_IF_ERROR(CheckImage(input));
    if (grads.shape() != input.shape() || output.shape() != input.shape()) {
      return InvalidArgument("gradients, input and output must have one shape but have ",
                             grads.shape().ToString(), ", ", input.shape().ToString(), " and ",
                             output.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, input.shape()));
    const int64_t channels = input.dim(3);
    const int64_t pixels = channels == 0 ? 0 : input.num_elements() / channels;
    if (!DispatchAmong<float, Half, Bfloat16>(input.dtype(), [&]<typename T>() {
          ParallelFor(pixels, 64, [&](int64_t begin, int64_t end) {
            std::vector<float> norms(static_cast<size_t>(channels));
            for (int64_t p = begin; p < end; ++p) {
              const int64_t at = p * channels;
              Pixel(grads.data<T>() + at, input.data<T>() + at, output.data<T>() + at, channels,
                    &norms, result->mutable_data<T>() + at);
            }
          });
        })) {
      return NoSuchType(context.node(), input.dtype());
    }
    return CheckWanted();
  }

 private:
  // The output of channel j depends on input k directly (j == k) and through its norm.
  template <typename T>
  void Pixel(const T* grads, const T* input, const T* output, int64_t channels,
             std::vector<float>* norms, T* result) const {
    Norms(input, channels, norms);
    for (int64_t k = 0; k < channels; ++k) {
      if (WorkIsCancelled()) return;
      float sum = static_cast<float>(grads[k]) * std::pow((*norms)[static_cast<size_t>(k)], -beta_);
      float through = 0;
      for (int64_t j = Begin(k); j < End(k, channels); ++j)
        through += static_cast<float>(grads[j]) * static_cast<float>(output[j]) /
                   (*norms)[static_cast<size_t>(j)];
      sum -= 2 * alpha_ * beta_ * static_cast<float>(input[k]) * through;
      result[k] = static_cast<T>(sum);
    }
  }
};

}  // namespace

void AddLrnReferenceKernels(KernelTable& table) {
  table.Add({
      {"LRN", "ref", LrnKernel::MakeOf<LrnForwardKernel>},
      {"LRNGrad", "ref", LrnKernel::MakeOf<LrnGradKernel>},
  });
}

}  // namespace carillon
