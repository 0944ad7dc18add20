// An RGB picture to draw on with smooth lines and text. Coordinates are pixels from the top left
// corner; pixel (0, 0) covers [0, 1) x [0, 1).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "report/picture.h"

namespace carillon {

struct Color {
  uint8_t r = 0, g = 0, b = 0;
};

struct Point {
  double x = 0, y = 0;
};

enum class Align { kLeft, kCenter, kRight };

class Canvas {
 public:
  Canvas(int width, int height, Color background);
  void Fill(double x0, double y0, double x1, double y1, Color color, double alpha = 1);
  // A polyline with round ends and joints. One point alone is a dot.
  void Stroke(const std::vector<Point>& points, double thickness, Color color, double alpha = 1);
  // `size` is the height of capital letters, `y` the baseline. Characters other than printable
  // ASCII are drawn as boxes.
  void Text(double x, double y, double size, std::string_view text, Color color,
            Align align = Align::kLeft);
  static double TextWidth(double size, std::string_view text);
  const Picture& picture() const { return picture_; }

 private:
  // Blends the coverage of `paths` (all at once, so that overlaps do not show) over the picture.
  void StrokeAll(const std::vector<std::vector<Point>>& paths, double thickness, Color color,
                 double alpha);
  Picture picture_;
};

}  // namespace carillon
