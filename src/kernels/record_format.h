// How the records of a file are found: lines of text, TFRecords, records of a fixed length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/byte_stream.h"

namespace carillon {

// Where one file is being read.
struct RecordCursor {
  ByteStream stream;
  size_t file = 0;     // its number, for formats that treat files differently
  uint64_t place = 0;  // what the record read last is known by, as the format says
  // The format's own: how many records there were, and bytes that are not used up, those right in
  // front of where the stream is.
  uint64_t next = 0;
  std::string ahead = {};
};

// Immutable.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  // Called once, in front of the first record.
  virtual Status Start(RecordCursor&) const { return absl::OkStatus(); }
  // False at the end of the file. `record` is empty.
  virtual StatusOr<bool> Next(RecordCursor& cursor, std::string* record) const = 0;
};

// Known by their numbers, the first line of the file being 1.
class TextLines final : public RecordFormat {
 public:
  explicit TextLines(int64_t skipped = 0) : skipped_(skipped) {}
  Status Start(RecordCursor& cursor) const override;
  StatusOr<bool> Next(RecordCursor& cursor, std::string* record) const override;

 private:
  const int64_t skipped_;  // lines in front of the first record
};

// Length, checksum of the length, data, checksum of the data: see checkpoint/record.h. Known by
// their offsets.
class TfRecords final : public RecordFormat {
 public:
  // Where the records begin, by file; none: at the start of each.
  explicit TfRecords(std::vector<int64_t> offsets = {}) : offsets_(std::move(offsets)) {}
  Status Start(RecordCursor& cursor) const override;
  StatusOr<bool> Next(RecordCursor& cursor, std::string* record) const override;

 private:
  const std::vector<int64_t> offsets_;
};

// Between a header and a footer. Known by their numbers, from 0.
class FixedLengthRecords final : public RecordFormat {
 public:
  struct Options {
    int64_t header = 0, record = 0, footer = 0;
    int64_t hop = 0;     // from the start of a record to the next; 0: a record's length
    bool exact = false;  // bytes that are left over are InvalidArgument
  };
  // InvalidArgument when a length is out of range.
  static Status Check(const Options& options);
  // `options` have been checked.
  explicit FixedLengthRecords(const Options& options);
  Status Start(RecordCursor& cursor) const override;
  StatusOr<bool> Next(RecordCursor& cursor, std::string* record) const override;

 private:
  const uint64_t header_, record_, footer_, hop_;
  const bool exact_;
};

}  // namespace carillon
