#include "data/byte_source.h"

#include <array>
#include <utility>
#include <vector>
#include <zlib.h>

namespace carillon {
namespace {

constexpr size_t kPiece = 64 << 10;
constexpr uint64_t kBestRatio = 1032;  // deflate cannot pack more tightly

}  // namespace

// Unpacks a file of one or more gzip members.
class ByteSource::Gunzip {
 public:
  explicit Gunzip(SequentialReader* file) : file_(file), packed_(kPiece) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    ready_ = ::inflateInit2(&stream_, kGzipOnly) == Z_OK;
  }
  ~Gunzip() {
    if (ready_) ::inflateEnd(&stream_);
  }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Fewer bytes than asked for only at the end, which has then been verified. `unpacked` is where
  // we are, for messages.
  StatusOr<size_t> Read(std::span<char> out, uint64_t unpacked) {
    if (!ready_) return ResourceExhausted(file_->path(), ": no memory to unpack it");
    size_t done = 0;
    while (done < out.size()) {
      if (stream_.avail_in == 0) {
        CARILLON_ASSIGN_OR_RETURN(const size_t got, file_->Read(packed_));
        stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
        stream_.avail_in = static_cast<uInt>(got);
        if (got == 0) {
          if (between_members_) return done;
          return DataLoss(file_->path(), ": truncated: the gzip data ends at offset ",
                          file_->offset(), " (", unpacked + done,
                          " bytes unpacked), expected more of it and its checksum");
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
        return DataLoss(file_->path(), ": corrupt gzip data before offset ",
                        file_->offset() - stream_.avail_in, " (", unpacked + done,
                        " bytes unpacked): ", stream_.msg == nullptr ? "unknown" : stream_.msg,
                        ", expected valid compressed data");
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

ByteSource::ByteSource(SequentialReader file)
    : path_(file.path()), file_(std::make_unique<SequentialReader>(std::move(file))) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

StatusOr<ByteSource> ByteSource::Open(Env& env, const std::string& path) {
  CARILLON_ASSIGN_OR_RETURN(auto file, env.OpenForReading(path));
  std::array<char, 2> magic{};
  CARILLON_ASSIGN_OR_RETURN(const size_t got, file->Read(0, magic));
  const bool packed = got == 2 && magic[0] == '\x1f' && magic[1] == '\x8b';
  ByteSource source{SequentialReader(std::move(file), path)};
  if (packed) source.gunzip_ = std::make_unique<Gunzip>(source.file_.get());
  return source;
}

StatusOr<size_t> ByteSource::ReadSome(std::span<char> out) {
  if (gunzip_ != nullptr) return gunzip_->Read(out, offset_);
  return file_->Read(out);
}

StatusOr<bool> ByteSource::ReadUnlessAtEnd(std::span<char> out, std::string_view what) {
  CARILLON_ASSIGN_OR_RETURN(const size_t got, ReadSome(out));
  offset_ += got;
  if (got == out.size()) return true;
  if (got == 0) return false;
  return DataLoss(path_, ": truncated at offset ", offset_, ": expected ", out.size(), " bytes of ",
                  what, " from offset ", offset_ - got, ", got ", got);
}

Status ByteSource::Read(std::span<char> out, std::string_view what) {
  if (out.empty()) return absl::OkStatus();
  CARILLON_ASSIGN_OR_RETURN(const bool any, ReadUnlessAtEnd(out, what));
  if (any) return absl::OkStatus();
  return DataLoss(path_, ": truncated at offset ", offset_, ": expected ", out.size(), " bytes of ",
                  what, ", got none");
}

Status ByteSource::ExpectEnd() {
  char more;
  CARILLON_ASSIGN_OR_RETURN(const size_t got, ReadSome({&more, 1}));
  if (got == 0) return absl::OkStatus();
  return DataLoss(path_, ": more bytes at offset ", offset_, ", where the end was expected");
}

uint64_t ByteSource::MostBytesLeft() const {
  const uint64_t size = file_->size();
  if (gunzip_ == nullptr) return size - std::min(size, offset_);
  return size < (uint64_t{1} << 50) ? size * kBestRatio : ~uint64_t{0};
}

}  // namespace carillon
