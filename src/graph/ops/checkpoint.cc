// Specs of the ops for checkpoints.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {

void AddCheckpointOps(OpTable& ops) {
  ops.Add(
      "SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: "
      "list(dtypes)) -> ()",
      "dtypes: list(type) >= 1", {stateful});
  ops.Add(
      "RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string) -> (tensors: "
      "list(dtypes))",
      "dtypes: list(type) >= 1", {stateful});
  ops.Add("MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string) -> ()",
          "delete_old_dirs: bool = true; allow_missing_files: bool = false", {stateful});
  ops.Add(
      "ShardedFilename(basename: string, shard: int32, num_shards: int32) -> (filename: string)",
      "");
  ops.Add("ShardedFilespec(basename: string, num_shards: int32) -> (filename: string)", "");
}

}  // namespace carillon
