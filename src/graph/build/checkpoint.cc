#include "carillon/ops/checkpoint.h"

#include "carillon/op_builder.h"

namespace carillon {
namespace {

// One slice for each name: "" where none is given.
Tensor Slices(const std::vector<std::string>& names, const std::vector<std::string>& slices) {
  return Tensor::FromVector(slices.empty() ? std::vector<std::string>(names.size()) : slices);
}

}  // namespace

Operation SaveV2(Graph& graph, const Input& prefix, const std::vector<std::string>& names,
                 const std::vector<Output>& tensors,
                 const std::vector<std::string>& shape_and_slices) {
  return OpBuilder(graph, "SaveV2")
      .Arg(prefix)
      .Arg(Tensor::FromVector(names))
      .Arg(Slices(names, shape_and_slices))
      .Args(tensors)
      .Build();
}

std::vector<Output> RestoreV2(Graph& graph, const Input& prefix,
                              const std::vector<std::string>& names,
                              const std::vector<DType>& dtypes,
                              const std::vector<std::string>& shape_and_slices) {
  const Operation restore = OpBuilder(graph, "RestoreV2")
                                .Arg(prefix)
                                .Arg(Tensor::FromVector(names))
                                .Arg(Slices(names, shape_and_slices))
                                .Attr("dtypes", dtypes)
                                .Build();
  std::vector<Output> tensors;
  for (size_t i = 0; i < dtypes.size(); ++i) tensors.push_back(restore.output(static_cast<int>(i)));
  return tensors;
}

Operation MergeV2Checkpoints(Graph& graph, const Input& checkpoint_prefixes,
                             const Input& destination_prefix, bool delete_old_dirs,
                             bool allow_missing_files) {
  return OpBuilder(graph, "MergeV2Checkpoints")
      .Arg(checkpoint_prefixes)
      .Arg(destination_prefix)
      .Attr("delete_old_dirs", delete_old_dirs)
      .Attr("allow_missing_files", allow_missing_files)
      .Build();
}

Output ShardedFilename(Graph& graph, const Input& basename, const Input& shard,
                       const Input& num_shards) {
  return OpBuilder(graph, "ShardedFilename").Arg(basename).Arg(shard).Arg(num_shards);
}

}  // namespace carillon
