#include <algorithm>
#include <set>
#include <utility>

#include "base/foreign_memory.h"
#include "checkpoint/bundle.h"
#include "checkpoint/bundle_elements.h"
#include "proto/checkpoint.pb.h"
#include "tensor/parsed_bytes.h"
#include "tensor/tensor_proto.h"

namespace carillon {

using tensorflow::BundleEntryProto;

BundleReader::BundleReader(Env& env, std::string prefix, Allocator* allocator)
    : env_(env), prefix_(std::move(prefix)), allocator_(allocator) {}
BundleReader::~BundleReader() = default;

StatusOr<std::unique_ptr<BundleReader>> BundleReader::Open(Env& env, const std::string& prefix,
                                                           Allocator* allocator) {
  std::unique_ptr<BundleReader> reader(new BundleReader(env, prefix, allocator));
  const std::string path = BundleIndexPath(prefix);
  auto entries = ReadTable(env, path);
  if (absl::IsNotFound(entries.status())) {
    return NotFound("there is no checkpoint with the prefix ", prefix, ": ", path, " is missing");
  }
  CARILLON_RETURN_IF_ERROR(entries.status());
  reader->entries_ = *std::move(entries);
  CARILLON_ASSIGN_OR_RETURN(reader->num_shards_, NumShardsOf(path, reader->entries_));
  return reader;
}

std::vector<std::string> BundleReader::names() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : entries_) {
    if (!key.empty() && key[0] != '\0') names.push_back(key);
  }
  return names;
}

StatusOr<BundleEntryProto> BundleReader::Entry(const std::string& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end() || key.empty()) {
    return NotFound("Key ", key, " not found in checkpoint ", prefix_);
  }
  const ForeignWork work(MostParsedBytes<BundleEntryProto>(found->second));
  BundleEntryProto entry;
  if (!entry.ParseFromString(found->second)) {
    return DataLoss(BundleIndexPath(prefix_), ": the entry of tensor ", key, " is corrupt");
  }
  return entry;
}

StatusOr<BundleTensorInfo> BundleReader::CheckEntry(const std::string& key,
                                                    const BundleEntryProto& entry) {
  const auto corrupt = [&](const auto&... why) {
    return DataLoss(BundleIndexPath(prefix_), ": the entry of tensor ", key,
                    " is corrupt: ", why...);
  };
  BundleTensorInfo info{.dtype = static_cast<DType>(entry.dtype())};
  if (!IsPlainData(info.dtype) && info.dtype != DType::kString) {
    return Unimplemented(BundleIndexPath(prefix_), ": tensor ", key, " has dtype ", entry.dtype(),
                         ", which cannot be read");
  }
  const StatusOr<PartialShape> shape = PartialShapeFromProto(entry.shape());
  if (!shape.ok() || !shape->AsShape(&info.shape)) return corrupt("its shape is none");
  if (entry.slices_size() > 0) return info;
  if (entry.shard_id() < 0 || entry.shard_id() >= num_shards_) {
    return corrupt("it names shard ", entry.shard_id(), " of ", num_shards_);
  }
  const int64_t elements = info.shape.num_elements();
  const auto element_size = static_cast<int64_t>(DTypeSize(info.dtype));
  // A string takes at least one byte, its length.
  const bool fits = info.dtype == DType::kString ? entry.size() >= elements
                                                 : entry.size() % element_size == 0 &&
                                                       entry.size() / element_size == elements;
  if (entry.size() < 0 || entry.offset() < 0 || !fits) {
    return corrupt(entry.size(), " bytes for a ", DTypeName(info.dtype), " tensor of shape ",
                   info.shape.ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(const ReadableFile* file, Shard(entry.shard_id()));
  const auto offset = static_cast<uint64_t>(entry.offset());
  const auto size = static_cast<uint64_t>(entry.size());
  if (offset > file->size() || size > file->size() - offset) {
    return DataLoss(BundleDataPath(prefix_, entry.shard_id(), num_shards_), ": truncated: tensor ",
                    key, " has ", size, " bytes from offset ", offset, ", but the file ends at ",
                    file->size());
  }
  return info;
}

StatusOr<const ReadableFile*> BundleReader::Shard(int shard) {
  std::unique_ptr<ReadableFile>& file = shards_[shard];
  if (file == nullptr) {
    CARILLON_ASSIGN_OR_RETURN(file,
                              env_.OpenForReading(BundleDataPath(prefix_, shard, num_shards_)));
  }
  return file.get();
}

StatusOr<BundleTensorInfo> BundleReader::Describe(const std::string& name) {
  CARILLON_ASSIGN_OR_RETURN(const BundleEntryProto entry, Entry(name));
  return CheckEntry(name, entry);
}

Status BundleReader::ReadElements(const std::string& key, const BundleEntryProto& entry,
                                  Tensor* out) {
  CARILLON_ASSIGN_OR_RETURN(const ReadableFile* file, Shard(entry.shard_id()));
  const ElementsPlace place{.path = BundleDataPath(prefix_, entry.shard_id(), num_shards_),
                            .tensor = key,
                            .offset = static_cast<uint64_t>(entry.offset()),
                            .size = static_cast<uint64_t>(entry.size())};
  return carillon::ReadElements(*file, place, entry.crc32c(), out);
}

Status BundleReader::Read(const std::string& name, Tensor* out) {
  return ReadSlice(name, TensorSlice::Whole(out->rank()), out);
}

Status BundleReader::ReadSlice(const std::string& name, const TensorSlice& slice, Tensor* out) {
  CARILLON_ASSIGN_OR_RETURN(const BundleEntryProto entry, Entry(name));
  CARILLON_ASSIGN_OR_RETURN(const BundleTensorInfo info, CheckEntry(name, entry));
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, slice.ShapeWithin(info.shape));
  if (out->dtype() != info.dtype || out->shape() != shape) {
    return InvalidArgument("tensor ", name, " of checkpoint ", prefix_, " is ",
                           DTypeName(info.dtype), shape.ToString(), ", not ",
                           DTypeName(out->dtype()), out->shape().ToString());
  }
  const TensorSlice wanted = slice.Resolved(info.shape);
  if (entry.slices_size() > 0) return ReadFromSlices(name, entry, info.shape, wanted, out);
  const TensorSlice all = TensorSlice::Whole(info.shape.rank()).Resolved(info.shape);
  if (wanted == all) return ReadElements(name, entry, out);
  // The checksum covers the whole tensor, so all of it has to be read.
  Tensor whole = Tensor::TryAllocate(info.dtype, info.shape, allocator_);
  if (!whole.has_value()) return ResourceExhausted("no memory for tensor ", name, " of ", prefix_);
  CARILLON_RETURN_IF_ERROR(ReadElements(name, entry, &whole));
  TensorSlice common;
  if (wanted.Intersect(all, &common)) CopyCommonPart(whole, all, common, wanted, out);
  return absl::OkStatus();
}

Status BundleReader::ReadFromSlices(const std::string& name, const BundleEntryProto& entry,
                                    const Shape& full, const TensorSlice& wanted, Tensor* out) {
  struct Part {
    TensorSlice slice, common;
    std::string key;
  };
  std::vector<Part> parts;
  int64_t covered = 0;
  std::set<std::string> seen;
  for (const tensorflow::TensorSliceProto& proto : entry.slices()) {
    Part part;
    const auto slice = TensorSlice::FromProto(proto);
    if (!slice.ok() || !slice->ShapeWithin(full).ok()) {
      return DataLoss(BundleIndexPath(prefix_), ": a slice of tensor ", name, " is corrupt");
    }
    part.key = SliceKey(name, *slice);
    part.slice = slice->Resolved(full);
    if (!seen.insert(part.key).second || !wanted.Intersect(part.slice, &part.common)) continue;
    for (const Part& other : parts) {
      TensorSlice overlap;
      if (part.slice.Intersect(other.slice, &overlap)) {
        return DataLoss(BundleIndexPath(prefix_), ": the slices ", part.slice.ToString(), " and ",
                        other.slice.ToString(), " of tensor ", name, " overlap");
      }
    }
    int64_t elements = 1;
    for (const TensorSlice::Extent& extent : part.common.extents()) elements *= extent.length;
    covered += elements;
    parts.push_back(std::move(part));
  }
  if (covered != out->num_elements()) {
    return InvalidArgument("the slices of tensor ", name, " in checkpoint ", prefix_,
                           " do not cover ", wanted.ToString());
  }
  for (const Part& part : parts) {
    CARILLON_ASSIGN_OR_RETURN(const BundleEntryProto slice_entry, Entry(part.key));
    CARILLON_ASSIGN_OR_RETURN(const BundleTensorInfo info, CheckEntry(part.key, slice_entry));
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, part.slice.ShapeWithin(full));
    if (slice_entry.slices_size() > 0 || info.dtype != out->dtype() || info.shape != shape) {
      return DataLoss(BundleIndexPath(prefix_), ": the slice ", part.slice.ToString(),
                      " of tensor ", name, " contradicts its tensor");
    }
    if (part.slice == wanted) return ReadElements(part.key, slice_entry, out);
    Tensor read = Tensor::TryAllocate(info.dtype, info.shape, allocator_);
    if (!read.has_value()) return ResourceExhausted("no memory for a slice of tensor ", name);
    CARILLON_RETURN_IF_ERROR(ReadElements(part.key, slice_entry, &read));
    CopyCommonPart(read, part.slice, part.common, wanted, out);
  }
  return absl::OkStatus();
}

}  // namespace carillon
