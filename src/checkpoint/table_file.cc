#include "checkpoint/table_file.h"

#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>
#include <optional>
#include <snappy.h>
#include <string_view>
#include <utility>

#include "base/work_scope.h"
#include "checkpoint/crc32c.h"
#include "checkpoint/varint.h"

namespace carillon {
namespace {

// A table ends with a footer: the handles (offset and size, as varints) of a block of metadata and
// of the index block, padded, and a magic number. The index block holds, for each block of entries,
// its handle. After each block come a byte that names its compression and the masked checksum of
// block and byte.
constexpr size_t kFooter = 48, kHandles = 40, kTrailer = 5;
constexpr uint64_t kMagic = 0xdb4775248b80fb57u;
constexpr uint64_t kMaxFile = uint64_t{1} << 30;
constexpr size_t kMaxBlock = size_t{1} << 28;  // uncompressed

uint32_t Fixed32At(const char* bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

class TableParser {
 public:
  TableParser(const std::string& path, std::string_view file) : path_(path), file_(file) {}

  StatusOr<TableEntries> Parse() {
    if (file_.size() < kFooter) {
      return DataLoss(path_, ": ", file_.size(), " bytes are too few for a table");
    }
    const uint64_t footer = file_.size() - kFooter;
    std::string_view handles = file_.substr(footer, kHandles);
    const char* magic = file_.data() + footer + kHandles;
    if ((uint64_t{Fixed32At(magic + 4)} << 32 | Fixed32At(magic)) != kMagic) {
      return DataLoss(path_, ": is no table, or truncated: the magic number at offset ",
                      footer + kHandles, " is wrong");
    }
    uint64_t ignored, offset, size;
    if (!TakeVarint(&handles, &ignored) || !TakeVarint(&handles, &ignored) ||
        !TakeVarint(&handles, &offset) || !TakeVarint(&handles, &size)) {
      return DataLoss(path_, ": corrupt footer at offset ", footer);
    }
    std::string storage;
    CARILLON_ASSIGN_OR_RETURN(const std::string_view index, Block(offset, size, &storage));
    CARILLON_RETURN_IF_ERROR(
        ForEachEntry(offset, index, [&](const std::string&, std::string_view handle) -> Status {
          uint64_t block_offset, block_size;
          if (!TakeVarint(&handle, &block_offset) || !TakeVarint(&handle, &block_size)) {
            return DataLoss(path_, ": corrupt handle in the index block at offset ", offset);
          }
          return TakeBlock(block_offset, block_size);
        }));
    return std::move(entries_);
  }

 private:
  // The content of a block; a compressed one is unpacked into *storage.
  StatusOr<std::string_view> Block(uint64_t offset, uint64_t size, std::string* storage) const {
    if (offset > file_.size() || size > file_.size() - offset ||
        file_.size() - offset - size < kTrailer) {
      return DataLoss(path_, ": truncated: a block of ", size, " bytes at offset ", offset,
                      " does not fit into the file of ", file_.size());
    }
    const std::string_view content = file_.substr(offset, size);
    const char* trailer = content.data() + size;
    if (UnmaskCrc(Fixed32At(trailer + 1)) != Crc32c({content.data(), size + 1})) {
      return DataLoss(path_, ": corrupt block at offset ", offset, ": its checksum is wrong");
    }
    if (*trailer == 0) return content;
    size_t unpacked = 0;
    if (*trailer != 1 || !snappy::GetUncompressedLength(content.data(), size, &unpacked) ||
        unpacked > kMaxBlock || !snappy::Uncompress(content.data(), size, storage)) {
      return DataLoss(path_, ": the block at offset ", offset, " cannot be unpacked");
    }
    return *storage;
  }

  Status TakeBlock(uint64_t offset, uint64_t size) {
    std::string storage;
    CARILLON_ASSIGN_OR_RETURN(const std::string_view block, Block(offset, size, &storage));
    return ForEachEntry(offset, block,
                        [&](const std::string& key, std::string_view value) -> Status {
                          if (!entries_.empty() && key <= entries_.rbegin()->first) {
                            return DataLoss(path_, ": the keys in the block at offset ", offset,
                                            " are out of order");
                          }
                          entries_.emplace_hint(entries_.end(), key, value);
                          return absl::OkStatus();
                        });
  }

  // A block is a row of entries (bytes of the key shared with the one before, bytes that follow,
  // bytes of the value), then offsets for searching, then how many of them there are.
  template <typename Body>
  Status ForEachEntry(uint64_t offset, std::string_view block, Body&& body) {
    const auto corrupt = [&] { return DataLoss(path_, ": corrupt block at offset ", offset); };
    if (block.size() < 4) return corrupt();
    const uint64_t restarts = Fixed32At(block.data() + block.size() - 4);
    if (restarts > (block.size() - 4) / 4) return corrupt();
    std::string_view rest = block.substr(0, block.size() - 4 - 4 * restarts);
    std::string key;
    while (!rest.empty()) {
      uint64_t shared, added, value;
      if (!TakeVarint(&rest, &shared) || !TakeVarint(&rest, &added) || !TakeVarint(&rest, &value) ||
          shared > key.size() || added > rest.size() || value > rest.size() - added) {
        return corrupt();
      }
      key.resize(shared);
      key.append(rest.substr(0, added));
      CARILLON_RETURN_IF_ERROR(body(std::as_const(key), rest.substr(added, value)));
      rest.remove_prefix(added + value);
    }
    return absl::OkStatus();
  }

  const std::string& path_;
  const std::string_view file_;
  TableEntries entries_;
};

// leveldb writes through this; the first failure is kept as our own Status.
class LeveldbFile : public leveldb::WritableFile {
 public:
  explicit LeveldbFile(carillon::WritableFile& file) : file_(file) {}
  leveldb::Status Append(const leveldb::Slice& data) override {
    return Keep(file_.Append({data.data(), data.size()}));
  }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return Keep(file_.Sync()); }
  leveldb::Status Close() override { return Keep(file_.Close()); }
  const Status& status() const { return status_; }

 private:
  leveldb::Status Keep(const Status& status) {
    if (status.ok()) return leveldb::Status::OK();
    if (status_.ok()) status_ = status;
    return leveldb::Status::IOError("see status()");
  }
  carillon::WritableFile& file_;
  Status status_;
};

}  // namespace

StatusOr<TableEntries> ReadTable(Env& env, const std::string& path) {
  CARILLON_ASSIGN_OR_RETURN(const std::string file, env.ReadFile(path, kMaxFile));
  return TableParser(path, file).Parse();
}

Status WriteTable(Env& env, const std::string& path, const TableEntries& entries) {
  const WorkPause pause;  // for leveldb
  CARILLON_ASSIGN_OR_RETURN(auto file, env.OpenForWriting(path, Env::WriteMode::kTruncate));
  LeveldbFile adapter(*file);
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.block_size = 256 << 10;  // as TensorFlow, so that equal checkpoints have equal files
  leveldb::TableBuilder builder(options, &adapter);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  builder.Finish();
  CARILLON_RETURN_IF_ERROR(adapter.status());
  CARILLON_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace carillon
