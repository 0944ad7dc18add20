#include <utility>

#include "base/env.h"

namespace carillon {

class FailingEnv::Reader : public ReadableFile {
 public:
  Reader(FailingEnv& env, std::unique_ptr<ReadableFile> file, std::string path)
      : env_(env), file_(std::move(file)), path_(std::move(path)) {}
  StatusOr<size_t> Read(uint64_t offset, std::span<char> out) const override {
    CARILLON_RETURN_IF_ERROR(env_.Operate("read", path_));
    return file_->Read(offset, out);
  }
  uint64_t size() const override { return file_->size(); }

 private:
  FailingEnv& env_;
  const std::unique_ptr<ReadableFile> file_;
  const std::string path_;
};

class FailingEnv::Writer : public WritableFile {
 public:
  Writer(FailingEnv& env, std::unique_ptr<WritableFile> file, std::string path)
      : env_(env), file_(std::move(file)), path_(std::move(path)) {}
  Status Append(std::string_view bytes) override {
    const Status status = env_.Operate("write", path_);
    if (status.ok()) return file_->Append(bytes);
    file_->Append(bytes.substr(0, bytes.size() / 2)).IgnoreError();
    return status;
  }
  Status Flush() override {
    CARILLON_RETURN_IF_ERROR(env_.Operate("flush", path_));
    return file_->Flush();
  }
  Status Sync() override {
    CARILLON_RETURN_IF_ERROR(env_.Operate("sync", path_));
    return file_->Sync();
  }
  Status Close() override {
    CARILLON_RETURN_IF_ERROR(env_.Operate("close", path_));
    return file_->Close();
  }

 private:
  FailingEnv& env_;
  const std::unique_ptr<WritableFile> file_;
  const std::string path_;
};

Status FailingEnv::Operate(const char* what, const std::string& path) {
  const int64_t number = operations_++;
  if (number == fail_at_ || (stays_broken_ && number > fail_at_)) {
    return absl::UnavailableError(
        StrCat(path, ": cannot ", what, ": made to fail at operation ", number));
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<ReadableFile>> FailingEnv::OpenForReading(const std::string& path) {
  CARILLON_RETURN_IF_ERROR(Operate("open", path));
  CARILLON_ASSIGN_OR_RETURN(auto file, base_.OpenForReading(path));
  return std::make_unique<Reader>(*this, std::move(file), path);
}

StatusOr<std::unique_ptr<WritableFile>> FailingEnv::OpenForWriting(const std::string& path,
                                                                   WriteMode mode) {
  CARILLON_RETURN_IF_ERROR(Operate("open for writing", path));
  CARILLON_ASSIGN_OR_RETURN(auto file, base_.OpenForWriting(path, mode));
  return std::make_unique<Writer>(*this, std::move(file), path);
}

StatusOr<std::vector<std::string>> FailingEnv::List(const std::string& directory) {
  CARILLON_RETURN_IF_ERROR(Operate("list", directory));
  return base_.List(directory);
}

StatusOr<FileInfo> FailingEnv::Stat(const std::string& path) {
  CARILLON_RETURN_IF_ERROR(Operate("stat", path));
  return base_.Stat(path);
}

Status FailingEnv::Remove(const std::string& path) {
  CARILLON_RETURN_IF_ERROR(Operate("remove", path));
  return base_.Remove(path);
}

Status FailingEnv::MakeDirectories(const std::string& path) {
  CARILLON_RETURN_IF_ERROR(Operate("make directory", path));
  return base_.MakeDirectories(path);
}

Status FailingEnv::Rename(const std::string& from, const std::string& to) {
  CARILLON_RETURN_IF_ERROR(Operate("rename", from));
  return base_.Rename(from, to);
}

}  // namespace carillon
