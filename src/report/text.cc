#include "report/text.h"

#include <algorithm>

#include "base/edit_distance.h"
#include "base/strings.h"
#include "carillon/flags.h"
#include "report/terminal.h"

namespace carillon {
std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (size_t begin = 0;;) {
    const size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

std::string JoinWith(std::string_view separator, const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) StrAppend(&out, out.empty() ? "" : separator, part);
  return out;
}

void AppendWrapped(std::string_view text, int column, int indent, int width, std::string* out) {
  bool line_empty = true;
  while (!text.empty()) {
    const size_t stop = text.find_first_of(" \n");
    const std::string_view word = text.substr(0, stop);
    if (!line_empty && column + 1 + Columns(word) > width) {
      StrAppend(out, "\n", Repeat(" ", indent));
      column = indent;
      line_empty = true;
    }
    if (!word.empty()) {
      StrAppend(out, line_empty ? "" : " ", word);
      column += Columns(word) + (line_empty ? 0 : 1);
      line_empty = false;
    }
    if (stop == std::string_view::npos) break;
    if (text[stop] == '\n') {
      StrAppend(out, "\n", Repeat(" ", indent));
      column = indent;
      line_empty = true;
    }
    text.remove_prefix(stop + 1);
  }
  StrAppend(out, "\n");
}

std::string NearestName(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // "--batch" for "--batch_size" is a common slip: the beginning of a name is near it.
    const bool prefix = name.size() >= 3 && candidate.starts_with(name);
    const size_t distance = prefix ? 1 : EditDistance(name, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace carillon
