// DeadlineTimer: cancels steps whose time is up.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace carillon {

// One thread, started with the first deadline. Invariant: entries_ is only touched under mutex_; an
// action runs without it.
class DeadlineTimer {
 public:
  using Clock = std::chrono::steady_clock;
  ~DeadlineTimer();
  // Calls `action` at `when`, on the timer's thread, unless removed before.
  uint64_t Add(Clock::time_point when, std::function<void()> action);
  // Afterwards the action is not running and will not run.
  void Remove(uint64_t id);

 private:
  void Loop();
  struct Entry {
    Clock::time_point when;
    std::function<void()> action;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, Entry> entries_;
  uint64_t next_id_ = 1;
  uint64_t running_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace carillon
