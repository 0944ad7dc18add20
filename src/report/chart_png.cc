#include <algorithm>
#include <cmath>

#include "base/env.h"
#include "base/throw.h"
#include "report/axis.h"
#include "report/canvas.h"

namespace carillon {
namespace {

constexpr Color kPaper{255, 255, 255}, kInk{31, 41, 55}, kGrey{107, 114, 128}, kGrid{229, 231, 235};
constexpr Color kSeriesColors[] = {{37, 99, 235}, {217, 119, 6}, {22, 163, 74}, {220, 38, 38}};
constexpr double kTitleSize = 13, kLabelSize = 9;

struct Frame {
  double left, top, right, bottom;
  double X(double position) const { return left + position * (right - left); }
  double Y(double position) const { return bottom - position * (bottom - top); }
};

void DrawAxes(const Chart& chart, const ChartLayout& layout, const Frame& frame, Canvas* canvas) {
  const std::vector<double> y_ticks =
      layout.y.Ticks(static_cast<int>((frame.bottom - frame.top) / 60));
  for (const double tick : y_ticks) {
    const double y = std::round(frame.Y(layout.y.Position(tick)));
    canvas->Fill(frame.left, y, frame.right, y + 1, kGrid);
    canvas->Text(frame.left - 10, y + kLabelSize / 2, kLabelSize, TickLabel(tick, y_ticks), kGrey,
                 Align::kRight);
  }
  const std::vector<double> x_ticks =
      layout.x.Ticks(static_cast<int>((frame.right - frame.left) / 110));
  for (const double tick : x_ticks) {
    const double x = std::round(frame.X(layout.x.Position(tick)));
    canvas->Fill(x, frame.bottom, x + 1, frame.bottom + 5, kGrey);
    canvas->Text(x, frame.bottom + 10 + kLabelSize, kLabelSize, TickLabel(tick, x_ticks), kGrey,
                 Align::kCenter);
  }
  canvas->Fill(frame.left, frame.bottom, frame.right, frame.bottom + 1, kGrey);
  canvas->Text(frame.right, frame.bottom + 28 + kLabelSize, kLabelSize, chart.x_label, kGrey,
               Align::kRight);
}

void DrawSeries(const std::vector<Bin>& bins, const Axis& y, double bin_width, const Frame& frame,
                Color color, Canvas* canvas) {
  std::vector<Point> line;
  for (const Bin& bin : bins) {
    const double x = frame.left + bin.column * bin_width;
    const double top = std::max(frame.Y(y.Position(bin.high)), frame.top);
    const double bottom = std::min(frame.Y(y.Position(bin.low)), frame.bottom);
    if (bin.high > bin.low && bottom > top) {
      canvas->Fill(x - bin_width / 2, top, x + bin_width / 2, bottom, color, 0.16);
    }
    line.push_back({x, frame.Y(y.Position(bin.mean))});
  }
  canvas->Stroke(line, 2.2, color);
}

// The last value in words at the end of the curve, where there is room for it.
void DrawLastValue(const std::vector<Bin>& bins, const Axis& y, double bin_width,
                   const Frame& frame, Color color, Canvas* canvas) {
  const Point end{frame.left + bins.back().column * bin_width,
                  frame.Y(y.Position(bins.back().mean))};
  canvas->Stroke({end}, 7, color);
  canvas->Text(end.x + 8, end.y + kLabelSize / 2, kLabelSize, FormatNumber(bins.back().mean),
               color);
}

}  // namespace

std::string Chart::ToPng(int width, int height) const {
  width = std::clamp(width, 240, 8192);
  height = std::clamp(height, 160, 8192);
  Canvas canvas(width, height, kPaper);
  const Frame frame{76.0, 74.0, width - 76.0, height - 62.0};
  constexpr double kBinWidth = 3;
  const int columns = static_cast<int>((frame.right - frame.left) / kBinWidth) + 1;
  const double bin_width = (frame.right - frame.left) / (columns - 1);
  const ChartLayout layout = LayOut(*this, columns);

  canvas.Text(28, 34, kTitleSize, title, kInk);
  canvas.Text(28, 58, kLabelSize, y_label, kGrey);
  double legend = width - 28.0;
  for (size_t s = series.size(); series.size() > 1 && s-- > 0;) {
    const Color color = kSeriesColors[s % std::size(kSeriesColors)];
    canvas.Text(legend, 33, kLabelSize, series[s].name, kInk, Align::kRight);
    legend -= Canvas::TextWidth(kLabelSize, series[s].name) + 8;
    canvas.Stroke({{legend - 18, 29}, {legend, 29}}, 3, color);
    legend -= 40;
  }
  const bool nothing = std::all_of(layout.series.begin(), layout.series.end(),
                                   [](const std::vector<Bin>& bins) { return bins.empty(); });
  if (nothing) {
    canvas.Text(width / 2.0, height / 2.0, kTitleSize, "nothing to draw", kGrey, Align::kCenter);
  } else {
    DrawAxes(*this, layout, frame, &canvas);
    for (size_t s = 0; s < layout.series.size(); ++s) {
      if (layout.series[s].empty()) continue;
      const Color color = kSeriesColors[s % std::size(kSeriesColors)];
      DrawSeries(layout.series[s], layout.y, bin_width, frame, color, &canvas);
      DrawLastValue(layout.series[s], layout.y, bin_width, frame, color, &canvas);
    }
  }
  return EncodePng(canvas.picture());
}

void Chart::SavePng(const std::string& path, int width, int height) const {
  ThrowIfError(PosixEnv().WriteFile(path, ToPng(width, height)));
}

}  // namespace carillon
