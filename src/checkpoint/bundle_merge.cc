#include <set>

#include "base/foreign_memory.h"
#include "checkpoint/bundle.h"
#include "checkpoint/bundle_elements.h"
#include "proto/checkpoint.pb.h"
#include "tensor/parsed_bytes.h"

namespace carillon {

using tensorflow::BundleEntryProto;

Status MergeBundles(Env& env, std::span<const std::string> prefixes, const std::string& destination,
                    const MergeBundlesOptions& options) {
  struct Rename {
    std::string from;
    int shard;
  };
  std::vector<Rename> renames;
  std::map<std::string, BundleEntryProto> merged;
  std::set<std::string> old_indices, old_directories;
  for (const std::string& prefix : prefixes) {
    const std::string path = BundleIndexPath(prefix);
    const auto entries = ReadTable(env, path);
    if (absl::IsNotFound(entries.status())) {
      if (options.allow_missing) continue;
      return InvalidArgument("cannot merge the checkpoint ", prefix, ": ", path, " is missing");
    }
    CARILLON_RETURN_IF_ERROR(entries.status());
    CARILLON_ASSIGN_OR_RETURN(const int shards, NumShardsOf(path, *entries));
    const int first_shard = static_cast<int>(renames.size());
    if (shards > kMaxBundleShards - first_shard) {
      return InvalidArgument("merging ", destination, " would give more than ", kMaxBundleShards,
                             " shards");
    }
    for (int i = 0; i < shards; ++i) {
      renames.push_back({BundleDataPath(prefix, i, shards), first_shard + i});
    }
    for (const auto& [key, value] : *entries) {
      if (key.empty()) continue;
      const ForeignWork work(MostParsedBytes<BundleEntryProto>(value));
      BundleEntryProto entry;
      if (!entry.ParseFromString(value) || entry.shard_id() < 0 || entry.shard_id() >= shards) {
        return DataLoss(path, ": the entry of tensor ", key, " is corrupt");
      }
      const auto [at, added] = merged.try_emplace(key, entry);
      if (!added) {
        if (entry.slices_size() == 0 || at->second.slices_size() == 0) {
          return InvalidArgument("tensor ", key, " is in ", prefix,
                                 " and in another of the checkpoints to merge");
        }
        if (entry.dtype() != at->second.dtype() ||
            entry.shape().SerializeAsString() != at->second.shape().SerializeAsString()) {
          return InvalidArgument("the checkpoints to merge disagree on dtype or shape of tensor ",
                                 key);
        }
        at->second.mutable_slices()->MergeFrom(entry.slices());
      }
      if (at->second.slices_size() == 0) at->second.set_shard_id(first_shard + entry.shard_id());
    }
    old_indices.insert(path);
    old_directories.insert(std::string(Dirname(prefix)));
  }
  if (old_indices.empty())
    return InvalidArgument("none of the checkpoints to be merged into ", destination, " exists");

  const int num_shards = static_cast<int>(renames.size());
  const WorkPause pause;  // for protobuf
  TableEntries table{{"", BundleHeader(num_shards)}};
  for (const auto& [key, entry] : merged) table.emplace(key, entry.SerializeAsString());
  const std::string index = BundleIndexPath(destination), temporary = TemporaryPath(index);
  CARILLON_RETURN_IF_ERROR(MakeBundleDirectory(env, destination));
  const auto publish = [&]() -> Status {
    CARILLON_RETURN_IF_ERROR(WriteTable(env, temporary, table));
    for (const Rename& rename : renames) {
      CARILLON_RETURN_IF_ERROR(
          env.Rename(rename.from, BundleDataPath(destination, rename.shard, num_shards)));
    }
    return env.Rename(temporary, index);
  };
  if (const Status status = publish(); !status.ok()) {
    env.Remove(temporary).IgnoreError();
    return status;
  }
  // The merged checkpoint is complete; what cannot be tidied up does no harm.
  old_indices.erase(index);
  for (const std::string& path : old_indices) env.Remove(path).IgnoreError();
  if (options.delete_old_directories) {
    old_directories.erase(std::string(Dirname(destination)));
    for (const std::string& path : old_directories) env.Remove(path).IgnoreError();
  }
  return absl::OkStatus();
}

}  // namespace carillon
