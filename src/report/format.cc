#include <algorithm>
#include <cmath>
#include <cstdio>

#include "carillon/report.h"

namespace carillon {

std::string FormatCount(int64_t value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    const bool after_digit = i > 0 && digits[i - 1] != '-';
    if (after_digit && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string FormatDuration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  const auto total = static_cast<int64_t>(std::llround(seconds));
  const auto h = static_cast<int>(total / 3600), m = static_cast<int>(total / 60 % 60),
             s = static_cast<int>(total % 60);
  char text[32];
  if (h > 0) {
    std::snprintf(text, sizeof text, "%d:%02d:%02d", h, m, s);
  } else {
    std::snprintf(text, sizeof text, "%d:%02d", m, s);
  }
  return text;
}

std::string FormatNumber(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double size = std::fabs(value);
  if (size >= 999.5 && size < 1e15) return FormatCount(std::llround(value));
  if (size != 0 && (size < 1e-4 || size >= 1e15)) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return text;
  }
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 4;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string FormatPercent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", 100 * share);
  return text;
}

}  // namespace carillon
