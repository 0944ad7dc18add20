#include "kernels/record_format.h"

#include <array>
#include <limits>
#include <string_view>

#include "base/strings.h"
#include "checkpoint/crc32c.h"

namespace carillon {
namespace {

constexpr size_t kRecordHeader = 12, kRecordFooter = 4;  // of a TFRecord

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Status Truncated(const ByteStream& stream, uint64_t start) {
  return DataLoss(stream.path(), ": truncated record at ", start, ": the file ends at ",
                  stream.offset());
}

Status Corrupt(const ByteStream& stream, uint64_t start, const char* what) {
  return DataLoss(stream.path(), ": corrupted record at ", start, ": the checksum of its ", what,
                  " is wrong");
}

}  // namespace

Status TextLines::Start(RecordCursor& cursor) const {
  std::string line;
  bool any = true;
  for (int64_t i = 0; i < skipped_ && any; ++i) {
    CARILLON_ASSIGN_OR_RETURN(any, cursor.stream.ReadLine(&line));
    if (any) ++cursor.place;
  }
  return absl::OkStatus();
}

StatusOr<bool> TextLines::Next(RecordCursor& cursor, std::string* record) const {
  ++cursor.place;
  return cursor.stream.ReadLine(record);
}

Status TfRecords::Start(RecordCursor& cursor) const {
  if (offsets_.empty()) return absl::OkStatus();
  const int64_t offset = offsets_[cursor.file];
  CARILLON_ASSIGN_OR_RETURN(const bool there, cursor.stream.Skip(static_cast<uint64_t>(offset)));
  if (there) return absl::OkStatus();
  return OutOfRange(cursor.stream.path(), ": ends before the byte offset ", offset);
}

StatusOr<bool> TfRecords::Next(RecordCursor& cursor, std::string* record) const {
  ByteStream& stream = cursor.stream;
  const uint64_t start = cursor.place = stream.offset();
  std::array<char, kRecordHeader> header;
  CARILLON_ASSIGN_OR_RETURN(const size_t got, stream.Read(header));
  if (got < header.size()) return false;  // TensorFlow takes a header cut short for the end
  const std::string_view length_bytes(header.data(), 8);
  if (MaskCrc(Crc32c(length_bytes)) != LittleEndian({header.data() + 8, 4}))
    return Corrupt(stream, start, "length");
  const uint64_t length = LittleEndian(length_bytes);
  if (length > std::numeric_limits<uint64_t>::max() - kRecordFooter)
    return Truncated(stream, start);
  CARILLON_RETURN_IF_ERROR(stream.ReadUpTo(length + kRecordFooter, record));
  if (record->size() < length + kRecordFooter) return Truncated(stream, start);
  const uint64_t stored = LittleEndian(std::string_view(*record).substr(length));
  record->resize(length);
  if (MaskCrc(Crc32c(*record)) != stored) return Corrupt(stream, start, "data");
  return true;
}

Status FixedLengthRecords::Check(const Options& options) {
  if (options.header < 0 || options.footer < 0 || options.hop < 0 || options.record < 1) {
    return InvalidArgument("header_bytes (", options.header, "), footer_bytes (", options.footer,
                           ") and hop_bytes (", options.hop, ") must be at least 0, record_bytes (",
                           options.record, ") greater than 0");
  }
  if (options.record > std::numeric_limits<int64_t>::max() - options.footer)
    return InvalidArgument("record_bytes and footer_bytes are too large");
  return absl::OkStatus();
}

FixedLengthRecords::FixedLengthRecords(const Options& options)
    : header_(static_cast<uint64_t>(options.header)),
      record_(static_cast<uint64_t>(options.record)),
      footer_(static_cast<uint64_t>(options.footer)),
      hop_(static_cast<uint64_t>(options.hop == 0 ? options.record : options.hop)),
      exact_(options.exact) {}

Status FixedLengthRecords::Start(RecordCursor& cursor) const {
  CARILLON_ASSIGN_OR_RETURN(const bool there, cursor.stream.Skip(header_));
  if (there) return absl::OkStatus();
  const std::string message =
      StrCat(cursor.stream.path(), ": shorter than its header of ", header_, " bytes");
  return exact_ ? InvalidArgument(message) : OutOfRange(message);
}

// cursor.ahead holds what the next records need again, or what may turn out to be the footer.
StatusOr<bool> FixedLengthRecords::Next(RecordCursor& cursor, std::string* record) const {
  const uint64_t wanted = record_ + footer_;
  std::string& ahead = cursor.ahead;
  if (hop_ > wanted && cursor.next > 0) {
    CARILLON_ASSIGN_OR_RETURN(const bool there, cursor.stream.Skip(hop_ - wanted));
    if (!there) return false;
  }
  CARILLON_RETURN_IF_ERROR(cursor.stream.ReadUpTo(wanted - ahead.size(), &ahead));
  if (ahead.size() == wanted) {
    record->assign(ahead, 0, record_);
    ahead.erase(0, hop_);
    cursor.place = cursor.next++;
    return true;
  }
  if (!exact_ || ahead.size() == footer_) return false;
  return InvalidArgument(
      "Excluding the header (", header_, " bytes) and footer (", footer_, " bytes), input file \"",
      cursor.stream.path(), "\", which ends at offset ", cursor.stream.offset(),
      ", is not an exact multiple of the record length (", record_, " bytes) long.");
}

}  // namespace carillon
