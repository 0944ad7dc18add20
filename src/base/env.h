// Files behind one interface, so that code which reads and writes them can be tested without a disk
// and against failures.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace carillon {

// An open file that only gets read. Thread-safe.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  // Fills `out` from `offset` on and returns how many bytes there were: fewer than asked for only
  // at the end of the file.
  virtual StatusOr<size_t> Read(uint64_t offset, std::span<char> out) const = 0;
  virtual uint64_t size() const = 0;  // when it was opened
};

// An open file that only gets written, from one thread. Without a successful Close() nothing is
// promised about its content.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status Append(std::string_view bytes) = 0;
  virtual Status Flush() = 0;  // hand what was appended to the system, so that other readers see it
  virtual Status Sync() = 0;   // and wait until it would survive a power cut
  virtual Status Close() = 0;
};

struct FileInfo {
  uint64_t size = 0;
  bool is_directory = false;
  bool is_regular = true;  // no directory, device, pipe or socket
};

// Implementations are thread-safe. Errors name the path and carry the code that fits (NotFound,
// PermissionDenied, …).
class Env {
 public:
  enum class WriteMode { kTruncate, kAppend };

  virtual ~Env() = default;
  virtual StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) = 0;
  virtual StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path,
                                                                 WriteMode mode) = 0;
  // The names (not paths) in a directory, sorted.
  virtual StatusOr<std::vector<std::string>> List(const std::string& directory) = 0;
  virtual StatusOr<FileInfo> Stat(const std::string& path) = 0;
  // Removes a file or an empty directory.
  virtual Status Remove(const std::string& path) = 0;
  // Makes a directory and those above it; fine when it is there already.
  virtual Status MakeDirectories(const std::string& path) = 0;
  // Atomic: whoever opens `to` sees the old file or the new one.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;

  bool Exists(const std::string& path) { return Stat(path).ok(); }
  // The whole file. A file above `max_bytes` is InvalidArgument, before any memory is taken.
  StatusOr<std::string> ReadFile(const std::string& path, uint64_t max_bytes = uint64_t{1} << 31);
  // Replaces the file as a whole: readers see the old content or all of the new one.
  Status WriteFile(const std::string& path, std::string_view content);
};

// The files of this machine. The one instance has no state.
Env& PosixEnv();

// "a/b" from "a" and "b"; an absolute `name` stands alone.
std::string JoinPath(std::string_view directory, std::string_view name);
std::string_view Basename(std::string_view path);
std::string_view Dirname(std::string_view path);  // "." when there is no slash

// Reads a file from front to back through a buffer and knows where it is, for messages. Not
// thread-safe.
class SequentialReader {
 public:
  SequentialReader(std::unique_ptr<ReadableFile> file, std::string path);
  static StatusOr<SequentialReader> Open(Env& env, const std::string& path);

  // Fills `out` unless the file ends first; returns the number of bytes read.
  StatusOr<size_t> Read(std::span<char> out);
  uint64_t offset() const { return offset_; }
  uint64_t size() const { return file_->size(); }
  const std::string& path() const { return path_; }

 private:
  std::unique_ptr<ReadableFile> file_;
  std::string path_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // the unread bytes of buffer_ are [begin_, end_)
  size_t end_ = 0;
  uint64_t offset_ = 0;
};

// Files in memory. Directories have to be made before files can be put in them, as on a disk; "/"
// is there from the start.
class MemoryEnv : public Env {
 public:
  MemoryEnv();
  StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) override;
  StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path,
                                                         WriteMode mode) override;
  StatusOr<std::vector<std::string>> List(const std::string& directory) override;
  StatusOr<FileInfo> Stat(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Status MakeDirectories(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;

 private:
  struct File;
  class Reader;
  class Writer;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<File>> files_;  // null for a directory; guarded by mutex_
};

// Passes everything on to `base` until the nth operation (from 0; each call on the Env or on a file
// of it is one), which fails with Unavailable, as do all later ones when `stays_broken`. A failing
// Append writes half of its bytes, like a disk that fills up.
class FailingEnv : public Env {
 public:
  FailingEnv(Env& base, int64_t fail_at, bool stays_broken = true)
      : base_(base), fail_at_(fail_at), stays_broken_(stays_broken) {}
  int64_t operations() const { return operations_; }

  StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) override;
  StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path,
                                                         WriteMode mode) override;
  StatusOr<std::vector<std::string>> List(const std::string& directory) override;
  StatusOr<FileInfo> Stat(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Status MakeDirectories(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;

 private:
  class Reader;
  class Writer;
  Status Operate(const char* what, const std::string& path);
  Env& base_;
  const int64_t fail_at_;
  const bool stays_broken_;
  std::atomic<int64_t> operations_{0};
};

}  // namespace carillon
