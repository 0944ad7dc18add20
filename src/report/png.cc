#include "base/throw.h"
#include "report/picture.h"
#include "report/png_codec.h"

namespace carillon {

std::string EncodePng(const Picture& picture) {
  return ValueOrThrow(EncodePngPixels(
      {.width = picture.width, .height = picture.height, .channels = picture.channels},
      picture.pixels.data()));
}

}  // namespace carillon
