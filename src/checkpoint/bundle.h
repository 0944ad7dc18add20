// Checkpoints in TensorFlow's V2 format, a bundle of files under one prefix:
//
//   PREFIX.index                  a table: name of a tensor -> BundleEntryProto, where it lies; the
//                                 empty name -> BundleHeaderProto
//   PREFIX.data-00000-of-00002    the elements, one tensor after the other
//
// A tensor that was saved in slices has an entry that lists them, and each slice one of its own
// under SliceKey(). Plain elements lie as in memory; strings as their lengths (varints), a checksum
// of these, and the bytes. Every entry holds the masked crc32c of its elements.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "carillon/tensor.h"
#include "checkpoint/table_file.h"
#include "checkpoint/tensor_slice.h"
#include "tensor/allocator.h"

namespace tensorflow {
class BundleEntryProto;
}

namespace carillon {

std::string BundleIndexPath(std::string_view prefix);
std::string BundleDataPath(std::string_view prefix, int shard, int num_shards);

// Writes one shard into temporary files; Finish() syncs them and gives them their names, the index
// last. Whatever fails before that leaves the files under the prefix as they were. When a
// checkpoint is overwritten and the last rename fails, the old index does not match the new data,
// which readers notice. Elements go to the file straight from the tensor's memory. Not thread-safe.
class BundleWriter {
 public:
  // Makes the directory of `prefix` when only that one is missing.
  static StatusOr<std::unique_ptr<BundleWriter>> Open(Env& env, const std::string& prefix);
  ~BundleWriter();  // removes the temporary files that are left

  // InvalidArgument when the name is taken.
  Status Add(const std::string& name, const Tensor& tensor);
  // `tensor` is the part `slice` of a tensor of shape `full`. All slices of a name must agree on
  // dtype and shape.
  Status AddSlice(const std::string& name, const Shape& full, const TensorSlice& slice,
                  const Tensor& tensor);
  Status Finish();

 private:
  BundleWriter(Env& env, std::string prefix);
  Status WriteElements(const std::string& key, const Tensor& tensor);

  Env& env_;
  const std::string prefix_;
  std::string data_path_, index_path_;  // temporary
  std::unique_ptr<WritableFile> data_;
  uint64_t offset_ = 0;
  std::map<std::string, tensorflow::BundleEntryProto> entries_;
};

struct BundleTensorInfo {
  DType dtype = DType::kInvalid;
  Shape shape;
};

// Files are suspect: sizes are checked against each other and against the files before memory is
// taken, elements against their checksums. Damage is DataLoss that names file, tensor and offset;
// an unknown tensor is NotFound. Not thread-safe.
class BundleReader {
 public:
  // NotFound when there is no index. What has to be read though only parts of it are wanted is for
  // a while in memory of `allocator`, which outlives the reader.
  static StatusOr<std::unique_ptr<BundleReader>> Open(Env& env, const std::string& prefix,
                                                      Allocator* allocator = HostAllocator());
  ~BundleReader();

  std::vector<std::string> names() const;  // sorted, without the keys of slices
  StatusOr<BundleTensorInfo> Describe(const std::string& name);
  // *out has the dtype and shape that Describe gave.
  Status Read(const std::string& name, Tensor* out);
  // *out has the dtype of the tensor and the shape of the slice. InvalidArgument when the saved
  // slices do not cover it.
  Status ReadSlice(const std::string& name, const TensorSlice& slice, Tensor* out);

 private:
  BundleReader(Env& env, std::string prefix, Allocator* allocator);
  StatusOr<tensorflow::BundleEntryProto> Entry(const std::string& key) const;
  StatusOr<BundleTensorInfo> CheckEntry(const std::string& key,
                                        const tensorflow::BundleEntryProto& entry);
  StatusOr<const ReadableFile*> Shard(int shard);
  // Of an entry without slices.
  Status ReadElements(const std::string& key, const tensorflow::BundleEntryProto& entry,
                      Tensor* out);
  Status ReadFromSlices(const std::string& name, const tensorflow::BundleEntryProto& entry,
                        const Shape& full, const TensorSlice& wanted, Tensor* out);

  Env& env_;
  const std::string prefix_;
  Allocator* const allocator_;
  int num_shards_ = 0;
  TableEntries entries_;
  std::map<int, std::unique_ptr<ReadableFile>> shards_;
};

struct MergeBundlesOptions {
  bool delete_old_directories = true;  // of `prefixes`, when that leaves them empty
  bool allow_missing = false;
};
// Makes one bundle out of several: data files are renamed, their indices joined into one.
Status MergeBundles(Env& env, std::span<const std::string> prefixes, const std::string& destination,
                    const MergeBundlesOptions& options = {});

}  // namespace carillon
