// The arithmetic behind a chart: ranges, round ticks, and many points reduced to one a column.
#pragma once

#include <string>
#include <vector>

#include "carillon/report.h"

namespace carillon {

struct Axis {
  double low = 0, high = 1;
  bool log = false;
  // 0 at `low`, 1 at `high`; beyond them for values outside.
  double Position(double value) const;
  // About `wanted` round values inside the axis, ascending.
  std::vector<double> Ticks(int wanted) const;
};

// The text of a tick: just as many decimals as the distance between ticks needs; 12k, 3M for large
// ones.
std::string TickLabel(double value, const std::vector<double>& ticks);

// The points of a series that fall into one column of a chart.
struct Bin {
  int column = 0;
  double mean = 0, low = 0, high = 0;
};

struct ChartLayout {
  Axis x, y;
  std::vector<std::vector<Bin>> series;  // for each, its columns that have points, in order
};

// For a chart that is `columns` wide. Without a single point to show, all series are empty.
ChartLayout LayOut(const Chart& chart, int columns);

}  // namespace carillon
