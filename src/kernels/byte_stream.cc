#include "kernels/byte_stream.h"

#include <algorithm>
#include <cstring>

#include "checkpoint/inflater.h"
#include "kernels/work.h"

namespace carillon {
namespace {

constexpr size_t kPiece = 64 << 10;

}  // namespace

ByteStream::ByteStream(SequentialReader file)
    : path_(file.path()), file_(std::make_unique<SequentialReader>(std::move(file))) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;
ByteStream::~ByteStream() = default;

StatusOr<ByteStream::Packing> ByteStream::ParsePacking(std::string_view name) {
  if (name.empty()) return Packing::kNone;
  if (name == "ZLIB") return Packing::kZlib;
  if (name == "GZIP") return Packing::kGzip;
  return InvalidArgument("compression_type is '", name, "' but should be '', 'ZLIB' or 'GZIP'");
}

StatusOr<ByteStream> ByteStream::Open(Env& env, const std::string& path, Packing packing) {
  CARILLON_ASSIGN_OR_RETURN(SequentialReader file, SequentialReader::Open(env, path));
  ByteStream stream(std::move(file));
  if (packing != Packing::kNone)
    stream.inflater_ = std::make_unique<Inflater>(
        stream.file_.get(),
        packing == Packing::kGzip ? Inflater::Format::kGzip : Inflater::Format::kZlib, "packed");
  return stream;
}

StatusOr<size_t> ByteStream::ReadSome(std::span<char> out) {
  CARILLON_RETURN_IF_ERROR(CheckWanted());  // a small file may unpack to any size
  return inflater_ != nullptr ? inflater_->Read(out, offset_) : file_->Read(out);
}

StatusOr<size_t> ByteStream::Read(std::span<char> out) {
  const size_t kept = std::min(out.size(), piece_.size() - begin_);
  std::memcpy(out.data(), piece_.data() + begin_, kept);
  begin_ += kept;
  size_t got = 0;
  if (kept < out.size()) {
    CARILLON_ASSIGN_OR_RETURN(got, ReadSome(out.subspan(kept)));
  }
  offset_ += kept + got;
  return kept + got;
}

Status ByteStream::ReadUpTo(uint64_t count, std::string* out) {
  while (count > 0) {
    const size_t piece = static_cast<size_t>(std::min<uint64_t>(count, 1 << 20));
    const size_t before = out->size();
    out->resize(before + piece);
    CARILLON_ASSIGN_OR_RETURN(const size_t got, Read({out->data() + before, piece}));
    out->resize(before + got);
    count -= got;
    if (got < piece) break;
  }
  return absl::OkStatus();
}

StatusOr<bool> ByteStream::Skip(uint64_t count) {
  std::string skipped;
  while (count > 0) {
    const uint64_t piece = std::min<uint64_t>(count, kPiece);
    skipped.clear();
    CARILLON_RETURN_IF_ERROR(ReadUpTo(piece, &skipped));
    if (skipped.size() < piece) return false;
    count -= piece;
  }
  return true;
}

StatusOr<bool> ByteStream::ReadLine(std::string* line) {
  line->clear();
  bool any = false;
  for (;;) {
    if (begin_ == piece_.size()) {
      piece_.resize(kPiece);
      begin_ = 0;
      StatusOr<size_t> got = ReadSome(piece_);
      piece_.resize(got.ok() ? *got : 0);
      CARILLON_RETURN_IF_ERROR(got.status());
      if (piece_.empty()) break;
    }
    any = true;
    const size_t end = std::min(piece_.find('\n', begin_), piece_.size());
    line->append(piece_, begin_, end - begin_);
    const bool complete = end < piece_.size();
    offset_ += end - begin_ + (complete ? 1 : 0);
    begin_ = end + (complete ? 1 : 0);
    if (complete) break;
  }
  std::erase(*line, '\r');
  return any;
}

}  // namespace carillon
