#include "cli/launch/lines.h"

#include <algorithm>
#include <cstdint>

namespace carillon::launch {
namespace {

// The length of the UTF-8 character that `text` begins with, 0 when it begins with none.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond Unicode.
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) >= 0xa0) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) >= 0x90) return 0;
  // The controls of ISO 8859-1, among them a second spelling of escape sequences.
  if (first == 0xc2 && byte(1) < 0xa0) return 0;
  return length;
}

// The length of the escape sequence that `text` begins with: "ESC [ … letter", or the ESC alone.
size_t EscapeLength(std::string_view text) {
  if (text.size() < 2 || text[1] != '[') return 1;
  size_t end = 2;
  while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
  return std::min(text.size(), end + 1);
}

}  // namespace

void LineSplitter::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const size_t room = kLongest - pending_.size();
    const size_t take = std::min(std::min(end, bytes.size()), room);
    pending_ += bytes.substr(0, take);
    bytes.remove_prefix(take);
    if (!bytes.empty() && bytes.front() == '\n') {
      Emit(pending_);
      pending_.clear();
      bytes.remove_prefix(1);
    } else if (pending_.size() == kLongest) {
      // What was written over by a carriage return makes room; only without one the line is cut.
      const size_t back = pending_.rfind('\r', kLongest - 2);
      if (back == std::string::npos) {
        Emit(pending_);
        pending_.clear();
      } else {
        pending_.erase(0, back + 1);
      }
    }
  }
}

void LineSplitter::Finish() {
  if (!pending_.empty()) Emit(pending_);
  pending_.clear();
}

// A terminal shows of a line that returns to its beginning what was written last.
void LineSplitter::Emit(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const size_t back = line.rfind('\r');
  line_(back == std::string_view::npos ? line : line.substr(back + 1));
}

std::string Printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto first = static_cast<uint8_t>(bytes.front());
    size_t length = CharacterLength(bytes);
    if (first == 0x1b) {
      length = EscapeLength(bytes);
    } else if (length == 0) {
      out += "\xef\xbf\xbd";
      length = 1;
    } else if (first >= 0x20 ? first != 0x7f : first == '\t') {
      out += bytes.substr(0, length);
    }
    bytes.remove_prefix(length);
  }
  return out;
}

}  // namespace carillon::launch
