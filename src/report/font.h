// Our stroke font: each glyph is a few polylines, so that one line drawer draws text of any size.
#pragma once

#include <vector>

#include "report/canvas.h"

namespace carillon {

struct Glyph {
  std::vector<std::vector<Point>> paths;  // x to the right, y upwards from the baseline
  double advance = 0;
};

// In units of which a capital letter is 12 high.
inline constexpr double kCapHeight = 12;
Glyph GlyphOf(char c);

}  // namespace carillon
