#include "report/braille.h"

#include <algorithm>
#include <cstdlib>

namespace carillon {

BrailleGrid::BrailleGrid(int columns, int rows)
    : columns_(columns),
      rows_(rows),
      cells_(static_cast<size_t>(columns) * static_cast<size_t>(rows)) {}

void BrailleGrid::Set(int x, int y) {
  if (x < 0 || y < 0 || x >= width() || y >= height()) return;
  // Unicode numbers the dots down the left column, down the right one, and then the lowest row.
  static constexpr uint8_t kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  cells_[static_cast<size_t>(y / 4) * static_cast<size_t>(columns_) + static_cast<size_t>(x / 2)] |=
      kDots[y % 4][x % 2];
}

void BrailleGrid::Line(int x0, int y0, int x1, int y1) {
  const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
  for (int i = 0; i <= steps; ++i) {
    const auto between = [&](int a, int b) {
      return (2 * (a * (steps - i) + b * i) + steps) / (2 * steps);  // rounded
    };
    Set(between(x0, x1), between(y0, y1));
  }
}

bool BrailleGrid::Empty(int column, int row) const { return Cell(column, row) == 0; }

std::string BrailleGrid::Character(int column, int row) const {
  const unsigned code = 0x2800u + Cell(column, row);
  return {static_cast<char>(0xe0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

std::string BrailleGrid::Line(int row) const {
  std::string line;
  for (int column = 0; column < columns_; ++column) {
    line += Empty(column, row) ? " " : Character(column, row);
  }
  return line;
}

}  // namespace carillon
