// Ops of neural networks: convolutions, pooling, activations, losses, normalisation.
//
// Images are batches of four dimensions: [batch, height, width, channels] (data_format "NHWC", the
// default) or [batch, channels, height, width] ("NCHW"). Strides and windows are given for all four
// dimensions in that order. Padding is "SAME", "VALID", or "EXPLICIT" with explicit_paddings: two
// numbers, before and after, for each dimension.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

struct Conv2DOptions {
  std::string data_format = "NHWC";
  std::vector<int64_t> dilations = {1, 1, 1, 1};
  std::vector<int64_t> explicit_paddings;  // with padding "EXPLICIT"
};

// Slides `filter` [height, width, in_channels, out_channels] over `input`. When the filter has
// fewer input channels than the input, by a factor g, the convolution is split into g groups.
Output Conv2D(const Input& input, const Input& filter, const std::vector<int64_t>& strides,
              const std::string& padding, const Conv2DOptions& options = {});
// The gradient of Conv2D with respect to its input, whose shape is `input_sizes`; also known as
// transposed convolution.
Output Conv2DBackpropInput(const Input& input_sizes, const Input& filter, const Input& out_backprop,
                           const std::vector<int64_t>& strides, const std::string& padding,
                           const Conv2DOptions& options = {});
// The gradient of Conv2D with respect to its filter, whose shape is `filter_sizes`.
Output Conv2DBackpropFilter(const Input& input, const Input& filter_sizes,
                            const Input& out_backprop, const std::vector<int64_t>& strides,
                            const std::string& padding, const Conv2DOptions& options = {});

// Each channel has filters of its own: `filter` is [height, width, channels, multiplier], and the
// output has channels * multiplier channels.
Output DepthwiseConv2dNative(const Input& input, const Input& filter,
                             const std::vector<int64_t>& strides, const std::string& padding,
                             const Conv2DOptions& options = {});
Output DepthwiseConv2dNativeBackpropInput(const Input& input_sizes, const Input& filter,
                                          const Input& out_backprop,
                                          const std::vector<int64_t>& strides,
                                          const std::string& padding,
                                          const Conv2DOptions& options = {});
Output DepthwiseConv2dNativeBackpropFilter(const Input& input, const Input& filter_sizes,
                                           const Input& out_backprop,
                                           const std::vector<int64_t>& strides,
                                           const std::string& padding,
                                           const Conv2DOptions& options = {});

struct PoolOptions {
  std::string data_format = "NHWC";
  std::vector<int64_t> explicit_paddings;  // with padding "EXPLICIT"; MaxPool only
};

// The largest value in each window.
Output MaxPool(const Input& input, const std::vector<int64_t>& ksize,
               const std::vector<int64_t>& strides, const std::string& padding,
               const PoolOptions& options = {});
// The same with window and strides as inputs.
Output MaxPoolV2(const Input& input, const Input& ksize, const Input& strides,
                 const std::string& padding, const std::string& data_format = "NHWC");

struct MaxPoolWithArgmaxResult {
  Output output;
  Output argmax;  // flat index of each maximum: (y * width + x) * channels + channel
};
// NHWC only. With `include_batch_in_index` the flat index runs over the whole batch.
MaxPoolWithArgmaxResult MaxPoolWithArgmax(const Input& input, const std::vector<int64_t>& ksize,
                                          const std::vector<int64_t>& strides,
                                          const std::string& padding,
                                          bool include_batch_in_index = false,
                                          DType argmax_dtype = DType::kInt64);

// The mean of each window; padding does not count.
Output AvgPool(const Input& value, const std::vector<int64_t>& ksize,
               const std::vector<int64_t>& strides, const std::string& padding,
               const std::string& data_format = "NHWC");

// Adds the vector `bias` over the channels, the last dimension (or the second, with NCHW).
Output BiasAdd(const Input& value, const Input& bias, const std::string& data_format = "NHWC");
// The gradient of BiasAdd with respect to the bias: the sum over all dimensions but the channels.
Output BiasAddGrad(const Input& out_backprop, const std::string& data_format = "NHWC");

Output Relu(const Input& features);                           // max(x, 0)
Output Relu6(const Input& features);                          // min(max(x, 0), 6)
Output LeakyRelu(const Input& features, float alpha = 0.2f);  // x where x > 0, alpha * x elsewhere
Output Elu(const Input& features);       // x where x >= 0, exp(x) - 1 elsewhere
Output Selu(const Input& features);      // the scaled Elu
Output Softplus(const Input& features);  // log(exp(x) + 1)
Output Softsign(const Input& features);  // x / (|x| + 1)

// Over the last dimension.
Output Softmax(const Input& logits);
Output LogSoftmax(const Input& logits);

struct CrossEntropyResult {
  Output loss;      // one for each row
  Output backprop;  // its gradient with respect to the features
};
// Rows of `labels` are probability distributions. Features and labels broadcast against each other.
CrossEntropyResult SoftmaxCrossEntropyWithLogits(const Input& features, const Input& labels);
// `labels` holds the index of the one right class of each row. An index out of range is
// InvalidArgument when the step runs.
CrossEntropyResult SparseSoftmaxCrossEntropyWithLogits(const Input& features, const Input& labels);

struct LrnOptions {
  int64_t depth_radius = 5;
  float bias = 1.0f;
  float alpha = 1.0f;
  float beta = 0.5f;
};
// Local response normalisation: x / (bias + alpha * sum of squares over 2 * depth_radius + 1
// channels) ^ beta.
Output LRN(const Input& input, const LrnOptions& options = {});

struct FusedBatchNormOptions {
  float epsilon = 1e-4f;
  // Of the batch's statistics in the running ones that come out; 1: the batch's alone.
  float exponential_avg_factor = 1.0f;
  std::string data_format = "NHWC";  // or NCHW, NDHWC, NCDHW
  bool is_training = true;
};
struct FusedBatchNormResult {
  Output y;
  // In training the running mean and (unbiased) variance; else the ones that were given.
  Output batch_mean;
  Output batch_variance;
  Output reserve_space_1;  // what the gradient needs
  Output reserve_space_2;
  Output reserve_space_3;
};
// Normalises each channel by the batch's mean and variance (training) or by the given ones, then
// scales and shifts. In training with exponential_avg_factor 1 `mean` and `variance` may be empty.
FusedBatchNormResult FusedBatchNormV3(const Input& x, const Input& scale, const Input& offset,
                                      const Input& mean, const Input& variance,
                                      const FusedBatchNormOptions& options = {});

Output L2Loss(const Input& t);  // half the sum of squares

}  // namespace carillon
