// Specs of the ops for convolutions, pooling, activations, losses, normalisation.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/ops/nn_shapes.h"
#include "graph/shape_context.h"

namespace carillon {

void AddNnOps(OpTable& ops) {
  ops.Add("Conv2D(input: T, filter: T) -> (output: T)",
          "T: {floating, int32}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: "
          "{'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', "
          "'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
          Conv2DShape);
  ops.Add("Conv2DBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)",
          "T: {floating, int32}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: "
          "{'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', "
          "'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
          Conv2DBackpropInputShape);
  ops.Add("Conv2DBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)",
          "T: {floating}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', "
          "'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} "
          "= 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
          Conv2DBackpropFilterShape);
  ops.Add("DepthwiseConv2dNative(input: T, filter: T) -> (output: T)",
          "T: {floating}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; "
          "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
          "list(int) = [1, 1, 1, 1]",
          DepthwiseConv2dShape);
  ops.Add(
      "DepthwiseConv2dNativeBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> "
      "(output: T)",
      "T: {floating}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; "
      "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
      "list(int) = [1, 1, 1, 1]",
      DepthwiseConv2dBackpropInputShape);
  ops.Add(
      "DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> "
      "(output: T)",
      "T: {floating}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; "
      "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
      "list(int) = [1, 1, 1, 1]",
      DepthwiseConv2dBackpropFilterShape);
  ops.Add("MaxPool(input: T) -> (output: T)",
          "T: {floating, int32, uint8, int16, int8, int64, uint16} = float; ksize: list(int) >= 4; "
          "strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: "
          "list(int) = []; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
          PoolShape);
  ops.Add("MaxPoolV2(input: T, ksize: int32, strides: int32) -> (output: T)",
          "T: {floating, int32, uint8, int16, int8, int64, uint16} = float; padding: {'SAME', "
          "'VALID'}; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
          PoolV2Shape);
  ops.Add("MaxPoolGrad(orig_input: T, orig_output: T, grad: T) -> (output: T)",
          "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; "
          "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: {number} "
          "= float",
          MaxPoolGradShape);
  ops.Add(
      "MaxPoolGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> "
      "(output: T)",
      "padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: {number} = float",
      MaxPoolGradShape);
  ops.Add("MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T) -> (output: T)",
          "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; "
          "data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: {number}",
          MaxPoolGradGradShape);
  ops.Add("MaxPoolWithArgmax(input: T) -> (output: T, argmax: Targmax)",
          "ksize: list(int) >= 4; strides: list(int) >= 4; Targmax: {index} = int64; padding: "
          "{'SAME', 'VALID'}; include_batch_in_index: bool = false; T: {number}",
          PoolShape);
  ops.Add("MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax) -> (output: T)",
          "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; "
          "include_batch_in_index: bool = false; Targmax: {index}; T: {number}",
          MaxPoolGradWithArgmaxShape);
  ops.Add("AvgPool(value: T) -> (output: T)",
          "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; "
          "data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: {floating}",
          PoolShape);
  ops.Add("AvgPoolGrad(orig_input_shape: int32, grad: T) -> (output: T)",
          "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; "
          "data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: {floating}",
          AvgPoolGradShape);
  ops.Add("BiasAdd(value: T, bias: T) -> (output: T)",
          "T: {number}; data_format: {'NHWC', 'NCHW'} = 'NHWC'", BiasAddShape);
  ops.Add("BiasAddGrad(out_backprop: T) -> (output: T)",
          "T: {number}; data_format: {'NHWC', 'NCHW'} = 'NHWC'", BiasAddGradShape);
  ops.Add("BiasAddV1(value: T, bias: T) -> (output: T)", "T: {number}", BiasAddShape);
  ops.Add("Relu(features: T) -> (activations: T)", "T: {number}", ShapeOfInput);
  ops.Add("ReluGrad(gradients: T, features: T) -> (backprops: T)", "T: {number}", ShapeMergeInputs);
  ops.Add("Relu6(features: T) -> (activations: T)", "T: {number}", ShapeOfInput);
  ops.Add("Relu6Grad(gradients: T, features: T) -> (backprops: T)", "T: {number}",
          ShapeMergeInputs);
  ops.Add("LeakyRelu(features: T) -> (activations: T)",
          "alpha: float = 0.200000003; T: {floating} = float", ShapeOfInput);
  ops.Add("LeakyReluGrad(gradients: T, features: T) -> (backprops: T)",
          "alpha: float = 0.200000003; T: {floating} = float", ShapeMergeInputs);
  ops.Add("Elu(features: T) -> (activations: T)", "T: {floating}", ShapeOfInput);
  ops.Add("EluGrad(gradients: T, outputs: T) -> (backprops: T)", "T: {floating}", ShapeMergeInputs);
  ops.Add("Selu(features: T) -> (activations: T)", "T: {floating}", ShapeOfInput);
  ops.Add("SeluGrad(gradients: T, outputs: T) -> (backprops: T)", "T: {floating}",
          ShapeMergeInputs);
  ops.Add("Softplus(features: T) -> (activations: T)", "T: {floating}", ShapeOfInput);
  ops.Add("SoftplusGrad(gradients: T, features: T) -> (backprops: T)", "T: {floating}",
          ShapeMergeInputs);
  ops.Add("Softsign(features: T) -> (activations: T)", "T: {floating}", ShapeOfInput);
  ops.Add("SoftsignGrad(gradients: T, features: T) -> (backprops: T)", "T: {floating}",
          ShapeMergeInputs);
  ops.Add("Softmax(logits: T) -> (softmax: T)", "T: {floating}", SoftmaxShape);
  ops.Add("LogSoftmax(logits: T) -> (logsoftmax: T)", "T: {floating}", SoftmaxShape);
  ops.Add("SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> (loss: T, backprop: T)",
          "T: {floating}", SoftmaxCrossEntropyShape);
  ops.Add(
      "SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> (loss: T, backprop: T)",
      "T: {floating}; Tlabels: {index} = int64", SparseSoftmaxCrossEntropyShape);
  ops.Add("LRN(input: T) -> (output: T)",
          "depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; T: "
          "{float, bfloat16, half} = float",
          LrnShape);
  ops.Add("LRNGrad(input_grads: T, input_image: T, output_image: T) -> (output: T)",
          "depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; T: "
          "{float, bfloat16, half} = float",
          LrnGradShape);
  ops.Add(
      "FusedBatchNorm(x: T, scale: T, offset: T, mean: T, variance: T) -> (y: T, batch_mean: T, "
      "batch_variance: T, reserve_space_1: T, reserve_space_2: T)",
      "T: {float}; epsilon: float = 9.99999975e-05; exponential_avg_factor: float = 1.0; "
      "data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true",
      FusedBatchNormShape);
  ops.Add(
      "FusedBatchNormV2(x: T, scale: U, offset: U, mean: U, variance: U) -> (y: T, batch_mean: U, "
      "batch_variance: U, reserve_space_1: U, reserve_space_2: U)",
      "T: {float, bfloat16, half}; U: {float}; epsilon: float = 9.99999975e-05; "
      "exponential_avg_factor: float = 1.0; data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: "
      "bool = true",
      FusedBatchNormShape);
  ops.Add(
      "FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U) -> (y: T, batch_mean: U, "
      "batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)",
      "T: {float, bfloat16, half}; U: {float, bfloat16}; epsilon: float = 9.99999975e-05; "
      "exponential_avg_factor: float = 1.0; data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = "
      "'NHWC'; is_training: bool = true",
      FusedBatchNormShape);
  ops.Add(
      "FusedBatchNormGrad(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T) "
      "-> (x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, "
      "reserve_space_4: T)",
      "T: {float}; epsilon: float = 9.99999975e-05; data_format: {'NHWC', 'NCHW'} = 'NHWC'; "
      "is_training: bool = true",
      FusedBatchNormGradShape);
  ops.Add(
      "FusedBatchNormGradV2(y_backprop: T, x: T, scale: float, reserve_space_1: U, "
      "reserve_space_2: U) -> (x_backprop: T, scale_backprop: U, offset_backprop: U, "
      "reserve_space_3: U, reserve_space_4: U)",
      "T: {float, bfloat16, half}; U: {float}; epsilon: float = 9.99999975e-05; data_format: "
      "{'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true",
      FusedBatchNormGradShape);
  ops.Add(
      "FusedBatchNormGradV3(y_backprop: T, x: T, scale: float, reserve_space_1: U, "
      "reserve_space_2: U, reserve_space_3: U) -> (x_backprop: T, scale_backprop: U, "
      "offset_backprop: U, reserve_space_4: U, reserve_space_5: U)",
      "T: {float, bfloat16, half}; U: {float}; epsilon: float = 9.99999975e-05; data_format: "
      "{'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'; is_training: bool = true",
      FusedBatchNormGradShape);
  ops.Add("L2Loss(t: T) -> (output: T)", "T: {floating}", ShapeScalar);
}

}  // namespace carillon
