// TFRecord framing, which event files share. A record is, in little-endian order:
//
//   length (8 bytes), masked crc32c of those 8 bytes (4), the data, masked crc32c of the data (4)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/env.h"

namespace carillon {

// Not thread-safe.
class RecordReader {
 public:
  static StatusOr<RecordReader> Open(Env& env, const std::string& path);
  // Reads the next record; false at the end of the file. Damage is DataLoss that names file, offset
  // and what was expected; a length is checked before memory is taken for it.
  StatusOr<bool> Next(std::string* record);
  uint64_t offset() const { return reader_.offset(); }  // of the next record

 private:
  explicit RecordReader(SequentialReader reader) : reader_(std::move(reader)) {}
  SequentialReader reader_;
};

// Not thread-safe. Records are complete on disk after Flush() or Close().
class RecordWriter {
 public:
  static StatusOr<RecordWriter> Open(Env& env, const std::string& path,
                                     Env::WriteMode mode = Env::WriteMode::kTruncate);
  Status Append(std::string_view record);
  Status Flush() { return file_->Flush(); }
  Status Close() { return file_->Close(); }

 private:
  explicit RecordWriter(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  std::unique_ptr<WritableFile> file_;
};

}  // namespace carillon
