#include "report/picture.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "report/braille.h"
#include "report/terminal.h"

namespace carillon {
namespace {

using Rgb = std::array<int, 3>;

Rgb PixelOf(const Picture& picture, int x, int y) {
  const uint8_t* p = picture.at(x, y);
  if (picture.channels == 1) return {p[0], p[0], p[0]};
  return {p[0], p[1], p[2]};
}

// The nearest of the 256 colours that terminals share: a grey ramp and a 6 x 6 x 6 cube.
int NearestOf256(const Rgb& c) {
  const int spread = std::max({c[0], c[1], c[2]}) - std::min({c[0], c[1], c[2]});
  if (spread < 12) {
    const int grey = (c[0] + c[1] + c[2]) / 3;
    if (grey < 4) return 16;
    if (grey > 246) return 231;
    return 232 + std::clamp((grey - 3) / 10, 0, 23);
  }
  const auto level = [](int v) { return v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40; };
  return 16 + 36 * level(c[0]) + 6 * level(c[1]) + level(c[2]);
}

std::string ColorCode(const Rgb& c, bool foreground, ColorDepth depth) {
  const char* target = foreground ? "38" : "48";
  if (depth == ColorDepth::k256) return StrCat(target, ";5;", NearestOf256(c));
  return StrCat(target, ";2;", c[0], ";", c[1], ";", c[2]);
}

std::vector<std::string> DrawBlocks(const Picture& picture, ColorDepth depth) {
  std::vector<std::string> lines;
  for (int y = 0; y < picture.height; y += 2) {
    std::string line, last;
    for (int x = 0; x < picture.width; ++x) {
      std::string code = ColorCode(PixelOf(picture, x, y), true, depth);
      if (y + 1 < picture.height) {
        StrAppend(&code, ";", ColorCode(PixelOf(picture, x, y + 1), false, depth));
      }
      if (code != last) StrAppend(&line, "\x1b[", code, "m");
      last = code;
      line += "▀";
    }
    lines.push_back(StrCat(line, kReset));
  }
  return lines;
}

// Error diffusion (Floyd and Steinberg's weights): the dots of any area are as many as it is
// bright.
std::vector<std::string> DrawDots(const Picture& picture) {
  const int w = picture.width, h = picture.height;
  std::vector<float> grey(static_cast<size_t>(w) * static_cast<size_t>(h));
  const auto at = [&](int x, int y) -> float& {
    return grey[static_cast<size_t>(y) * static_cast<size_t>(w) + static_cast<size_t>(x)];
  };
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      const Rgb c = PixelOf(picture, x, y);
      at(x, y) = static_cast<float>(c[0] * 299 + c[1] * 587 + c[2] * 114) / 1000.0f;
    }
  }
  BrailleGrid dots((w + 1) / 2, (h + 3) / 4);
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      const bool on = at(x, y) >= 128;
      if (on) dots.Set(x, y);
      const float error = at(x, y) - (on ? 255.0f : 0.0f);
      if (x + 1 < w) at(x + 1, y) += error * 7 / 16;
      if (y + 1 < h) {
        if (x > 0) at(x - 1, y + 1) += error * 3 / 16;
        at(x, y + 1) += error * 5 / 16;
        if (x + 1 < w) at(x + 1, y + 1) += error / 16;
      }
    }
  }
  std::vector<std::string> lines;
  for (int row = 0; row < dots.rows(); ++row) lines.push_back(dots.Line(row));
  return lines;
}

}  // namespace

Picture::Picture(int width, int height, int channels, uint8_t fill)
    : width(width),
      height(height),
      channels(channels),
      pixels(
          static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels),
          fill) {}

std::vector<std::string> DrawPicture(const Picture& picture, ColorDepth depth) {
  return depth == ColorDepth::kNone ? DrawDots(picture) : DrawBlocks(picture, depth);
}

}  // namespace carillon
