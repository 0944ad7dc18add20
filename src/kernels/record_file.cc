#include "kernels/record_file.h"

#include <utility>

namespace carillon {

StatusOr<RecordFile> RecordFile::Open(Env& env, std::string path, ByteStream::Packing packing,
                                      const RecordFormat& format, Allocator* allocator,
                                      size_t file) {
  CARILLON_ASSIGN_OR_RETURN(ByteStream stream, ByteStream::Open(env, path, packing));
  RecordCursor cursor{std::move(stream), file};
  CARILLON_RETURN_IF_ERROR(format.Start(cursor));
  return RecordFile(env, std::move(path), packing, format, allocator, std::move(cursor));
}

RecordFile::RecordFile(Env& env, std::string path, ByteStream::Packing packing,
                       const RecordFormat& format, Allocator* allocator, RecordCursor cursor)
    : env_(&env),
      path_(std::move(path)),
      packing_(packing),
      format_(&format),
      charge_(std::make_unique<MemoryCharge>(allocator)),
      cursor_(std::move(cursor)),
      last_(Here()) {}

RecordFile::Position RecordFile::Here() const {
  return {cursor_.stream.offset() - cursor_.ahead.size(), cursor_.place, cursor_.next};
}

Status RecordFile::GoBack() {
  CARILLON_ASSIGN_OR_RETURN(ByteStream stream, ByteStream::Open(*env_, path_, packing_));
  CARILLON_ASSIGN_OR_RETURN(const bool there, stream.Skip(last_.offset));
  if (!there) return DataLoss(path_, ": has become shorter than ", last_.offset, " bytes");
  cursor_.stream = std::move(stream);
  cursor_.place = last_.place;
  cursor_.next = last_.next;
  return absl::OkStatus();
}

bool RecordFile::CountAhead() {
  const auto bytes = static_cast<int64_t>(cursor_.ahead.capacity());
  const int64_t more = bytes - charge_->bytes();
  if (more > 0) return charge_->Add(more).ok();
  charge_->Remove(-more);
  return true;
}

void RecordFile::DropAhead() {
  std::string().swap(cursor_.ahead);
  charge_->Remove(charge_->bytes());
}

StatusOr<bool> RecordFile::Next(std::string* record) {
  if (is_inside_) CARILLON_RETURN_IF_ERROR(GoBack());
  is_inside_ = true;
  try {
    const StatusOr<bool> any = format_->Next(cursor_, record);
    if (absl::IsCancelled(any.status())) {
      DropAhead();
      return any;
    }
    if (!CountAhead()) throw BudgetExceeded();
    is_inside_ = false;
    last_ = Here();
    return any;
  } catch (...) {
    DropAhead();
    throw;
  }
}

}  // namespace carillon
