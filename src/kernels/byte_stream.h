// ByteStream: a file read from front to back, unpacked on the way when it is packed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/env.h"

namespace carillon {

class Inflater;

// Offsets are those of the unpacked bytes. Not thread-safe. Cancelled when nobody wants the work
// any more (WorkIsCancelled).
class ByteStream {
 public:
  enum class Packing { kNone, kZlib, kGzip };
  // "", "ZLIB" and "GZIP", as the ops spell it. InvalidArgument for anything else.
  static StatusOr<Packing> ParsePacking(std::string_view name);

  static StatusOr<ByteStream> Open(Env& env, const std::string& path, Packing packing);
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

  // Fewer bytes than asked for only at the end. DataLoss names the file and the offset where packed
  // data is corrupt.
  StatusOr<size_t> Read(std::span<char> out);
  // Up to `count` bytes more, taking memory only for bytes that are there.
  Status ReadUpTo(uint64_t count, std::string* out);
  // Without its end; false when there are no more. Carriage returns are dropped.
  StatusOr<bool> ReadLine(std::string* line);
  // False when the file ends before.
  StatusOr<bool> Skip(uint64_t count);

  uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }

 private:
  explicit ByteStream(SequentialReader file);
  StatusOr<size_t> ReadSome(std::span<char> out);

  std::string path_;
  std::unique_ptr<SequentialReader> file_;
  std::unique_ptr<Inflater> inflater_;  // null for a file that is not packed
  std::string piece_;                   // unread bytes from begin_ on, for lines
  size_t begin_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace carillon
