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
#include "base/work_scope.h"

namespace carillon {
namespace {

constexpr size_t kWriteBuffer = 64 << 10;

// The status of `errno`, with what was attempted on which path.
Status ErrnoStatus(const char* what, const std::string& path) {
  const int error = errno;
  constexpr size_t kLongest = 1000;  // of a path in a message
  const std::string message = StrCat(path.substr(0, kLongest), path.size() > kLongest ? "..." : "",
                                     ": cannot ", what, ": ", std::strerror(error));
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
    case EINVAL:
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(message);
    case EIO:
      return absl::DataLossError(message);
    default:
      return absl::UnknownError(message);
  }
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() { Close(); }
  int get() const { return fd_; }
  int Close() { return fd_ < 0 ? 0 : ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

class PosixReadableFile : public ReadableFile {
 public:
  PosixReadableFile(FileDescriptor fd, uint64_t size, std::string path)
      : fd_(std::move(fd)), size_(size), path_(std::move(path)) {}

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
  PosixWritableFile(FileDescriptor fd, std::string path)
      : fd_(std::move(fd)), path_(std::move(path)) {}
  ~PosixWritableFile() override {
    const WorkPause pause;
    WriteOut(buffer_).IgnoreError();
  }

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

// Never waits for a pipe to have another end. Below 0: errno says why not.
FileDescriptor Open(const std::string& path, int flags) {
  if (path.find('\0') != std::string::npos) {
    errno = EINVAL;
    return FileDescriptor(-1);
  }
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return FileDescriptor(fd);
}

class Posix : public Env {
 public:
  StatusOr<std::unique_ptr<ReadableFile>> OpenForReading(const std::string& path) override {
    FileDescriptor fd = Open(path, O_RDONLY);
    if (fd.get() < 0) return ErrnoStatus("open", path);
    struct stat info;
    const bool known = ::fstat(fd.get(), &info) == 0;
    if (!known || S_ISDIR(info.st_mode)) {
      if (known) errno = EISDIR;
      return ErrnoStatus("open", path);
    }
    if (!S_ISREG(info.st_mode))
      return FailedPrecondition(path, ": is a device, a pipe or a socket, which may have no end");
    return std::make_unique<PosixReadableFile>(std::move(fd), static_cast<uint64_t>(info.st_size),
                                               path);
  }

  StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path,
                                                         WriteMode mode) override {
    const int how = mode == WriteMode::kAppend ? O_APPEND : O_TRUNC;
    FileDescriptor fd = Open(path, O_WRONLY | O_CREAT | how);
    if (fd.get() < 0) return ErrnoStatus("open for writing", path);
    struct stat info;
    if (::fstat(fd.get(), &info) == 0 && S_ISFIFO(info.st_mode))
      return FailedPrecondition(path, ": is a pipe, which may never take what is written to it");
    return std::make_unique<PosixWritableFile>(std::move(fd), path);
  }

  StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory.c_str()), ::closedir);
    if (dir == nullptr) return ErrnoStatus("list", directory);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(dir.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  StatusOr<FileInfo> Stat(const std::string& path) override {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) return ErrnoStatus("stat", path);
    return FileInfo{.size = static_cast<uint64_t>(info.st_size),
                    .is_directory = S_ISDIR(info.st_mode),
                    .is_regular = S_ISREG(info.st_mode)};
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
