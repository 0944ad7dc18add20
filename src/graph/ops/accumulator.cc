// Specs of the ops for accumulators of gradients.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {

void AddAccumulatorOps(OpTable& ops) {
  ops.Add("ConditionalAccumulator() -> (handle: ref(string))",
          "dtype: {number}; shape: shape; container: string = ''; shared_name: string = ''; "
          "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",
          {stateful});
  ops.Add("SparseConditionalAccumulator() -> (handle: ref(string))",
          "dtype: {number}; shape: shape; container: string = ''; shared_name: string = ''; "
          "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",
          {stateful});
  ops.Add("AccumulatorApplyGradient(handle: ref(string), local_step: int64, gradient: dtype) -> ()",
          "dtype: {number}");
  ops.Add("AccumulatorTakeGradient(handle: ref(string), num_required: int32) -> (average: dtype)",
          "dtype: {number}");
  ops.Add("AccumulatorNumAccumulated(handle: ref(string)) -> (num_accumulated: int32)", "");
  ops.Add("AccumulatorSetGlobalStep(handle: ref(string), new_global_step: int64) -> ()", "");
  ops.Add(
      "SparseAccumulatorApplyGradient(handle: ref(string), local_step: int64, gradient_indices: "
      "int64, gradient_values: dtype, gradient_shape: int64) -> ()",
      "dtype: {number}; has_known_shape: bool");
  ops.Add(
      "SparseAccumulatorTakeGradient(handle: ref(string), num_required: int32) -> (indices: int64, "
      "values: dtype, shape: int64)",
      "dtype: {number}");
  ops.Add("ResourceConditionalAccumulator() -> (handle: resource)",
          "dtype: {number}; shape: shape; container: string = ''; shared_name: string = ''; "
          "reduction_type: {'MEAN', 'SUM'} = 'MEAN'",
          {stateful});
  ops.Add(
      "ResourceAccumulatorApplyGradient(handle: resource, local_step: int64, gradient: dtype) -> "
      "()",
      "dtype: {number}", {stateful});
  ops.Add(
      "ResourceAccumulatorTakeGradient(handle: resource, num_required: int32) -> (average: dtype)",
      "dtype: {number}", {stateful});
  ops.Add("ResourceAccumulatorNumAccumulated(handle: resource) -> (num_accumulated: int32)", "",
          {stateful});
  ops.Add("ResourceAccumulatorSetGlobalStep(handle: resource, new_global_step: int64) -> ()", "",
          {stateful});
}

}  // namespace carillon
