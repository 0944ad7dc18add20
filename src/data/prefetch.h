// Makes items on a thread of its own, a few ahead of their use.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/status.h"
#include "base/throw.h"

namespace carillon {

// Invariants, under mutex_:
//   1. ready_ holds at most `depth` items, in the order in which they were made;
//   2. once ended_ is set, by the end of the items, an error or a cancellation, nothing is added to
//   ready_ any more;
//   3. status_ is an error only when ended_; it is handed out after the items that were made before
//   it.
template <typename Item>
class Prefetcher {
 public:
  // `make` is called on the thread only: an item, nothing at the end, or an error, after either of
  // which it is not called again. What it throws counts as an error.
  using Make = std::function<StatusOr<std::optional<Item>>()>;

  Prefetcher(size_t depth, Make make)
      : depth_(depth), make_(std::move(make)), thread_([this] { Run(); }) {}

  // Cancels: an item in the making is finished and dropped.
  ~Prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    space_.notify_one();
    thread_.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Waits for the next item. After the end, nothing; after an error, that error, each time.
  StatusOr<std::optional<Item>> Next() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !ready_.empty() || ended_; });
    if (ready_.empty()) {
      if (!status_.ok()) return status_;
      return std::optional<Item>();
    }
    std::optional<Item> item(std::move(ready_.front()));
    ready_.pop_front();
    lock.unlock();
    space_.notify_one();
    return item;
  }

 private:
  StatusOr<std::optional<Item>> MakeOne() {
    StatusOr<std::optional<Item>> made = std::optional<Item>();
    const Status thrown = CatchAsStatus([&] { made = make_(); });
    if (!thrown.ok()) return thrown;
    return made;
  }

  void Run() {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        space_.wait(lock, [this] { return ready_.size() < depth_ || ended_; });
        if (ended_) return;
      }
      StatusOr<std::optional<Item>> made = MakeOne();
      const std::lock_guard lock(mutex_);
      if (ended_) return;
      if (made.ok() && made->has_value()) {
        ready_.push_back(std::move(**made));
      } else {
        ended_ = true;
        status_ = made.status();
      }
      arrived_.notify_one();
    }
  }

  const size_t depth_;
  const Make make_;
  std::mutex mutex_;
  std::condition_variable arrived_, space_;
  std::deque<Item> ready_;  // these three guarded by mutex_
  bool ended_ = false;
  Status status_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace carillon
