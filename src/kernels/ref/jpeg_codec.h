// JPEG files, read and written with libjpeg.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace carillon {

struct JpegDecodeOptions {
  int channels = 0;  // 0: as many as the file has, 1: grey, 3: RGB
  int ratio = 1;     // 1, 2, 4 or 8: by how much to shrink
  bool fancy_upscaling = true;
  bool try_recover_truncated = false;
  float acceptable_fraction = 1;  // of the rows, when the file is truncated
  bool fast_dct = true;           // as TensorFlow, unless it is told otherwise
};

// Reads a file in two steps, so that the caller knows the size before memory is taken for pixels.
// `bytes` must outlive the decoder. Not thread-safe.
class JpegDecoder {
 public:
  // Reads the header. InvalidArgument when the bytes are no JPEG file.
  static StatusOr<JpegDecoder> Open(std::string_view bytes, const JpegDecodeOptions& options);
  JpegDecoder(JpegDecoder&&) noexcept;
  ~JpegDecoder();

  int64_t width() const;
  int64_t height() const;
  int channels() const;  // 1 or 3
  // Fills width * height * channels bytes. At most once.
  Status Read(uint8_t* pixels);

 private:
  struct State;
  explicit JpegDecoder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct JpegEncodeOptions {
  int quality = 95;
  bool progressive = false;
  bool optimize_size = false;
  bool chroma_downsampling = true;
  bool density_in_cm = false;
  int x_density = 300, y_density = 300;
  std::string xmp_metadata;
};
// Rows from the top of 1 (grey) or 3 (RGB) channels; sides from 1 to 65535.
StatusOr<std::string> EncodeJpegPixels(int64_t width, int64_t height, int channels,
                                       const uint8_t* pixels, const JpegEncodeOptions& options);

}  // namespace carillon
