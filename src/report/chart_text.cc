#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "report/axis.h"
#include "report/braille.h"
#include "report/terminal.h"

namespace carillon {
namespace {

constexpr std::string_view kSeriesColors[] = {kCyan, kYellow, kGreen, kRed};

std::string_view ColorOf(size_t series) { return kSeriesColors[series % std::size(kSeriesColors)]; }

BrailleGrid DrawSeries(const std::vector<Bin>& bins, const Axis& y, int columns, int rows) {
  BrailleGrid grid(columns, rows);
  const auto height = [&](const Bin& bin) {
    return static_cast<int>(std::lround((1 - y.Position(bin.mean)) * (grid.height() - 1)));
  };
  for (size_t i = 0; i < bins.size(); ++i) {
    const Bin& from = bins[i == 0 ? 0 : i - 1];
    grid.Line(from.column, height(from), bins[i].column, height(bins[i]));
  }
  return grid;
}

// Labels under their columns, those left out that would touch the one before.
std::string XLabels(const Axis& x, int columns) {
  const std::vector<double> ticks = x.Ticks(std::max(2, columns / 12));
  std::string line;
  int used = 0;
  for (const double tick : ticks) {
    const std::string label = TickLabel(tick, ticks);
    const int center = static_cast<int>(std::lround(x.Position(tick) * (columns - 1)));
    const int begin = std::clamp(center - Columns(label) / 2, 0, columns - Columns(label));
    if (used > 0 && begin < used + 2) continue;
    StrAppend(&line, Repeat(" ", begin - used), label);
    used = begin + Columns(label);
  }
  return line;
}

}  // namespace

std::string Chart::ToText(const TextStyle& style, int rows) const {
  rows = std::clamp(rows, 4, 100);
  const int width = std::clamp(style.width - 1, 24, 110);
  // The labels of the y axis say how much room is left, and with it how the points fall into
  // columns: the axes first.
  constexpr int kCoarse = 64;
  const Axis y_axis = LayOut(*this, kCoarse).y;
  const std::vector<double> y_ticks = y_axis.Ticks(std::max(2, rows / 2));
  int label_width = 1;
  for (const double tick : y_ticks) {
    label_width = std::max(label_width, Columns(TickLabel(tick, y_ticks)));
  }
  const int columns = std::max(8, width - label_width - 4);
  const ChartLayout layout = LayOut(*this, columns * 2);

  std::string out;
  std::string head = Styled(style, kBold, title);
  if (series.size() > 1) {
    for (size_t s = 0; s < series.size(); ++s) {
      StrAppend(&head, head.empty() ? "" : "   ", Styled(style, ColorOf(s), "━ "), series[s].name);
    }
  }
  if (!head.empty()) StrAppend(&out, "  ", head, "\n");
  const bool nothing = std::all_of(layout.series.begin(), layout.series.end(),
                                   [](const std::vector<Bin>& bins) { return bins.empty(); });
  if (nothing) return StrCat(out, "  (nothing to draw)\n");
  if (!y_label.empty()) StrAppend(&out, "  ", Styled(style, kDim, y_label), "\n");

  std::vector<std::string> labels(static_cast<size_t>(rows));
  for (const double tick : y_ticks) {
    const double row = (1 - layout.y.Position(tick)) * (rows * 4 - 1) / 4;
    if (row >= 0 && row < rows) labels[static_cast<size_t>(row)] = TickLabel(tick, y_ticks);
  }
  std::vector<BrailleGrid> grids;
  for (const std::vector<Bin>& bins : layout.series) {
    grids.push_back(DrawSeries(bins, layout.y, columns, rows));
  }
  for (int row = 0; row < rows; ++row) {
    const std::string& label = labels[static_cast<size_t>(row)];
    StrAppend(&out, "  ", PadLeft(label, label_width),
              Styled(style, kDim, label.empty() ? " │" : " ┤"));
    std::string line;
    for (int column = 0; column < columns; ++column) {
      std::string cell = " ";
      for (size_t s = 0; s < grids.size();
           ++s) {  // of two curves in one character the later is seen
        if (grids[s].Empty(column, row)) continue;
        cell = Styled(style, ColorOf(s), grids[s].Character(column, row));
      }
      line += cell;
    }
    while (line.ends_with(' ')) line.pop_back();
    StrAppend(&out, line, "\n");
  }
  const std::string indent = Repeat(" ", 2 + label_width + 2);
  StrAppend(&out, Repeat(" ", 2 + label_width),
            Styled(style, kDim, StrCat(" └", Repeat("─", columns))), "\n");
  StrAppend(&out, indent, XLabels(layout.x, columns), "\n");
  if (!x_label.empty()) {
    const int before = std::max(0, columns - Columns(x_label));
    StrAppend(&out, indent, Repeat(" ", before), Styled(style, kDim, x_label), "\n");
  }
  return out;
}

}  // namespace carillon
