// How the ten digits are written: strokes of a pen, each a smooth curve through a few points.
#pragma once

#include <span>

namespace carillon {

struct PenPoint {
  float x, y;  // about -0.5 to 0.5; y points down
};

// A smooth curve through the points. A corner is where one stroke ends and the next one starts.
struct PenStroke {
  std::span<const PenPoint> points;
};

// One way to write a digit.
using Handwriting = std::span<const PenStroke>;

// The ways to write `digit`, 0 to 9.
std::span<const Handwriting> WaysToWrite(int digit);

}  // namespace carillon
