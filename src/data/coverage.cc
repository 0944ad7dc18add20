#include <algorithm>

#include "base/throw.h"
#include "carillon/data.h"
#include "carillon/report.h"

namespace carillon {
namespace {

constexpr int kShown = 5;

// "12 missing (3, 8, 15, 16, 23, …)"
template <typename Matches>
std::string Describe(const std::vector<uint32_t>& counts, const char* what, int64_t number,
                     Matches matches) {
  if (number == 0) return StrCat("none ", what);
  std::string first;
  int shown = 0;
  for (size_t i = 0; i < counts.size() && shown <= kShown; ++i) {
    if (!matches(counts[i])) continue;
    StrAppend(&first, shown == 0 ? "" : ", ", shown < kShown ? StrCat(i) : "…");
    ++shown;
  }
  return StrCat(FormatCount(number), " ", what, " (", first, ")");
}

}  // namespace

void Coverage::Add(const std::vector<int64_t>& indices) {
  for (const int64_t index : indices) {
    if (index < 0 || index >= static_cast<int64_t>(counts_.size())) {
      Throw(OutOfRange("Coverage: sample ", index, ", expected 0 to ",
                       static_cast<int64_t>(counts_.size()) - 1));
    }
    ++counts_[static_cast<size_t>(index)];
  }
}

int64_t Coverage::missing() const { return std::count(counts_.begin(), counts_.end(), 0u); }
int64_t Coverage::seen() const { return static_cast<int64_t>(counts_.size()) - missing(); }
int64_t Coverage::repeated() const {
  return std::count_if(counts_.begin(), counts_.end(), [](uint32_t count) { return count > 1; });
}

std::string Coverage::Report() const {
  return StrCat(FormatCount(seen()), " of ", FormatCount(static_cast<int64_t>(counts_.size())),
                " samples seen, ",
                Describe(counts_, "missing", missing(), [](uint32_t c) { return c == 0; }), ", ",
                Describe(counts_, "repeated", repeated(), [](uint32_t c) { return c > 1; }));
}

}  // namespace carillon
