// Checkpoints: TensorFlow's V2 format, files that start with a prefix.
#pragma once

#include <string>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// Writes `tensors` under `names` to the checkpoint `prefix`, a string scalar. An element of
// `shape_and_slices` that is not empty says of which part of a larger tensor this is: "6 4 0,3:-"
// are rows 0 to 2 of a tensor of shape [6,4]. Empty: every tensor is whole. The files appear when
// they are complete.
Operation SaveV2(Graph& graph, const Input& prefix, const std::vector<std::string>& names,
                 const std::vector<Output>& tensors,
                 const std::vector<std::string>& shape_and_slices = {});

// Reads tensors, or the parts of them that `shape_and_slices` names. A missing tensor fails the
// step with NotFound, damaged files with DataLoss.
std::vector<Output> RestoreV2(Graph& graph, const Input& prefix,
                              const std::vector<std::string>& names,
                              const std::vector<DType>& dtypes,
                              const std::vector<std::string>& shape_and_slices = {});

// Makes one checkpoint of several, by renaming their files.
Operation MergeV2Checkpoints(Graph& graph, const Input& checkpoint_prefixes,
                             const Input& destination_prefix, bool delete_old_dirs = true,
                             bool allow_missing_files = false);

// "basename-00001-of-00003".
Output ShardedFilename(Graph& graph, const Input& basename, const Input& shard,
                       const Input& num_shards);

}  // namespace carillon
