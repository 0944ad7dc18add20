#include "distributed/serving/call_metadata.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "absl/strings/escaping.h"

namespace carillon {
namespace {

// Clients refuse headers of more than 8 KiB, all together, unless told otherwise.
constexpr size_t kLongestMessage = 6 << 10;
constexpr std::string_view kCut = " ... (cut)";

}  // namespace

const std::string* CallInfo::Find(std::string_view key) const {
  const auto found = std::ranges::find(metadata, key, &Metadata::value_type::first);
  return found == metadata.end() ? nullptr : &found->second;
}

std::optional<std::chrono::nanoseconds> ReadTimeout(std::string_view text) {
  constexpr size_t kMostDigits = 8;
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || unit + 1 != end || text.front() == '-' ||
      text.size() > kMostDigits + 1)
    return std::nullopt;
  switch (*unit) {
    case 'H':
      return std::chrono::hours(std::min<int64_t>(value, 24 * 365));
    case 'M':
      return std::chrono::minutes(std::min<int64_t>(value, 60 * 24 * 365));
    case 'S':
      return std::chrono::seconds(value);
    case 'm':
      return std::chrono::milliseconds(value);
    case 'u':
      return std::chrono::microseconds(value);
    case 'n':
      return std::chrono::nanoseconds(value);
    default:
      return std::nullopt;
  }
}

std::optional<std::string> ReadMetadataValue(std::string_view key, std::string_view text) {
  if (!key.ends_with("-bin")) return std::string(text);
  std::string value;
  if (!absl::Base64Unescape(absl::string_view(text.data(), text.size()), &value))
    return std::nullopt;
  return value;
}

std::string WriteMetadataValue(std::string_view key, std::string_view value) {
  if (!key.ends_with("-bin")) return std::string(value);
  return absl::Base64Escape(absl::string_view(value.data(), value.size()));
}

std::string WriteStatusMessage(std::string_view message) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const char c : message) {
    // Not within a character of UTF-8, which takes up to four bytes, unless it is none.
    const bool is_inside = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (text.size() > kLongestMessage + (is_inside ? 12 : 0)) return text.append(kCut);
    if (c >= ' ' && c <= '~' && c != '%') {
      text.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return text;
}

std::string WriteForLog(std::string_view text) {
  constexpr size_t kLongestOfLog = 500;
  std::string line;
  for (const char c : text.substr(0, kLongestOfLog))
    line += c >= ' ' && c <= '~' ? std::string(1, c) : absl::CHexEscape(std::string(1, c));
  if (text.size() > kLongestOfLog) line += " ...";
  return line;
}

}  // namespace carillon
