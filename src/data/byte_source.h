// A data file read from front to back, unpacked on the way when it is packed with gzip. Which of
// the two it is, its first bytes say.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/env.h"

namespace carillon {

class Inflater;

// Offsets are those of the unpacked bytes; messages about damaged packing name the offset in the
// file, too. Not thread-safe.
class ByteSource {
 public:
  static StatusOr<ByteSource> Open(Env& env, const std::string& path);
  ByteSource(ByteSource&&) noexcept;
  ~ByteSource();

  // Fills `out`. A file that ends before is DataLoss, which says that `what` was expected.
  Status Read(std::span<char> out, std::string_view what);
  // The same, but false when the file ends right here.
  StatusOr<bool> ReadUnlessAtEnd(std::span<char> out, std::string_view what);
  // DataLoss when there are more bytes, or when a packed file ends without its checksum.
  Status ExpectEnd();
  // An upper bound of the bytes that are left, before which no memory should be taken. Exact when
  // the file is not packed.
  uint64_t MostBytesLeft() const;

  uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }

 private:
  explicit ByteSource(SequentialReader file);
  StatusOr<size_t> ReadSome(std::span<char> out);

  std::string path_;
  std::unique_ptr<SequentialReader> file_;
  std::unique_ptr<Inflater> gunzip_;  // null for a file that is not packed
  uint64_t offset_ = 0;
};

}  // namespace carillon
