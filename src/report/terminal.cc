#include "report/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/strings.h"

namespace carillon {
namespace {
constexpr int kNarrowest = 20;

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}
}  // namespace

TextStyle TextStyle::Of(std::FILE* stream) {
  TextStyle style;
  const int fd = ::fileno(stream);
  if (fd < 0 || !::isatty(fd)) return style;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = std::max<int>(size.ws_col, kNarrowest);
  }
  style.redraw = Variable("TERM") != "dumb";
  style.color = style.redraw && Variable("NO_COLOR").empty();
  return style;
}

bool HasTrueColor() {
  const std::string_view value = Variable("COLORTERM");
  return value == "truecolor" || value == "24bit";
}

std::string Styled(const TextStyle& style, std::string_view code, std::string_view text) {
  if (!style.color || text.empty()) return std::string(text);
  return StrCat(code, text, kReset);
}

int Columns(std::string_view utf8) {
  return static_cast<int>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // not a continuation byte
  }));
}

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string PadRight(std::string_view text, int columns) {
  return StrCat(text, Repeat(" ", columns - Columns(text)));
}

std::string PadLeft(std::string_view text, int columns) {
  return StrCat(Repeat(" ", columns - Columns(text)), text);
}

}  // namespace carillon
