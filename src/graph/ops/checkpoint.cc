// Specs of the ops for checkpoints.
#include "checkpoint/tensor_slice.h"
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

// The prefix is a scalar; names and slices are vectors with one element for each tensor.
Status CheckRequest(ShapeContext& c, int64_t num_tensors) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 0).status());
  for (const int i : {1, 2}) {
    CARILLON_ASSIGN_OR_RETURN(const PartialShape list, c.WithRank(i, 1));
    if (!MergeDim(list.dim(0), num_tensors).ok()) {
      return InvalidArgument("input ", i, " has ", list.dim(0), " elements for ", num_tensors,
                             " tensors");
    }
  }
  return absl::OkStatus();
}

Status SaveShape(ShapeContext& c) { return CheckRequest(c, c.num_inputs() - 3); }

Status RestoreShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(CheckRequest(c, c.num_outputs()));
  const Tensor* slices = c.input_value(2);
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape());
    if (slices == nullptr) continue;
    const std::string& slice = slices->data<std::string>()[i];
    if (slice.empty()) continue;
    CARILLON_ASSIGN_OR_RETURN(const ShapeAndSlice part, ParseShapeAndSlice(slice));
    c.set_output(i, part.slice_shape);
  }
  return absl::OkStatus();
}

Status MergeCheckpointsShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 1).status());
  return c.WithRank(1, 0).status();
}

Status ScalarOfScalars(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) CARILLON_RETURN_IF_ERROR(c.WithRank(i, 0).status());
  return ShapeScalar(c);
}

}  // namespace

void AddCheckpointOps(OpTable& ops) {
  ops.Add(
      "SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: "
      "list(dtypes)) -> ()",
      "dtypes: list(type) >= 1", {stateful}, SaveShape);
  ops.Add(
      "RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string) -> (tensors: "
      "list(dtypes))",
      "dtypes: list(type) >= 1", {stateful}, RestoreShape);
  ops.Add("MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string) -> ()",
          "delete_old_dirs: bool = true; allow_missing_files: bool = false", {stateful},
          MergeCheckpointsShape);
  ops.Add(
      "ShardedFilename(basename: string, shard: int32, num_shards: int32) -> (filename: string)",
      "", ScalarOfScalars);
  ops.Add("ShardedFilespec(basename: string, num_shards: int32) -> (filename: string)", "",
          ScalarOfScalars);
}

}  // namespace carillon
