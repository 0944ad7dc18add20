#include "data/byte_source.h"

#include <array>
#include <utility>

#include "checkpoint/inflater.h"

namespace carillon {
namespace {

constexpr uint64_t kBestRatio = 1032;  // deflate cannot pack more tightly

}  // namespace

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
  if (packed)
    source.gunzip_ =
        std::make_unique<Inflater>(source.file_.get(), Inflater::Format::kGzip, "gzip");
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
