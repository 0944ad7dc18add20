#include "base/env.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace carillon {
namespace {
constexpr size_t kReadBuffer = 256 << 10;
}

StatusOr<std::string> Env::ReadFile(const std::string& path, uint64_t max_bytes) {
  CARILLON_ASSIGN_OR_RETURN(auto file, OpenForReading(path));
  if (file->size() > max_bytes) {
    return InvalidArgument(path, ": ", file->size(), " bytes, expected at most ", max_bytes);
  }
  std::string content(file->size(), '\0');
  CARILLON_ASSIGN_OR_RETURN(const size_t got, file->Read(0, {content.data(), content.size()}));
  content.resize(got);
  return content;
}

Status Env::WriteFile(const std::string& path, std::string_view content) {
  // The system would take what stands before it for the path.
  if (path.find('\0') != std::string::npos) return InvalidArgument("a path has a byte that is 0");
  // Its place would be taken.
  if (const auto there = Stat(path); there.ok() && !there->is_regular)
    return FailedPrecondition(path, ": is no regular file");
  const std::string temporary = StrCat(path, ".tmp");
  const auto write = [&]() -> Status {
    CARILLON_ASSIGN_OR_RETURN(auto file, OpenForWriting(temporary, WriteMode::kTruncate));
    CARILLON_RETURN_IF_ERROR(file->Append(content));
    CARILLON_RETURN_IF_ERROR(file->Sync());
    CARILLON_RETURN_IF_ERROR(file->Close());
    return Rename(temporary, path);
  };
  const Status status = write();
  if (!status.ok()) Remove(temporary).IgnoreError();
  return status;
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  if (directory.empty() || name.starts_with('/')) return std::string(name);
  if (directory.ends_with('/')) return StrCat(directory, name);
  return StrCat(directory, "/", name);
}

std::string_view Basename(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view Dirname(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

SequentialReader::SequentialReader(std::unique_ptr<ReadableFile> file, std::string path)
    : file_(std::move(file)), path_(std::move(path)) {}

StatusOr<SequentialReader> SequentialReader::Open(Env& env, const std::string& path) {
  CARILLON_ASSIGN_OR_RETURN(auto file, env.OpenForReading(path));
  return SequentialReader(std::move(file), path);
}

StatusOr<size_t> SequentialReader::Read(std::span<char> out) {
  size_t done = 0;
  while (done < out.size()) {
    if (begin_ == end_) {
      const size_t missing = out.size() - done;
      if (missing >= kReadBuffer) {  // nothing to gain from the buffer
        CARILLON_ASSIGN_OR_RETURN(const size_t got, file_->Read(offset_, out.subspan(done)));
        offset_ += got;
        return done + got;
      }
      if (buffer_.empty()) buffer_.resize(std::min<uint64_t>(kReadBuffer, file_->size() + 1));
      CARILLON_ASSIGN_OR_RETURN(end_, file_->Read(offset_, buffer_));
      begin_ = 0;
      if (end_ == 0) return done;
    }
    const size_t n = std::min(out.size() - done, end_ - begin_);
    std::memcpy(out.data() + done, buffer_.data() + begin_, n);
    begin_ += n;
    offset_ += n;
    done += n;
  }
  return done;
}

}  // namespace carillon
