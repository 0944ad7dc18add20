// Pictures: grey or RGB bytes, written as PNG and drawn with characters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace carillon {

struct Picture {
  Picture() = default;
  // Every byte is `fill`. channels is 1 (grey) or 3 (RGB).
  Picture(int width, int height, int channels, uint8_t fill = 0);
  uint8_t* at(int x, int y) { return pixels.data() + Index(x, y); }
  const uint8_t* at(int x, int y) const { return pixels.data() + Index(x, y); }

  int width = 0, height = 0, channels = 1;
  std::vector<uint8_t> pixels;  // rows from the top, channels interleaved

 private:
  size_t Index(int x, int y) const {
    return (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) *
           static_cast<size_t>(channels);
  }
};

// The bytes of a PNG file, 8 bits a channel.
std::string EncodePng(const Picture& picture);

// How many colours the reader of the text has.
enum class ColorDepth { kNone, k256, kTrue };

// Two pixels a character, one above the other, in colour; without colour, braille dots (2 x 4
// pixels a character) as bright as the pixels. One string a line of text, each `width` pixels wide.
std::vector<std::string> DrawPicture(const Picture& picture, ColorDepth depth);

}  // namespace carillon
