#include "carillon/ops/nn.h"

#include "carillon/op_builder.h"

namespace carillon {
namespace {

OpBuilder& AddWindow(OpBuilder& op, const std::vector<int64_t>& strides, const std::string& padding,
                     const Conv2DOptions& options) {
  return op.Attr("strides", strides)
      .Attr("padding", padding)
      .Attr("data_format", options.data_format)
      .Attr("dilations", options.dilations)
      .Attr("explicit_paddings", options.explicit_paddings);
}

Output Convolution(const char* type, std::initializer_list<Input> inputs,
                   const std::vector<int64_t>& strides, const std::string& padding,
                   const Conv2DOptions& options) {
  OpBuilder op(type);
  for (const Input& input : inputs) op.Arg(input);
  return AddWindow(op, strides, padding, options);
}

Output Activation(const char* type, const Input& features) { return OpBuilder(type).Arg(features); }

}  // namespace

Output Conv2D(const Input& input, const Input& filter, const std::vector<int64_t>& strides,
              const std::string& padding, const Conv2DOptions& options) {
  return Convolution("Conv2D", {input, filter}, strides, padding, options);
}

Output Conv2DBackpropInput(const Input& input_sizes, const Input& filter, const Input& out_backprop,
                           const std::vector<int64_t>& strides, const std::string& padding,
                           const Conv2DOptions& options) {
  return Convolution("Conv2DBackpropInput", {input_sizes, filter, out_backprop}, strides, padding,
                     options);
}

Output Conv2DBackpropFilter(const Input& input, const Input& filter_sizes,
                            const Input& out_backprop, const std::vector<int64_t>& strides,
                            const std::string& padding, const Conv2DOptions& options) {
  return Convolution("Conv2DBackpropFilter", {input, filter_sizes, out_backprop}, strides, padding,
                     options);
}

Output DepthwiseConv2dNative(const Input& input, const Input& filter,
                             const std::vector<int64_t>& strides, const std::string& padding,
                             const Conv2DOptions& options) {
  return Convolution("DepthwiseConv2dNative", {input, filter}, strides, padding, options);
}

Output DepthwiseConv2dNativeBackpropInput(const Input& input_sizes, const Input& filter,
                                          const Input& out_backprop,
                                          const std::vector<int64_t>& strides,
                                          const std::string& padding,
                                          const Conv2DOptions& options) {
  return Convolution("DepthwiseConv2dNativeBackpropInput", {input_sizes, filter, out_backprop},
                     strides, padding, options);
}

Output DepthwiseConv2dNativeBackpropFilter(const Input& input, const Input& filter_sizes,
                                           const Input& out_backprop,
                                           const std::vector<int64_t>& strides,
                                           const std::string& padding,
                                           const Conv2DOptions& options) {
  return Convolution("DepthwiseConv2dNativeBackpropFilter", {input, filter_sizes, out_backprop},
                     strides, padding, options);
}

Output MaxPool(const Input& input, const std::vector<int64_t>& ksize,
               const std::vector<int64_t>& strides, const std::string& padding,
               const PoolOptions& options) {
  return OpBuilder("MaxPool")
      .Arg(input)
      .Attr("ksize", ksize)
      .Attr("strides", strides)
      .Attr("padding", padding)
      .Attr("data_format", options.data_format)
      .Attr("explicit_paddings", options.explicit_paddings);
}

Output MaxPoolV2(const Input& input, const Input& ksize, const Input& strides,
                 const std::string& padding, const std::string& data_format) {
  return OpBuilder("MaxPoolV2")
      .Arg(input)
      .Arg(ksize)
      .Arg(strides)
      .Attr("padding", padding)
      .Attr("data_format", data_format);
}

MaxPoolWithArgmaxResult MaxPoolWithArgmax(const Input& input, const std::vector<int64_t>& ksize,
                                          const std::vector<int64_t>& strides,
                                          const std::string& padding, bool include_batch_in_index,
                                          DType argmax_dtype) {
  const Operation op = OpBuilder("MaxPoolWithArgmax")
                           .Arg(input)
                           .Attr("ksize", ksize)
                           .Attr("strides", strides)
                           .Attr("padding", padding)
                           .Attr("include_batch_in_index", include_batch_in_index)
                           .Attr("Targmax", argmax_dtype)
                           .Build();
  return {op.output(0), op.output(1)};
}

Output AvgPool(const Input& value, const std::vector<int64_t>& ksize,
               const std::vector<int64_t>& strides, const std::string& padding,
               const std::string& data_format) {
  return OpBuilder("AvgPool")
      .Arg(value)
      .Attr("ksize", ksize)
      .Attr("strides", strides)
      .Attr("padding", padding)
      .Attr("data_format", data_format);
}

Output BiasAdd(const Input& value, const Input& bias, const std::string& data_format) {
  return OpBuilder("BiasAdd").Arg(value).Arg(bias).Attr("data_format", data_format);
}

Output BiasAddGrad(const Input& out_backprop, const std::string& data_format) {
  return OpBuilder("BiasAddGrad").Arg(out_backprop).Attr("data_format", data_format);
}

Output Relu(const Input& features) { return Activation("Relu", features); }
Output Relu6(const Input& features) { return Activation("Relu6", features); }
Output Elu(const Input& features) { return Activation("Elu", features); }
Output Selu(const Input& features) { return Activation("Selu", features); }
Output Softplus(const Input& features) { return Activation("Softplus", features); }
Output Softsign(const Input& features) { return Activation("Softsign", features); }
Output Softmax(const Input& logits) { return Activation("Softmax", logits); }
Output LogSoftmax(const Input& logits) { return Activation("LogSoftmax", logits); }
Output L2Loss(const Input& t) { return Activation("L2Loss", t); }

Output LeakyRelu(const Input& features, float alpha) {
  return OpBuilder("LeakyRelu").Arg(features).Attr("alpha", alpha);
}

CrossEntropyResult SoftmaxCrossEntropyWithLogits(const Input& features, const Input& labels) {
  const Operation op = OpBuilder("SoftmaxCrossEntropyWithLogits").Arg(features).Arg(labels).Build();
  return {op.output(0), op.output(1)};
}

CrossEntropyResult SparseSoftmaxCrossEntropyWithLogits(const Input& features, const Input& labels) {
  const Operation op =
      OpBuilder("SparseSoftmaxCrossEntropyWithLogits").Arg(features).Arg(labels).Build();
  return {op.output(0), op.output(1)};
}

Output LRN(const Input& input, const LrnOptions& options) {
  return OpBuilder("LRN")
      .Arg(input)
      .Attr("depth_radius", options.depth_radius)
      .Attr("bias", options.bias)
      .Attr("alpha", options.alpha)
      .Attr("beta", options.beta);
}

FusedBatchNormResult FusedBatchNormV3(const Input& x, const Input& scale, const Input& offset,
                                      const Input& mean, const Input& variance,
                                      const FusedBatchNormOptions& options) {
  const Operation op = OpBuilder("FusedBatchNormV3")
                           .Arg(x)
                           .Arg(scale)
                           .Arg(offset)
                           .Arg(mean)
                           .Arg(variance)
                           .Attr("epsilon", options.epsilon)
                           .Attr("exponential_avg_factor", options.exponential_avg_factor)
                           .Attr("data_format", options.data_format)
                           .Attr("is_training", options.is_training)
                           .Build();
  return {op.output(0), op.output(1), op.output(2), op.output(3), op.output(4), op.output(5)};
}

}  // namespace carillon
