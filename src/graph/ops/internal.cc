// Specs of the ops that passes make. Their names start with '_'; no user writes them.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/ops/nn_shapes.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

Status ArgShape(ShapeContext& c) {
  c.set_output(0, c.attr<PartialShape>("shape"));
  return absl::OkStatus();
}

// Several nn ops in one, for speed. Each computes what the ops that it stands for compute one after
// the other, up to rounding; and where a gradient is inf or NaN its Relu chooses, where ReluGrad
// multiplies by 0.
void AddFusedNnOps(OpTable& ops) {
  // Conv2D, BiasAdd (same data_format) and, with relu, Relu.
  ops.Add("_FusedConv2D(input: T, filter: T, bias: T) -> (output: T)",
          "T: {floating}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; "
          "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
          "list(int) = [1, 1, 1, 1]; relu: bool = false",
          FusedConv2DShape);
  // Conv2DBackpropFilter, and BiasAddGrad (same data_format) of the same out_backprop.
  ops.Add(
      "_ConvBackpropFilterBias(input: T, filter_sizes: int32, out_backprop: T) -> "
      "(filter_backprop: T, bias_backprop: T)",
      "T: {floating}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; "
      "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: "
      "list(int) = [1, 1, 1, 1]",
      ConvBackpropFilterBiasShape);
  // MatMul, BiasAdd and, with relu, Relu.
  ops.Add("_FusedMatMul(a: T, b: T, bias: T) -> (product: T)",
          "T: {floating}; transpose_a: bool = false; transpose_b: bool = false; relu: bool = false",
          FusedMatMulShape);
  // ReluGrad(MaxPoolGrad(features, pooled, grad), features), where `features` is the output of a
  // Relu and `pooled` = MaxPool(features).
  ops.Add("_FusedReluPoolGrad(features: T, pooled: T, grad: T) -> (output: T)",
          "T: {floating}; ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', "
          "'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} "
          "= 'NHWC'",
          MaxPoolGradShape);
  // FusedBatchNormV3 and Relu(y), or with N = 1 Relu(y + residual). The other outputs are those of
  // FusedBatchNormV3.
  ops.Add(
      "_FusedBatchNormRelu(x: T, scale: U, offset: U, mean: U, variance: U, residual: N * T) -> "
      "(y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, "
      "reserve_space_3: U)",
      "N: int >= 0; T: {float, bfloat16, half}; U: {float}; epsilon: float = 9.99999975e-05; "
      "exponential_avg_factor: float = 1.0; data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = "
      "'NHWC'; is_training: bool = true",
      FusedBatchNormReluShape);
  // Its gradient: g = ReluGrad(y_backprop, y), then FusedBatchNormGradV3 of g; with N = 1 g is also
  // the residual's gradient. With N = 0 y is not needed: where it was positive follows from x,
  // scale and offset.
  ops.Add(
      "_FusedBatchNormReluGrad(y_backprop: T, x: T, scale: float, offset: float, reserve_space_1: "
      "U, reserve_space_2: U, y: N * T) -> (x_backprop: T, scale_backprop: U, offset_backprop: U, "
      "residual_backprop: N * T)",
      "N: int >= 0; T: {float, bfloat16, half}; U: {float}; epsilon: float = 9.99999975e-05; "
      "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'; is_training: bool = true",
      FusedBatchNormReluGradShape);
}

}  // namespace

void AddInternalOps(OpTable& ops) {
  // The value of a reference variable, read when its control inputs have run.
  ops.Add("_ReadRef(ref: ref(T)) -> (value: T)", "T: type", {stateful}, ShapeOfInput);

  // What goes into a step and what comes out: the feeds and fetches of a specialised graph, by
  // position. _Targets only waits for its control inputs.
  ops.Add("_Arg() -> (output: T)", "T: type; index: int; shape: shape = ?", {stateful}, ArgShape);
  ops.Add("_Retval(input: T) -> ()", "T: type; index: int", {stateful}, ShapeNothing);
  ops.Add("_Targets() -> ()", "", {stateful}, ShapeNothing);

  // The two ends of an edge that was cut, between parts of one step that meet at a rendezvous.
  ops.Add("_Send(tensor: T) -> ()", "T: type; key: string", {stateful}, ShapeNothing);
  ops.Add("_Recv() -> (tensor: T)", "T: type; key: string; shape: shape = ?", {stateful}, ArgShape);

  // How many times a For runs its body. InvalidArgument for a range that leads nowhere.
  ops.Add("_ForCount(start: int32, limit: int32, delta: int32) -> (count: int32)", "", ShapeScalar);

  AddFusedNnOps(ops);
}

}  // namespace carillon
