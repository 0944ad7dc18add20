// BackgroundThreads: threads for work that may block (files, functions of an input pipeline, waits
// of foreign libraries), so that it never holds a thread that computes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace carillon {

class BackgroundThreads {
 public:
  virtual ~BackgroundThreads() = default;
  // `work` must not throw. Work may hand in more work.
  virtual void Start(std::function<void()> work) = 0;
  // How much more work those who have a share may begin now (ThreadShare).
  virtual size_t Left() = 0;
};

// Grows by a thread whenever work finds none idle, so that work which waits for other work cannot
// starve it (up to 4,000 threads); a thread that is idle for long ends.
//
// Invariants, under mutex_: work_ holds what was handed in and not yet begun, collected_ counts
// what a WorkCollector holds or runs, unfinished_ all of this and what the threads are at; idle_
// threads wait for work, and work_.size() <= idle_ plus the threads just being started, unless
// there are as many as there may be.
class BackgroundPool final : public BackgroundThreads {
 public:
  BackgroundPool() = default;
  // Waits for everything that was handed in.
  ~BackgroundPool() override;
  BackgroundPool(const BackgroundPool&) = delete;
  BackgroundPool& operator=(const BackgroundPool&) = delete;

  void Start(std::function<void()> work) override;
  size_t Left() override;

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
  size_t unfinished_ = 0;
  bool closing_ = false;
};

// What one of many (a session) has begun on threads that all share, so that nobody takes all of
// them with work that waits: it has no more threads than it leaves to others, but always a few.
// What it hands in beyond that waits, without a thread, for what it has begun. Thread-safe.
class ThreadShare {
 public:
  // `all` is the same each time. The work is done though the share may be gone by then.
  void Start(BackgroundThreads& all, std::function<void()> work);

 private:
  struct State;
  const std::shared_ptr<State> state_ = MakeState();
  static std::shared_ptr<State> MakeState();
};

// A share in the form of threads.
class BackgroundShare final : public BackgroundThreads {
 public:
  explicit BackgroundShare(std::shared_ptr<BackgroundThreads> all) : all_(std::move(all)) {}
  void Start(std::function<void()> work) override { share_.Start(*all_, std::move(work)); }
  size_t Left() override { return all_->Left(); }

 private:
  const std::shared_ptr<BackgroundThreads> all_;
  ThreadShare share_;
};

// While one lives, what its thread hands in to any BackgroundPool stays with the collector, for
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
  friend class BackgroundPool;
  struct Piece {
    BackgroundPool* owner;
    std::function<void()> work;
  };
  void HandOver();

  std::vector<Piece> work_;
};

}  // namespace carillon
