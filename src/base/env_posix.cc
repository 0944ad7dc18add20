#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/env.h"

namespace carillon {
namespace {

constexpr size_t kWriteBuffer = 64 << 10;

// The status of `errno`, with what was attempted on which path.
Status ErrnoStatus(const char* what, const std::string& path) {
  const int error = errno;
  const std::string message = StrCat(path, ": cannot ", what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::ResourceExhaustedError(message);
    case EISDIR:
    case ENOTEMPTY:
    case ENOTDIR:
      return absl::FailedPreconditionError(message);
    case EIO:
      return absl::DataLossError(message);
    default:
      return absl::UnknownError(message);
  }
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { Close(); }
  int get() const { return fd_; }
  int Close() { return fd_ < 0 ? 0 : ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

class PosixReadableFile : public ReadableFile {
 public:
  PosixReadableFile(int fd, uint64_t size, std::string path)
      : fd_(fd), size_(size), path_(std::move(path)) {}

  StatusOr<size_t> Read(uint64_t offset, std::span<char> out) const override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = ::pread(fd_.get(), out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus("read", path_);
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }
  uint64_t size() const override { return size_; }

 private:
  FileDescriptor fd_;
  const uint64_t size_;
  const std::string path_;
};

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixWritableFile() override { WriteOut(buffer_).IgnoreError(); }

  Status Append(std::string_view bytes) override {
    if (buffer_.size() + bytes.size() < kWriteBuffer) {
      buffer_.append(bytes);
      return absl::OkStatus();
    }
    CARILLON_RETURN_IF_ERROR(Flush());
    return WriteOut(bytes);
  }
  Status Flush() override {
    const std::string bytes = std::exchange(buffer_, {});
    return WriteOut(bytes);
  }
  Status Sync() override {
    CARILLON_RETURN_IF_ERROR(Flush());
    if (::fdatasync(fd_.get()) != 0) return ErrnoStatus("sync", path_);
    return absl::OkStatus();
  }
  Status Close() override {
    CARILLON_RETURN_IF_ERROR(Flush());
    if (fd_.Close() != 0) return ErrnoStatus("close", path_);
    return absl::OkStatus();
  }

 private:
  Status WriteOut(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus("write", path_);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

  FileDescriptor fd_;
  const std::string path_;
  std::string buffer_;
};

class Posix : public Env {
 public:
  StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus("open", path);
    struct stat info;
    const bool known = ::fstat(fd, &info) == 0;
    if (!known || S_ISDIR(info.st_mode)) {
      if (known) errno = EISDIR;
      const Status status = ErrnoStatus("open", path);
      ::close(fd);
      return status;
    }
    return std::make_unique<PosixReadableFile>(fd, static_cast<uint64_t>(info.st_size), path);
  }

  StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path,
                                                         WriteMode mode) override {
    const int how = mode == WriteMode::kAppend ? O_APPEND : O_TRUNC;
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666);
    if (fd < 0) return ErrnoStatus("open for writing", path);
    return std::make_unique<PosixWritableFile>(fd, path);
  }

  StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    DIR* dir = ::opendir(directory.c_str());
    if (dir == nullptr) return ErrnoStatus("list", directory);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(dir)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    ::closedir(dir);
    std::sort(names.begin(), names.end());
    return names;
  }

  StatusOr<FileInfo> Stat(const std::string& path) override {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) return ErrnoStatus("stat", path);
    return FileInfo{static_cast<uint64_t>(info.st_size), S_ISDIR(info.st_mode)};
  }

  Status Remove(const std::string& path) override {
    if (::remove(path.c_str()) != 0) return ErrnoStatus("remove", path);
    return absl::OkStatus();
  }

  Status MakeDirectories(const std::string& path) override {
    for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
      const std::string prefix = path.substr(0, slash);
      if (::mkdir(prefix.c_str(), 0777) != 0 && errno != EEXIST) {
        return ErrnoStatus("make directory", prefix);
      }
      if (slash == std::string::npos) break;
    }
    CARILLON_ASSIGN_OR_RETURN(const FileInfo info, Stat(path));
    if (!info.is_directory) return AlreadyExists(path, ": is a file, expected a directory");
    return absl::OkStatus();
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) {
      return ErrnoStatus(StrCat("rename to ", to).c_str(), from);
    }
    return absl::OkStatus();
  }
};

}  // namespace

Env& PosixEnv() {
  static Posix env;
  return env;
}

}  // namespace carillon
