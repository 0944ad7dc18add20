// LogThrottle: keeps what strangers can cause as often as they like from filling the log.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include "base/logging.h"

namespace carillon {

// A few lines in each period; the first of the next one says how many were left out. Thread-safe.
class LogThrottle {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kLines = 10;
  static constexpr std::chrono::seconds kPeriod{60};

  // The number of lines left out since the last one; nothing when this one has to be left out.
  std::optional<int> Take(Clock::time_point now = Clock::now()) {
    std::lock_guard lock(mutex_);
    if (now - begin_ >= kPeriod || !begun_) {
      begun_ = true;
      begin_ = now;
      lines_ = 0;
    }
    if (lines_ == kLines) {
      ++left_out_;
      return std::nullopt;
    }
    ++lines_;
    return std::exchange(left_out_, 0);
  }

  template <typename... Args>
  void Warn(const Args&... args) {
    const std::optional<int> left_out = Take();
    if (!left_out.has_value()) return;
    if (*left_out > 0) LogWarning(*left_out, " lines like the next one were left out");
    LogWarning(args...);
  }

 private:
  std::mutex mutex_;
  bool begun_ = false;
  Clock::time_point begin_;
  int lines_ = 0, left_out_ = 0;
};

}  // namespace carillon
