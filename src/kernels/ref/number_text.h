// Numbers as text, as TensorFlow reads them.
#pragma once

#include <cmath>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"

namespace carillon {

// White space around the number is fine, anything else is not. Floats may be hexadecimal, infinite
// or NaN; what is too large for a float is infinite, for an integer wrong.
template <typename T>
bool ParseNumber(std::string_view text, T* number) {
  absl::string_view rest = absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  if constexpr (std::is_integral_v<T>) {
    if (std::is_unsigned_v<T> && !rest.empty() && rest[0] == '-') return false;
    return absl::SimpleAtoi(rest, number);
  } else {
    const bool negative = !rest.empty() && rest[0] == '-';
    if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) rest.remove_prefix(1);
    if (rest.empty() || rest[0] == '-' || rest[0] == '+') return false;
    absl::chars_format format = absl::chars_format::general;
    if (rest.size() > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X')) {
      rest.remove_prefix(2);
      if (rest[0] == '-') return false;
      format = absl::chars_format::hex;
    }
    const char* end = rest.data() + rest.size();
    const absl::from_chars_result result = absl::from_chars(rest.data(), end, *number, format);
    if (result.ec == std::errc::invalid_argument || result.ptr != end) return false;
    // Out of range: the value is the largest or the smallest, where an infinity or zero is meant.
    if (result.ec == std::errc::result_out_of_range && *number > 1) *number = HUGE_VAL;
    if (negative) *number = -*number;
    return true;
  }
}

}  // namespace carillon
