#include <cstring>
#include <utility>

#include "base/env.h"

namespace carillon {
namespace {

// One spelling for each path: rooted, no empty parts, no slash at the end but for "/" itself.
std::string Normal(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") StrAppend(&out, "/", part);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return out.empty() ? "/" : out;
}

}  // namespace

struct MemoryEnv::File {
  std::mutex mutex;
  std::string content;  // guarded by mutex
};

class MemoryEnv::Reader : public ReadableFile {
 public:
  explicit Reader(std::shared_ptr<File> file) : file_(std::move(file)), size_(Length()) {}
  StatusOr<size_t> Read(uint64_t offset, std::span<char> out) const override {
    const std::lock_guard lock(file_->mutex);
    if (offset >= file_->content.size()) return size_t{0};
    const size_t n = std::min<size_t>(out.size(), file_->content.size() - offset);
    std::memcpy(out.data(), file_->content.data() + offset, n);
    return n;
  }
  uint64_t size() const override { return size_; }

 private:
  uint64_t Length() const {
    const std::lock_guard lock(file_->mutex);
    return file_->content.size();
  }
  const std::shared_ptr<File> file_;
  const uint64_t size_;
};

class MemoryEnv::Writer : public WritableFile {
 public:
  explicit Writer(std::shared_ptr<File> file) : file_(std::move(file)) {}
  Status Append(std::string_view bytes) override {
    const std::lock_guard lock(file_->mutex);
    file_->content.append(bytes);
    return absl::OkStatus();
  }
  Status Flush() override { return absl::OkStatus(); }
  Status Sync() override { return absl::OkStatus(); }
  Status Close() override { return absl::OkStatus(); }

 private:
  const std::shared_ptr<File> file_;
};

MemoryEnv::MemoryEnv() { files_.emplace("/", nullptr); }

StatusOr<std::unique_ptr<ReadableFile>> MemoryEnv::OpenForReading(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(Normal(path));
  if (found == files_.end()) return NotFound(path, ": no such file");
  if (found->second == nullptr) return FailedPrecondition(path, ": is a directory");
  return std::make_unique<Reader>(found->second);
}

StatusOr<std::unique_ptr<WritableFile>> MemoryEnv::OpenForWriting(const std::string& path,
                                                                  WriteMode mode) {
  const std::string normal = Normal(path);
  const std::lock_guard lock(mutex_);
  const auto parent = files_.find(std::string(Dirname(normal)));
  if (parent == files_.end() || parent->second != nullptr) {
    return NotFound(path, ": no such directory");
  }
  const auto found = files_.find(normal);
  if (found != files_.end() && found->second == nullptr) {
    return FailedPrecondition(path, ": is a directory");
  }
  if (found == files_.end() || mode == WriteMode::kTruncate) {
    files_[normal] = std::make_shared<File>();
  }
  return std::make_unique<Writer>(files_[normal]);
}

StatusOr<std::vector<std::string>> MemoryEnv::List(const std::string& directory) {
  const std::string normal = Normal(directory);
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(normal);
  if (found == files_.end() || found->second != nullptr) {
    return NotFound(directory, ": no such directory");
  }
  std::vector<std::string> names;
  for (const auto& [path, file] : files_) {
    if (path != "/" && Dirname(path) == normal) names.emplace_back(Basename(path));
  }
  return names;
}

StatusOr<FileInfo> MemoryEnv::Stat(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(Normal(path));
  if (found == files_.end()) return NotFound(path, ": no such file or directory");
  if (found->second == nullptr) return FileInfo{0, true};
  const std::lock_guard file_lock(found->second->mutex);
  return FileInfo{found->second->content.size(), false};
}

Status MemoryEnv::Remove(const std::string& path) {
  const std::string normal = Normal(path);
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(normal);
  if (found == files_.end()) return NotFound(path, ": no such file or directory");
  if (found->second == nullptr) {
    for (const auto& [other, file] : files_) {
      if (other != "/" && Dirname(other) == normal) {
        return FailedPrecondition(path, ": the directory is not empty");
      }
    }
  }
  files_.erase(found);
  return absl::OkStatus();
}

Status MemoryEnv::MakeDirectories(const std::string& path) {
  const std::string normal = Normal(path);
  const std::lock_guard lock(mutex_);
  for (size_t slash = normal.find('/', 1);; slash = normal.find('/', slash + 1)) {
    const auto [entry, made] = files_.emplace(normal.substr(0, slash), nullptr);
    if (entry->second != nullptr) {
      return AlreadyExists(entry->first, ": is a file, expected a directory");
    }
    if (slash == std::string::npos) return absl::OkStatus();
  }
}

Status MemoryEnv::Rename(const std::string& from, const std::string& to) {
  const std::string normal_from = Normal(from), normal_to = Normal(to);
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(normal_from);
  if (found == files_.end()) return NotFound(from, ": no such file");
  if (found->second == nullptr) return Unimplemented(from, ": is a directory; only files move");
  const auto parent = files_.find(std::string(Dirname(normal_to)));
  if (parent == files_.end() || parent->second != nullptr) {
    return NotFound(to, ": no such directory");
  }
  const auto target = files_.find(normal_to);
  if (target != files_.end() && target->second == nullptr) {
    return FailedPrecondition(to, ": is a directory");
  }
  std::shared_ptr<File> file = std::move(found->second);
  files_.erase(found);
  files_[normal_to] = std::move(file);
  return absl::OkStatus();
}

}  // namespace carillon
