#include "checkpoint/record.h"

#include <array>
#include <cstring>
#include <utility>

#include "base/str_format.h"
#include "checkpoint/crc32c.h"

namespace carillon {
namespace {

constexpr size_t kHeader = 12, kFooter = 4;

template <typename T>
T LittleEndianAt(const char* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

template <typename T>
void PutLittleEndian(T value, char* bytes) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
}

Status CheckCrc(const std::string& path, uint64_t offset, const char* what, std::string_view bytes,
                uint32_t stored) {
  const uint32_t actual = MaskCrc(Crc32c(bytes));
  if (actual == stored) return absl::OkStatus();
  return DataLoss(path, ": corrupt record at offset ", offset, ": the ", what, " has checksum ",
                  StrFormat("%08x, expected %08x", actual, stored));
}

}  // namespace

StatusOr<RecordReader> RecordReader::Open(Env& env, const std::string& path) {
  CARILLON_ASSIGN_OR_RETURN(SequentialReader reader, SequentialReader::Open(env, path));
  return RecordReader(std::move(reader));
}

StatusOr<bool> RecordReader::Next(std::string* record) {
  const uint64_t start = reader_.offset();
  const std::string& path = reader_.path();
  const auto truncated = [&](std::string_view what, uint64_t wanted, uint64_t got) {
    return DataLoss(path, ": truncated at offset ", start + got, ": expected ", wanted,
                    " bytes of ", what, " from offset ", start, ", got ", got);
  };
  std::array<char, kHeader> header;
  CARILLON_ASSIGN_OR_RETURN(const size_t got_header, reader_.Read(header));
  if (got_header == 0) return false;
  if (got_header < kHeader) return truncated("record header", kHeader, got_header);
  CARILLON_RETURN_IF_ERROR(CheckCrc(path, start, "length", {header.data(), 8},
                                    LittleEndianAt<uint32_t>(header.data() + 8)));
  const auto length = LittleEndianAt<uint64_t>(header.data());
  const uint64_t left = reader_.size() - std::min(reader_.size(), reader_.offset());
  if (length > left || left - length < kFooter) {
    return DataLoss(path, ": truncated: the record at offset ", start, " has ", length,
                    " bytes of data and 4 of checksum, but the file ends at ", reader_.size());
  }
  record->resize(length + kFooter);
  CARILLON_ASSIGN_OR_RETURN(const size_t got, reader_.Read({record->data(), record->size()}));
  if (got < record->size()) return truncated("record", kHeader + record->size(), kHeader + got);
  const auto stored = LittleEndianAt<uint32_t>(record->data() + length);
  record->resize(length);
  CARILLON_RETURN_IF_ERROR(CheckCrc(path, start, "data", *record, stored));
  return true;
}

StatusOr<RecordWriter> RecordWriter::Open(Env& env, const std::string& path, Env::WriteMode mode) {
  CARILLON_ASSIGN_OR_RETURN(auto file, env.OpenForWriting(path, mode));
  return RecordWriter(std::move(file));
}

Status RecordWriter::Append(std::string_view record) {
  std::array<char, kHeader> header;
  PutLittleEndian<uint64_t>(record.size(), header.data());
  PutLittleEndian(MaskCrc(Crc32c({header.data(), 8})), header.data() + 8);
  std::array<char, kFooter> footer;
  PutLittleEndian(MaskCrc(Crc32c(record)), footer.data());
  CARILLON_RETURN_IF_ERROR(file_->Append({header.data(), header.size()}));
  CARILLON_RETURN_IF_ERROR(file_->Append(record));
  return file_->Append({footer.data(), footer.size()});
}

}  // namespace carillon
