// BackgroundThreads: threads for work that may block (files, functions of an input pipeline, waits
// of foreign libraries), so that it never holds a thread that computes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace carillon {

// Grows by a thread whenever work finds none idle, so that work which waits for other work cannot
// starve it; a thread that is idle for long ends.
//
// Invariants, under mutex_: work_ holds what was handed in and not yet begun, collected_ counts
// what a WorkCollector holds or runs; idle_ threads wait for work, and work_.size() <= idle_ plus
// the threads just being started.
class BackgroundThreads {
 public:
  BackgroundThreads() = default;
  // Waits for everything that was handed in.
  ~BackgroundThreads();
  BackgroundThreads(const BackgroundThreads&) = delete;
  BackgroundThreads& operator=(const BackgroundThreads&) = delete;

  // `work` must not throw. Work may hand in more work.
  void Start(std::function<void()> work);

 private:
  friend class WorkCollector;
  void StartOnThread(std::function<void()> work);  // under mutex_
  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable ended_;
  std::deque<std::function<void()>> work_;
  size_t idle_ = 0;
  size_t threads_ = 0;
  size_t collected_ = 0;
  bool closing_ = false;
};

// While one lives, what its thread hands in to any BackgroundThreads stays with the collector, for
// the thread to run itself once it is free to: that saves waking another. Of one thread; not
// nested.
class WorkCollector {
 public:
  WorkCollector();
  ~WorkCollector();  // hands what is left to threads of the background
  WorkCollector(const WorkCollector&) = delete;
  WorkCollector& operator=(const WorkCollector&) = delete;

  bool empty() const { return work_.empty(); }
  // Runs the first piece of work here and leaves the others to threads of the background. What the
  // work hands in goes there, too.
  void Run();

 private:
  friend class BackgroundThreads;
  struct Piece {
    BackgroundThreads* owner;
    std::function<void()> work;
  };
  void HandOver();

  std::vector<Piece> work_;
};

}  // namespace carillon
