// From the bytes that a task writes to lines that can be shown.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace carillon::launch {

// Cuts a stream into lines. Its memory is bounded, whatever comes.
class LineSplitter {
 public:
  // A longer line is given as several.
  static constexpr size_t kLongest = 16 << 10;
  // Gets a line without its end; valid during the call.
  using LineFunction = std::function<void(std::string_view)>;

  explicit LineSplitter(LineFunction line) : line_(std::move(line)) {}
  void Add(std::string_view bytes);
  // The stream is over: what came last without a line end is a line as well.
  void Finish();

 private:
  void Emit(std::string_view line);
  LineFunction line_;
  std::string pending_;  // the beginning of a line, at most kLongest
};

// What a terminal may get of a line: UTF-8 alone (other bytes become U+FFFD), no escape sequences
// and no control characters but tabs, so that nothing moves the cursor.
std::string Printable(std::string_view bytes);

}  // namespace carillon::launch
