// A grid of dots drawn with braille characters, 2 x 4 dots each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace carillon {

class BrailleGrid {
 public:
  BrailleGrid(int columns, int rows);
  int columns() const { return columns_; }
  int rows() const { return rows_; }
  int width() const { return columns_ * 2; }  // in dots
  int height() const { return rows_ * 4; }
  // Dot (0, 0) is at the top left. Dots outside are ignored.
  void Set(int x, int y);
  void Line(int x0, int y0, int x1, int y1);
  // The text of one row of characters; characters without dots are spaces.
  std::string Line(int row) const;
  bool Empty(int column, int row) const;
  std::string Character(int column, int row) const;

 private:
  uint8_t Cell(int column, int row) const {
    return cells_[static_cast<size_t>(row) * static_cast<size_t>(columns_) +
                  static_cast<size_t>(column)];
  }
  int columns_, rows_;
  std::vector<uint8_t> cells_;
};

}  // namespace carillon
