#include "checkpoint/inflater.h"

#include <algorithm>
#include <utility>
#include <vector>
#include <zlib.h>

namespace carillon {
namespace {

constexpr size_t kPiece = 64 << 10;

}  // namespace

struct Inflater::State {
  std::vector<char> packed = std::vector<char>(kPiece);
  z_stream stream{};
  bool ready = false;
  bool between_members = true;  // a file may hold several, one after the other
};

Inflater::Inflater(SequentialReader* file, Format format, std::string kind)
    : file_(file), kind_(std::move(kind)), state_(std::make_unique<State>()) {
  const int window = format == Format::kGzip ? 16 + MAX_WBITS : MAX_WBITS;
  state_->ready = ::inflateInit2(&state_->stream, window) == Z_OK;
}

Inflater::~Inflater() {
  if (state_->ready) ::inflateEnd(&state_->stream);
}

StatusOr<size_t> Inflater::Read(std::span<char> out, uint64_t unpacked) {
  if (!state_->ready) return ResourceExhausted(file_->path(), ": no memory to unpack it");
  z_stream& stream = state_->stream;
  size_t done = 0;
  while (done < out.size()) {
    if (stream.avail_in == 0) {
      CARILLON_ASSIGN_OR_RETURN(const size_t got, file_->Read(state_->packed));
      stream.next_in = reinterpret_cast<Bytef*>(state_->packed.data());
      stream.avail_in = static_cast<uInt>(got);
      if (got == 0) {
        if (state_->between_members) return done;
        return DataLoss(file_->path(), ": truncated: the ", kind_, " data ends at offset ",
                        file_->offset(), " (", unpacked + done,
                        " bytes unpacked), expected more of it and its checksum");
      }
    }
    const size_t piece = std::min<size_t>(out.size() - done, size_t{1} << 30);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream.avail_out = static_cast<uInt>(piece);
    state_->between_members = false;
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    done += piece - stream.avail_out;
    if (result == Z_STREAM_END) {
      ::inflateReset(&stream);
      state_->between_members = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return DataLoss(file_->path(), ": corrupt ", kind_, " data before offset ",
                      file_->offset() - stream.avail_in, " (", unpacked + done,
                      " bytes unpacked): ", stream.msg == nullptr ? "unknown" : stream.msg,
                      ", expected valid compressed data");
    }
  }
  return done;
}

}  // namespace carillon
