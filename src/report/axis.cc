#include "report/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace carillon {
namespace {

constexpr double kMargin = 0.04;  // of the y axis, above and below the curve

bool Shown(double x, double y, bool log) {
  return std::isfinite(x) && std::isfinite(y) && (!log || y > 0);
}

void Widen(Axis* axis) {
  if (axis->log) {
    const double factor = std::pow(axis->high / axis->low, kMargin);
    axis->low /= std::max(factor, 1.05);
    axis->high *= std::max(factor, 1.05);
    return;
  }
  double span = axis->high - axis->low;
  if (span <= 0) span = std::max(std::fabs(axis->low), 1.0);
  // A curve that comes near 0 from above shows how near.
  const bool from_zero = axis->low >= 0 && axis->low < 0.4 * axis->high;
  axis->low = from_zero ? 0 : axis->low - kMargin * span;
  axis->high += kMargin * span;
}

}  // namespace

double Axis::Position(double value) const {
  if (log) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

std::vector<double> Axis::Ticks(int wanted) const {
  std::vector<double> ticks;
  if (log && high / low > 20) {
    // Powers of ten, with 2 and 5 between them when there is room.
    const bool dense = std::log10(high / low) * 3 <= wanted + 1;
    for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double tick = digit * power;
        if ((digit == 1.0 || dense) && tick >= low && tick <= high) ticks.push_back(tick);
      }
    }
    return ticks;
  }
  const double rough = (high - low) / std::max(wanted, 1);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double digit : {5.0, 2.0, 1.0}) {
    if (digit * power >= rough * 0.99) step = digit * power;
  }
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

std::string TickLabel(double value, const std::vector<double>& ticks) {
  double step = std::fabs(value);
  for (size_t i = 1; i < ticks.size(); ++i) step = std::min(step, ticks[i] - ticks[i - 1]);
  if (step <= 0 || value == 0) return "0";
  const double largest = std::max(std::fabs(ticks.front()), std::fabs(ticks.back()));
  const char* unit = "";
  if (largest >= 1e7 && step >= 1e5) {
    value /= 1e6, step /= 1e6, unit = "M";
  } else if (largest >= 1e4 && step >= 100) {
    value /= 1e3, step /= 1e3, unit = "k";
  }
  const int decimals = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 9);
  char text[48];
  std::snprintf(text, sizeof text, "%.*f%s", decimals, value, unit);
  return text;
}

ChartLayout LayOut(const Chart& chart, int columns) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ChartLayout layout;
  layout.series.resize(chart.series.size());
  double x_low = kInfinity, x_high = -kInfinity;
  for (const Chart::Series& series : chart.series) {
    for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      if (!Shown(series.x[i], series.y[i], chart.log_y)) continue;
      x_low = std::min(x_low, series.x[i]);
      x_high = std::max(x_high, series.x[i]);
    }
  }
  if (x_low > x_high) return layout;
  if (x_low == x_high) x_high = x_low + 1;
  if (x_low > 0 && x_low < 0.05 * x_high) x_low = 0;
  layout.x = {x_low, x_high, false};
  layout.y = {kInfinity, -kInfinity, chart.log_y};

  for (size_t s = 0; s < chart.series.size(); ++s) {
    const Chart::Series& series = chart.series[s];
    std::vector<Bin> bins(static_cast<size_t>(columns));
    std::vector<int64_t> counts(bins.size(), 0);
    for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      const double y = series.y[i];
      if (!Shown(series.x[i], y, chart.log_y)) continue;
      const auto column = static_cast<size_t>(
          std::lround(layout.x.Position(series.x[i]) * static_cast<double>(columns - 1)));
      Bin& bin = bins[column];
      const auto count = static_cast<double>(++counts[column]);
      bin.mean += (y - bin.mean) / count;
      bin.low = count == 1 ? y : std::min(bin.low, y);
      bin.high = count == 1 ? y : std::max(bin.high, y);
    }
    for (size_t c = 0; c < bins.size(); ++c) {
      if (counts[c] == 0) continue;
      bins[c].column = static_cast<int>(c);
      layout.y.low = std::min(layout.y.low, bins[c].mean);
      layout.y.high = std::max(layout.y.high, bins[c].mean);
      layout.series[s].push_back(bins[c]);
    }
  }
  Widen(&layout.y);
  return layout;
}

}  // namespace carillon
