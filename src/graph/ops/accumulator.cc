// Specs of the ops for accumulators of gradients.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

// The shape of the gradients that the accumulator behind handle input 0 takes, when the handle
// comes straight from its node.
PartialShape GradientShape(const ShapeContext& c) {
  const Node* node = c.node().input(0).node;
  const bool known = node != nullptr && (node->op() == "ConditionalAccumulator" ||
                                         node->op() == "ResourceConditionalAccumulator" ||
                                         node->op() == "SparseConditionalAccumulator");
  return known ? node->attr<PartialShape>("shape") : PartialShape();
}

Status TakeShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  c.set_output(0, GradientShape(c));
  return absl::OkStatus();
}

Status SparseTakeShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  PartialShape shape = GradientShape(c);
  c.set_output(0, {-1});
  c.set_output(2, {shape.has_rank() ? shape.rank() : -1});
  if (shape.rank() > 0) shape.set_dim(0, -1);
  c.set_output(1, shape.rank() == 0 ? PartialShape() : shape);
  return absl::OkStatus();
}

// The second input is a step.
Status StepShape(ShapeContext& c) { return c.WithRank(1, 0).status(); }

}  // namespace

void AddAccumulatorOps(OpTable& ops) {
  ops.Add("ConditionalAccumulator() -> (handle: ref(string))",
          "dtype: {number}; shape: shape; container: string = ''; shared_name: string = ''; "
          "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",
          {stateful}, ShapeScalar);
  ops.Add("SparseConditionalAccumulator() -> (handle: ref(string))",
          "dtype: {number}; shape: shape; container: string = ''; shared_name: string = ''; "
          "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",
          {stateful}, ShapeScalar);
  ops.Add("AccumulatorApplyGradient(handle: ref(string), local_step: int64, gradient: dtype) -> ()",
          "dtype: {number}", StepShape);
  ops.Add("AccumulatorTakeGradient(handle: ref(string), num_required: int32) -> (average: dtype)",
          "dtype: {number}", TakeShape);
  ops.Add("AccumulatorNumAccumulated(handle: ref(string)) -> (num_accumulated: int32)", "",
          ShapeScalar);
  ops.Add("AccumulatorSetGlobalStep(handle: ref(string), new_global_step: int64) -> ()", "",
          StepShape);
  ops.Add(
      "SparseAccumulatorApplyGradient(handle: ref(string), local_step: int64, gradient_indices: "
      "int64, gradient_values: dtype, gradient_shape: int64) -> ()",
      "dtype: {number}; has_known_shape: bool", StepShape);
  ops.Add(
      "SparseAccumulatorTakeGradient(handle: ref(string), num_required: int32) -> (indices: int64, "
      "values: dtype, shape: int64)",
      "dtype: {number}", SparseTakeShape);
  ops.Add("ResourceConditionalAccumulator() -> (handle: resource)",
          "dtype: {number}; shape: shape; container: string = ''; shared_name: string = ''; "
          "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",
          {stateful}, ShapeScalar);
  ops.Add(
      "ResourceAccumulatorApplyGradient(handle: resource, local_step: int64, gradient: dtype) -> "
      "()",
      "dtype: {number}", {stateful}, StepShape);
  ops.Add(
      "ResourceAccumulatorTakeGradient(handle: resource, num_required: int32) -> (average: dtype)",
      "dtype: {number}", {stateful}, TakeShape);
  ops.Add("ResourceAccumulatorNumAccumulated(handle: resource) -> (num_accumulated: int32)", "",
          {stateful}, ShapeScalar);
  ops.Add("ResourceAccumulatorSetGlobalStep(handle: resource, new_global_step: int64) -> ()", "",
          {stateful}, StepShape);
}

}  // namespace carillon
