#include "checkpoint/bundle.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <random>

#include "base/foreign_memory.h"
#include "base/str_format.h"
#include "checkpoint/bundle_elements.h"
#include "checkpoint/crc32c.h"
#include "checkpoint/varint.h"
#include "proto/checkpoint.pb.h"
#include "tensor/parsed_bytes.h"

namespace carillon {
namespace {

constexpr int kVersion = 1;
constexpr size_t kChunk = size_t{1} << 20;  // read and checksummed while it is in the cache

std::string_view BytesOf(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()), tensor.num_bytes()};
}

// The checksum covers lengths in fixed width: 4 bytes, or 8 where they do not fit.
uint32_t ExtendByLength(uint64_t length, uint32_t crc) {
  std::array<char, 8> bytes;
  std::memcpy(bytes.data(), &length, 8);
  return Crc32c({bytes.data(), size_t{length <= std::numeric_limits<uint32_t>::max() ? 4u : 8u}},
                crc);
}

StatusOr<WrittenElements> WriteStrings(const Tensor& tensor, WritableFile& file) {
  std::string lengths;
  uint32_t crc = 0;
  for (const std::string& text : tensor.values<std::string>()) {
    AppendVarint(text.size(), &lengths);
    crc = ExtendByLength(text.size(), crc);
  }
  const uint32_t checksum = MaskCrc(crc);
  std::array<char, 4> bytes;
  std::memcpy(bytes.data(), &checksum, 4);
  lengths.append(bytes.data(), 4);
  crc = Crc32c({bytes.data(), 4}, crc);
  CARILLON_RETURN_IF_ERROR(file.Append(lengths));
  uint64_t size = lengths.size();
  for (const std::string& text : tensor.values<std::string>()) {
    crc = Crc32c(text, crc);
    size += text.size();
    CARILLON_RETURN_IF_ERROR(file.Append(text));
  }
  return WrittenElements{size, MaskCrc(crc)};
}

class ElementsReader {
 public:
  ElementsReader(const ReadableFile& file, const ElementsPlace& place, uint32_t masked_crc)
      : file_(file), place_(place), masked_crc_(masked_crc) {}

  Status ReadPlain(Tensor* out) {
    auto* bytes = static_cast<char*>(out->mutable_raw_data());
    for (size_t done = 0; done < place_.size; done += kChunk) {
      const std::span<char> chunk(bytes + done, std::min<size_t>(kChunk, place_.size - done));
      CARILLON_RETURN_IF_ERROR(ReadAt(done, chunk));
      crc_ = Crc32c({chunk.data(), chunk.size()}, crc_);
    }
    if (out->dtype() == DType::kBool) {  // any byte but 0 and 1 would be undefined behaviour
      std::transform(bytes, bytes + place_.size, bytes,
                     [](char c) { return static_cast<char>(c != 0); });
    }
    return CheckCrc();
  }

  Status ReadStrings(Tensor* out) {
    const std::span<std::string> strings = out->mutable_values<std::string>();
    std::vector<uint64_t> lengths(strings.size());
    CARILLON_RETURN_IF_ERROR(ReadLengths(lengths));
    uint64_t total = 0;
    for (const uint64_t length : lengths) {
      if (length > place_.size - position_ - total) {
        return Corrupt("its strings are longer than its bytes");
      }
      total += length;
    }
    if (total != place_.size - position_) return Corrupt("its strings are shorter than its bytes");
    for (size_t i = 0; i < strings.size(); ++i) {
      strings[i].resize(lengths[i]);
      CARILLON_RETURN_IF_ERROR(ReadAt(position_, {strings[i].data(), lengths[i]}));
      crc_ = Crc32c(strings[i], crc_);
      position_ += lengths[i];
    }
    return CheckCrc();
  }

 private:
  template <typename... Args>
  Status Corrupt(const Args&... why) const {
    return DataLoss(place_.path, ": tensor ", place_.tensor, " at offset ", place_.offset,
                    " is corrupt: ", why...);
  }

  Status CheckCrc() const {
    if (MaskCrc(crc_) == masked_crc_) return absl::OkStatus();
    return Corrupt(StrFormat("its checksum is %08x, expected %08x", MaskCrc(crc_), masked_crc_));
  }

  Status ReadAt(uint64_t position, std::span<char> out) const {
    CARILLON_ASSIGN_OR_RETURN(const size_t got, file_.Read(place_.offset + position, out));
    if (got == out.size()) return absl::OkStatus();
    return DataLoss(place_.path, ": truncated inside of tensor ", place_.tensor, " at offset ",
                    place_.offset + position + got);
  }

  // Lengths come in a block of unknown size before the strings: they are read in pieces.
  Status ReadLengths(std::span<uint64_t> lengths) {
    std::string buffer;
    uint64_t buffered_to = 0;  // the bytes of buffer end here
    const auto refill = [&](std::string_view* rest) -> Status {
      buffer = std::string(*rest);
      const size_t more = std::min<uint64_t>(64 << 10, place_.size - buffered_to);
      const size_t kept = buffer.size();
      buffer.resize(kept + more);
      CARILLON_RETURN_IF_ERROR(ReadAt(buffered_to, {buffer.data() + kept, more}));
      buffered_to += more;
      *rest = buffer;
      return absl::OkStatus();
    };
    std::string_view rest;
    for (uint64_t& length : lengths) {
      if (rest.size() < 10) CARILLON_RETURN_IF_ERROR(refill(&rest));
      if (!TakeVarint(&rest, &length)) return Corrupt("the length of a string is none");
      crc_ = ExtendByLength(length, crc_);
    }
    if (rest.size() < 4) CARILLON_RETURN_IF_ERROR(refill(&rest));
    if (rest.size() < 4) return Corrupt("the checksum of the lengths is missing");
    uint32_t stored;
    std::memcpy(&stored, rest.data(), 4);
    if (stored != MaskCrc(crc_)) return Corrupt("the lengths of its strings have a wrong checksum");
    crc_ = Crc32c(rest.substr(0, 4), crc_);
    position_ = buffered_to - rest.size() + 4;
    return absl::OkStatus();
  }

  const ReadableFile& file_;
  const ElementsPlace& place_;
  const uint32_t masked_crc_;
  uint32_t crc_ = 0;
  uint64_t position_ = 0;  // of the next string, from the place's offset
};

}  // namespace

std::string BundleIndexPath(std::string_view prefix) { return StrCat(prefix, ".index"); }

std::string BundleDataPath(std::string_view prefix, int shard, int num_shards) {
  return StrCat(prefix, StrFormat(".data-%05d-of-%05d", shard, num_shards));
}

std::string TemporaryPath(const std::string& path) {
  std::random_device random;
  return StrFormat("%s.tempstate%08x%08x", path, random(), random());
}

Status MakeBundleDirectory(Env& env, const std::string& prefix) {
  const std::string directory(Dirname(prefix));
  if (env.Exists(directory)) return absl::OkStatus();
  const std::string parent(Dirname(directory));
  if (!env.Exists(parent)) {
    return NotFound("cannot write the checkpoint ", prefix, ": the directory ", parent,
                    " does not exist");
  }
  return env.MakeDirectories(directory);
}

std::string BundleHeader(int num_shards) {
  tensorflow::BundleHeaderProto header;
  header.set_num_shards(num_shards);
  header.mutable_version()->set_producer(kVersion);
  return header.SerializeAsString();
}

StatusOr<int> NumShardsOf(const std::string& path, const TableEntries& entries) {
  const auto found = entries.find("");
  const ForeignWork work(
      found == entries.end() ? 0 : MostParsedBytes<tensorflow::BundleHeaderProto>(found->second));
  tensorflow::BundleHeaderProto header;
  if (found == entries.end() || !header.ParseFromString(found->second) || header.num_shards() < 1 ||
      header.num_shards() > kMaxBundleShards) {
    return DataLoss(path, ": has no valid header, so it is no index of a checkpoint");
  }
  if (header.endianness() != tensorflow::BundleHeaderProto::LITTLE) {
    return Unimplemented(path, ": was written on a big-endian machine");
  }
  if (header.version().min_consumer() > kVersion) {
    return InvalidArgument(path, ": needs a reader of version ", header.version().min_consumer(),
                           ", this one is ", kVersion);
  }
  return header.num_shards();
}

StatusOr<WrittenElements> WriteElements(const Tensor& tensor, WritableFile& file) {
  if (tensor.dtype() == DType::kString) return WriteStrings(tensor, file);
  const std::string_view bytes = BytesOf(tensor);
  CARILLON_RETURN_IF_ERROR(file.Append(bytes));
  return WrittenElements{bytes.size(), MaskCrc(Crc32c(bytes))};
}

Status ReadElements(const ReadableFile& file, const ElementsPlace& place, uint32_t masked_crc,
                    Tensor* out) {
  ElementsReader reader(file, place, masked_crc);
  return out->dtype() == DType::kString ? reader.ReadStrings(out) : reader.ReadPlain(out);
}

}  // namespace carillon
