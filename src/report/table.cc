#include <algorithm>

#include "base/strings.h"
#include "report/terminal.h"

namespace carillon {
namespace {

bool LooksNumeric(std::string_view cell) {
  if (cell.empty() || cell == "-" || cell == "–") return true;
  // A unit may follow a number, but "28 x 28 grey" is text.
  const size_t at = cell.find_first_not_of("+-.");
  return at != std::string_view::npos && cell[at] >= '0' && cell[at] <= '9' &&
         std::count(cell.begin(), cell.end(), ' ') <= 1;
}

}  // namespace

Table::Table(std::string title, std::vector<std::string> header)
    : title_(std::move(title)), header_(std::move(header)) {}

Table& Table::Row(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
  return *this;
}

std::string Table::ToText(const TextStyle& style) const {
  size_t columns = header_.size();
  for (const auto& row : rows_) columns = std::max(columns, row.size());
  std::vector<int> widths(columns, 0);
  std::vector<bool> right(columns, true);
  const auto measure = [&](const std::vector<std::string>& row) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Columns(row[c]));
  };
  measure(header_);
  for (const auto& row : rows_) {
    measure(row);
    for (size_t c = 0; c < row.size(); ++c) right[c] = right[c] && LooksNumeric(row[c]);
  }
  int total = static_cast<int>(columns > 0 ? columns - 1 : 0) * 3;
  for (const int width : widths) total += width;
  total = std::max(total, Columns(title_));

  std::string out;
  const auto add_line = [&](std::string line, std::string_view code) {
    while (line.ends_with(' ')) line.pop_back();
    StrAppend(&out, "  ", Styled(style, code, line), "\n");
  };
  const auto add_row = [&](const std::vector<std::string>& row, std::string_view code) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      const std::string cell = c < row.size() ? row[c] : "";
      StrAppend(&line, c > 0 ? "   " : "",
                right[c] ? PadLeft(cell, widths[c]) : PadRight(cell, widths[c]));
    }
    add_line(std::move(line), code);
  };
  const std::string rule = Repeat("─", total);
  if (!title_.empty()) {
    add_line(title_, kBold);
    add_line(rule, kDim);
  }
  if (!header_.empty()) {
    add_row(header_, title_.empty() ? kBold : kDim);
    if (title_.empty()) add_line(rule, kDim);
  }
  for (const auto& row : rows_) add_row(row, "");
  return out;
}

}  // namespace carillon
