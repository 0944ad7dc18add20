#include "kernels/byte_stream.h"

#include <algorithm>
#include <cstring>
#include <vector>
#include <zlib.h>

namespace carillon {
namespace {

constexpr size_t kPiece = 64 << 10;

}  // namespace

class ByteStream::Inflater {
 public:
  Inflater(SequentialReader* file, bool is_gzip) : file_(file), packed_(kPiece) {
    ready_ = ::inflateInit2(&stream_, is_gzip ? 16 + MAX_WBITS : MAX_WBITS) == Z_OK;
  }
  ~Inflater() {
    if (ready_) ::inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  StatusOr<size_t> Read(std::span<char> out) {
    if (!ready_) return ResourceExhausted(file_->path(), ": no memory to unpack it");
    size_t done = 0;
    while (done < out.size()) {
      if (stream_.avail_in == 0) {
        CARILLON_ASSIGN_OR_RETURN(const size_t got, file_->Read(packed_));
        stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
        stream_.avail_in = static_cast<uInt>(got);
        if (got == 0) {
          if (between_members_) return done;
          return DataLoss(file_->path(), ": truncated: the packed data ends at offset ",
                          file_->offset(), ", where more of it was expected");
        }
      }
      const size_t piece = std::min<size_t>(out.size() - done, size_t{1} << 30);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      stream_.avail_out = static_cast<uInt>(piece);
      between_members_ = false;
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      done += piece - stream_.avail_out;
      if (result == Z_STREAM_END) {
        ::inflateReset(&stream_);
        between_members_ = true;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return DataLoss(file_->path(), ": corrupt packed data before offset ",
                        file_->offset() - stream_.avail_in, ": ",
                        stream_.msg == nullptr ? "unknown" : stream_.msg);
      }
    }
    return done;
  }

 private:
  SequentialReader* const file_;
  std::vector<char> packed_;
  z_stream stream_{};
  bool ready_;
  bool between_members_ = true;
};

ByteStream::ByteStream(SequentialReader file)
    : path_(file.path()), file_(std::make_unique<SequentialReader>(std::move(file))) {}
ByteStream::ByteStream(ByteStream&&) noexcept = default;
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
    stream.inflater_ = std::make_unique<Inflater>(stream.file_.get(), packing == Packing::kGzip);
  return stream;
}

StatusOr<size_t> ByteStream::ReadSome(std::span<char> out) {
  return inflater_ != nullptr ? inflater_->Read(out) : file_->Read(out);
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
