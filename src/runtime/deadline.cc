#include "runtime/deadline.h"

#include <algorithm>
#include <utility>

namespace carillon {

DeadlineTimer::~DeadlineTimer() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

uint64_t DeadlineTimer::Add(Clock::time_point when, std::function<void()> action) {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  const uint64_t id = next_id_++;
  entries_.emplace(id, Entry{when, std::move(action)});
  changed_.notify_all();
  return id;
}

void DeadlineTimer::Remove(uint64_t id) {
  std::unique_lock lock(mutex_);
  entries_.erase(id);
  changed_.wait(lock, [&] { return running_ != id; });
}

void DeadlineTimer::Loop() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const auto next =
        std::ranges::min_element(entries_, {}, [](const auto& entry) { return entry.second.when; });
    if (next == entries_.end()) {
      changed_.wait(lock);
      continue;
    }
    if (Clock::now() < next->second.when) {
      const auto when = next->second.when;  // the entry may go while we wait
      changed_.wait_until(lock, when);
      continue;
    }
    auto entry = entries_.extract(next);
    running_ = entry.key();
    lock.unlock();
    entry.mapped().action();
    lock.lock();
    running_ = 0;
    changed_.notify_all();
  }
}

}  // namespace carillon
