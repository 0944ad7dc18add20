#include "cli/launch/screen.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <iterator>
#include <poll.h>
#include <unistd.h>

#include "base/strings.h"
#include "report/terminal.h"

namespace carillon::launch {
namespace {

constexpr std::string_view kLauncher = "launch";
// Of tasks in their order; red stays free for what is wrong.
constexpr std::string_view kColors[] = {"\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[34m",
                                        "\x1b[96m", "\x1b[93m", "\x1b[92m", "\x1b[95m"};
constexpr std::string_view kEraseLine = "\r\x1b[2K";

}  // namespace

void Outlet::Add(std::string_view text) {
  if (!broken_) waiting_ += text;
}

void Outlet::Write() {
  while (!empty() && !broken_) {
    // A descriptor that is ready takes PIPE_BUF bytes without waiting. Making it non-blocking would
    // reach everybody who shares it.
    pollfd ready{fd_, POLLOUT, 0};
    if (::poll(&ready, 1, 0) <= 0) break;
    const size_t size = std::min<size_t>(waiting_.size() - written_, PIPE_BUF);
    const ssize_t wrote = ::write(fd_, waiting_.data() + written_, size);
    if (wrote < 0 && errno != EINTR && errno != EAGAIN) broken_ = true;
    if (wrote > 0) written_ += static_cast<size_t>(wrote);
  }
  if (empty() || broken_) {
    waiting_.clear();
    written_ = 0;
  } else if (written_ > kMostWaiting) {
    waiting_.erase(0, written_);
    written_ = 0;
  }
}

Screen::Screen(int fd, const TextStyle& style, const std::vector<std::string>& names)
    : outlet_(fd), style_(style), names_(names), label_columns_(Columns(kLauncher)) {
  for (const std::string& name : names_) label_columns_ = std::max(label_columns_, Columns(name));
}

void Screen::TaskLine(size_t task, std::string_view text) {
  Line(names_[task], kColors[task % std::size(kColors)], text);
}

void Screen::Note(std::string_view text) { Line(kLauncher, kBold, text); }

void Screen::Block(std::string_view lines) {
  Erase();
  outlet_.Add(lines);
}

void Screen::Line(std::string_view label, std::string_view color, std::string_view text) {
  Erase();
  const std::string prefix = StrCat(PadRight(label, label_columns_), " │");
  outlet_.Add(StrCat(Styled(style_, color, prefix), text.empty() ? "" : " ", text, "\n"));
}

void Screen::Status(const std::string& text) {
  if (!style_.redraw) {
    if (!text.empty()) Note(text);
    return;
  }
  if (text == status_ && status_drawn_) return;
  Erase();
  status_ = text;
}

void Screen::Settle() {
  if (status_drawn_ || status_.empty()) return;
  outlet_.Add(Styled(style_, kDim, status_));
  status_drawn_ = true;
}

void Screen::Erase() {
  if (status_drawn_) outlet_.Add(kEraseLine);
  status_drawn_ = false;
}

}  // namespace carillon::launch
