// The pieces that bundle_reader.cc, bundle_writer.cc and bundle_merge.cc share: paths, the header,
// and how the elements of one tensor lie in a data file.
#pragma once

#include <cstdint>
#include <string>

#include "base/env.h"
#include "carillon/tensor.h"
#include "checkpoint/table_file.h"

namespace carillon {

inline constexpr int kMaxBundleShards = 1 << 20;

// A name beside `path` that nobody else uses.
std::string TemporaryPath(const std::string& path);
// NotFound when more than the last directory is missing.
Status MakeBundleDirectory(Env& env, const std::string& prefix);

// The value of the empty key.
std::string BundleHeader(int num_shards);
// Checks the header of the index at `path`.
StatusOr<int> NumShardsOf(const std::string& path, const TableEntries& entries);

struct WrittenElements {
  uint64_t size = 0;
  uint32_t masked_crc = 0;
};
StatusOr<WrittenElements> WriteElements(const Tensor& tensor, WritableFile& file);

// Where elements lie, with names for messages. The caller has checked that the file is that long
// and that the size fits the tensor.
struct ElementsPlace {
  std::string path;
  std::string tensor;
  uint64_t offset = 0;
  uint64_t size = 0;
};
Status ReadElements(const ReadableFile& file, const ElementsPlace& place, uint32_t masked_crc,
                    Tensor* out);

}  // namespace carillon
