// The launcher's output: the lines of all tasks, and under them a line that tells how they are
// getting on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carillon/report.h"

namespace carillon::launch {

// Text on its way to a descriptor that may be slow (a pager, a paused terminal) or gone. Nothing
// here waits, so that the launcher always hears its signals.
class Outlet {
 public:
  explicit Outlet(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  void Add(std::string_view text);
  bool empty() const { return waiting_.size() == written_; }
  // So much waits that whoever produces it should wait too.
  bool full() const { return waiting_.size() - written_ > kMostWaiting; }
  // Nobody reads any more: what is added vanishes.
  bool broken() const { return broken_; }
  // Writes while the descriptor takes more at once.
  void Write();

 private:
  static constexpr size_t kMostWaiting = 256 << 10;
  const int fd_;
  std::string waiting_;
  size_t written_ = 0;  // of waiting_
  bool broken_ = false;
};

// Lines with the name of their task before them. Text must be printable (see lines.h).
class Screen {
 public:
  // Names that are longer than all `names` are not aligned.
  Screen(int fd, const TextStyle& style, const std::vector<std::string>& names);
  const TextStyle& style() const { return style_; }
  Outlet& outlet() { return outlet_; }

  void TaskLine(size_t task, std::string_view text);
  // What the launcher itself has to say.
  void Note(std::string_view text);
  // Whole lines without a prefix.
  void Block(std::string_view lines);
  // On a terminal: the last line, redrawn in place; "" takes it away. Elsewhere: a note.
  void Status(const std::string& text);
  // Puts the status line back under lines that have come since. Call it once lines are written, not
  // after each.
  void Settle();

 private:
  void Line(std::string_view label, std::string_view color, std::string_view text);
  void Erase();

  Outlet outlet_;
  const TextStyle style_;
  const std::vector<std::string> names_;
  int label_columns_;
  std::string status_;
  bool status_drawn_ = false;
};

}  // namespace carillon::launch
