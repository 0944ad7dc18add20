// Batch normalisation. The tensor is seen as [outer, channels, inner]; statistics are summed in
// double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/parallel.h"
#include "kernels/ref/nn.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

struct ChannelView {
  int64_t outer = 1, channels = 0, inner = 1;
  int64_t per_channel() const { return outer * inner; }
};

class BatchNormKernel : public Kernel {
 public:
  explicit BatchNormKernel(const KernelRequest& request)
      : epsilon_(request.attr<float>("epsilon")),
        is_training_(request.attr<bool>("is_training")),
        format_(request.attr<std::string>("data_format")),
        relu_(request.node.op().starts_with("_FusedBatchNormRelu")),
        residual_(relu_ && request.attr<int64_t>("N") > 0) {}
  template <typename K>
  static KernelResult MakeOf(const KernelRequest& request) {
    if (request.input_dtype(3) != DType::kFloat)
      return Unimplemented("scale, offset and statistics must be float");
    if (request.node.FindAttr("N") != nullptr && request.attr<int64_t>("N") > 1)
      return InvalidArgument("there can be one residual, not ", request.attr<int64_t>("N"));
    return std::make_unique<K>(request);
  }

 protected:
  StatusOr<ChannelView> View(const Shape& shape) const {
    if (shape.rank() != static_cast<int>(format_.size())) {
      return InvalidArgument("a tensor of format ", format_, " cannot have shape ",
                             shape.ToString());
    }
    const int axis = format_[1] == 'C' ? 1 : shape.rank() - 1;
    ChannelView view;
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
  static Status CheckVector(const KernelContext& context, int i, int64_t channels) {
    const Tensor& vector = context.input(i);
    if (vector.rank() == 1 && vector.dim(0) == channels) return absl::OkStatus();
    return InvalidArgument("input ", i, " should be a vector of ", channels, " but is ",
                           vector.shape().ToString());
  }
  // Calls body(c, for_each), where for_each(visit) calls visit(offset) for all elements of channel
  // c.
  template <typename Body>
  static void ForEachChannel(const ChannelView& view, const Body& body) {
    ParallelFor(view.channels, GrainFor(static_cast<double>(view.per_channel())),
                [&](int64_t begin, int64_t end) {
                  for (int64_t c = begin; c < end; ++c) {
                    body(c, [&](const auto& visit) {
                      for (int64_t o = 0; o < view.outer; ++o) {
                        const int64_t from = (o * view.channels + c) * view.inner;
                        for (int64_t i = from; i < from + view.inner; ++i) visit(i);
                      }
                    });
                  }
                });
  }

  const float epsilon_;
  const bool is_training_;
  const std::string format_;
  const bool relu_;      // of the op's output
  const bool residual_;  // added before the Relu
};

class FusedBatchNormKernel final : public BatchNormKernel {
 public:
  explicit FusedBatchNormKernel(const KernelRequest& request)
      : BatchNormKernel(request), average_factor_(request.attr<float>("exponential_avg_factor")) {}
  Status Run(KernelContext& context) override {
    const Tensor& x = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const ChannelView view, View(x.shape()));
    const bool reads_statistics = !is_training_ || average_factor_ != 1.0f;
    for (int i = 1; i < (reads_statistics ? 5 : 3); ++i)
      CARILLON_RETURN_IF_ERROR(CheckVector(context, i, view.channels));
    if (residual_ && context.input(5).shape() != x.shape()) {
      return InvalidArgument("a residual of shape ", context.input(5).shape().ToString(),
                             " does not go with x of shape ", x.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.shape()));
    float* statistics[4];
    for (int i = 0; i < 4; ++i) {
      CARILLON_ASSIGN_OR_RETURN(Tensor * vector,
                                context.AllocateOutput(i + 1, Shape{view.channels}));
      statistics[i] = vector->mutable_data<float>();
    }
    if (context.num_outputs() > 5) {
      CARILLON_ASSIGN_OR_RETURN(Tensor * third, context.AllocateOutput(5, Shape{}));
      third->mutable_data<float>()[0] = 0;  // what TensorFlow's plain kernel leaves there
    }
    if (x.num_elements() == 0) {
      std::fill_n(statistics[0], view.channels, std::numeric_limits<float>::quiet_NaN());
      std::fill_n(statistics[1], view.channels, std::numeric_limits<float>::quiet_NaN());
      std::fill_n(statistics[2], view.channels, 0.0f);
      std::fill_n(statistics[3], view.channels, 0.0f);
      return absl::OkStatus();
    }
    if (!DispatchAmong<float, Half, Bfloat16>(x.dtype(), [&]<typename T>() {
          Normalise<T>(context, view, x.data<T>(), y->mutable_data<T>(), statistics);
        })) {
      return NoSuchType(context.node(), x.dtype());
    }
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void Normalise(const KernelContext& context, const ChannelView& view, const T* x, T* y,
                 float* const statistics[4]) const {
    const float* scale = context.input(1).data<float>();
    const float* offset = context.input(2).data<float>();
    const float* old_mean = context.input(3).data<float>();
    const float* old_variance = context.input(4).data<float>();
    const T* residual = residual_ ? context.input(5).data<T>() : nullptr;
    const auto count = static_cast<double>(view.per_channel());
    ForEachChannel(view, [&](int64_t c, const auto& for_each) {
      double mean = 0, variance = 0;
      if (is_training_) {
        for_each([&](int64_t i) { mean += static_cast<double>(static_cast<float>(x[i])); });
        mean /= count;
        for_each([&](int64_t i) {
          const double d = static_cast<double>(static_cast<float>(x[i])) - mean;
          variance += d * d;
        });
        variance /= count;
        // The running variance is unbiased, the one that normalises is not.
        const double unbiased = variance * (count > 1 ? count / (count - 1) : 1.0);
        const double f = static_cast<double>(average_factor_);
        const bool blend = average_factor_ != 1.0f;
        statistics[0][c] = static_cast<float>(
            blend ? (1 - f) * static_cast<double>(old_mean[c]) + f * mean : mean);
        statistics[1][c] = static_cast<float>(
            blend ? (1 - f) * static_cast<double>(old_variance[c]) + f * unbiased : unbiased);
      } else {
        mean = static_cast<double>(old_mean[c]);
        variance = static_cast<double>(old_variance[c]);
        statistics[0][c] = old_mean[c];
        statistics[1][c] = old_variance[c];
      }
      statistics[2][c] = static_cast<float>(mean);
      statistics[3][c] = static_cast<float>(variance);
      const auto factor = static_cast<float>(static_cast<double>(scale[c]) /
                                             std::sqrt(variance + static_cast<double>(epsilon_)));
      const auto center = static_cast<float>(mean);
      for_each([&](int64_t i) {
        float value = (static_cast<float>(x[i]) - center) * factor + offset[c];
        if (residual != nullptr) value += static_cast<float>(residual[i]);
        y[i] = static_cast<T>(relu_ && value < 0 ? 0 : value);
      });
    });
  }
  const float average_factor_;
};

// Where the inputs of the gradient ops stand: FusedBatchNormGrad takes y_backprop, x, scale, mean,
// variance; _FusedBatchNormReluGrad y_backprop, x, scale, offset, mean, variance and perhaps y.
class FusedBatchNormGradKernel final : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;
  Status Run(KernelContext& context) override {
    const Tensor& grad = context.input(0);
    const Tensor& x = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(const ChannelView view, View(x.shape()));
    if (grad.shape() != x.shape() || (residual_ && context.input(6).shape() != x.shape())) {
      return InvalidArgument("y_backprop of shape ", grad.shape().ToString(),
                             " does not go with x of shape ", x.shape().ToString());
    }
    for (int i = 2; i <= variance_input(); ++i)
      CARILLON_RETURN_IF_ERROR(CheckVector(context, i, view.channels));
    CARILLON_ASSIGN_OR_RETURN(Tensor * x_grad, context.AllocateOutput(0, x.shape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * scale_grad, context.AllocateOutput(1, Shape{view.channels}));
    CARILLON_ASSIGN_OR_RETURN(Tensor * offset_grad,
                              context.AllocateOutput(2, Shape{view.channels}));
    Tensor* residual_grad = nullptr;
    if (residual_) {
      CARILLON_ASSIGN_OR_RETURN(residual_grad, context.AllocateOutput(3, x.shape()));
    }
    if (!relu_) {
      for (int i : {3, 4}) CARILLON_RETURN_IF_ERROR(context.AllocateOutput(i, Shape{0}).status());
    }
    if (!DispatchAmong<float, Half, Bfloat16>(x.dtype(), [&]<typename T>() {
          Differentiate<T>(context, view, x_grad->mutable_data<T>(),
                           scale_grad->mutable_data<float>(), offset_grad->mutable_data<float>(),
                           residual_ ? residual_grad->mutable_data<T>() : nullptr);
        })) {
      return NoSuchType(context.node(), x.dtype());
    }
    return absl::OkStatus();
  }

 private:
  int mean_input() const { return relu_ ? 4 : 3; }
  int variance_input() const { return relu_ ? 5 : 4; }

  template <typename T>
  void Differentiate(const KernelContext& context, const ChannelView& view, T* x_grad,
                     float* scale_grad, float* offset_grad, T* residual_grad) const {
    const T* grad = context.input(0).data<T>();
    const T* x = context.input(1).data<T>();
    const T* y = residual_ ? context.input(6).data<T>() : nullptr;
    const float* scale = context.input(2).data<float>();
    const float* offset = relu_ ? context.input(3).data<float>() : nullptr;
    const float* means = context.input(mean_input()).data<float>();
    const float* variances = context.input(variance_input()).data<float>();
    const auto count = static_cast<double>(view.per_channel());
    ForEachChannel(view, [&](int64_t c, const auto& for_each) {
      const double mean = static_cast<double>(means[c]);
      const double inverse_deviation =
          1 / std::sqrt(static_cast<double>(variances[c]) + static_cast<double>(epsilon_));
      const double factor = static_cast<double>(scale[c]) * inverse_deviation;
      const auto distance = [&](int64_t i) {
        return static_cast<double>(static_cast<float>(x[i])) - mean;
      };
      // What the Relu lets through.
      const auto passed = [&](int64_t i) {
        const bool open = residual_ ? static_cast<float>(y[i]) > 0
                          : relu_   ? static_cast<float>(distance(i) * factor) + offset[c] > 0
                                    : true;
        return open ? static_cast<double>(static_cast<float>(grad[i])) : 0.0;
      };
      double sum = 0, projection = 0;
      for_each([&](int64_t i) {
        const double g = passed(i);
        sum += g;
        projection += g * distance(i);
        if (residual_) residual_grad[i] = static_cast<T>(static_cast<float>(g));
      });
      offset_grad[c] = static_cast<float>(sum);
      scale_grad[c] = static_cast<float>(projection * inverse_deviation);
      // In training the batch's own mean and variance depend on x too.
      const double mean_part = is_training_ ? sum / count : 0;
      const double variance_part =
          is_training_ ? projection / count * inverse_deviation * inverse_deviation : 0;
      for_each([&](int64_t i) {
        x_grad[i] = static_cast<T>(
            static_cast<float>(factor * (passed(i) - mean_part - distance(i) * variance_part)));
      });
    });
  }
};

}  // namespace

void AddBatchNormReferenceKernels(KernelTable& table) {
  table.Add({
      {"FusedBatchNorm", "ref", BatchNormKernel::MakeOf<FusedBatchNormKernel>},
      {"FusedBatchNormV2", "ref", BatchNormKernel::MakeOf<FusedBatchNormKernel>},
      {"FusedBatchNormV3", "ref", BatchNormKernel::MakeOf<FusedBatchNormKernel>},
      {"_FusedBatchNormRelu", "ref", BatchNormKernel::MakeOf<FusedBatchNormKernel>},
      {"_FusedBatchNormReluGrad", "ref", BatchNormKernel::MakeOf<FusedBatchNormGradKernel>},
      {"FusedBatchNormGrad", "ref", BatchNormKernel::MakeOf<FusedBatchNormGradKernel>},
      {"FusedBatchNormGradV2", "ref", BatchNormKernel::MakeOf<FusedBatchNormGradKernel>},
      {"FusedBatchNormGradV3", "ref", BatchNormKernel::MakeOf<FusedBatchNormGradKernel>},
  });
}

}  // namespace carillon
