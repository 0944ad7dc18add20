// PNG files, read and written with libpng.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace carillon {

// Pixels in rows from the top, channels interleaved: grey, grey and alpha, RGB, or RGB and alpha.
struct PngFormat {
  int64_t width = 0, height = 0;
  int channels = 1;      // 1 to 4
  int bits = 8;          // 8 or 16 (in the machine's byte order)
  int compression = -1;  // 0 to 9; -1: libpng's default
};
// InvalidArgument when a side is zero or too long for PNG.
StatusOr<std::string> EncodePngPixels(const PngFormat& format, const void* pixels);

// Reads a file in two steps, so that the caller knows the size before memory is taken for pixels.
// `bytes` must outlive the decoder. Not thread-safe.
class PngDecoder {
 public:
  // Reads the header. The pixels will have `channels` (0: as many as the file has) of `bits` bits.
  // InvalidArgument when the bytes are no PNG file.
  static StatusOr<PngDecoder> Open(std::string_view bytes, int channels, int bits);
  PngDecoder(PngDecoder&&) noexcept;
  ~PngDecoder();

  const PngFormat& format() const { return format_; }
  // Fills width * height * channels * bits / 8 bytes. At most once.
  Status Read(void* pixels);

 private:
  struct State;
  explicit PngDecoder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  PngFormat format_;
};

}  // namespace carillon
