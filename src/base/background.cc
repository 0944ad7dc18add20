#include "base/background.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace carillon {
namespace {

constexpr std::chrono::seconds kIdleTime{10};
// There is a limit for all processes of the machine, which must not be reached.
constexpr size_t kMostThreads = 4000;
// The others are for the few that each share always has, and for work that belongs to none.
constexpr size_t kSharedThreads = 3500;

thread_local WorkCollector* collector = nullptr;

}  // namespace

BackgroundPool::~BackgroundPool() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
  ended_.wait(lock, [this] { return threads_ == 0 && collected_ == 0; });
}

void BackgroundPool::Start(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  if (collector == nullptr) {
    StartOnThread(std::move(work));
  } else {
    collector->work_.push_back({this, std::move(work)});
    ++collected_;
  }
  ++unfinished_;
}

size_t BackgroundPool::Left() {
  std::lock_guard lock(mutex_);
  return unfinished_ < kSharedThreads ? kSharedThreads - unfinished_ : 0;
}

void BackgroundPool::StartOnThread(std::function<void()> work) {
  work_.push_back(std::move(work));
  if (work_.size() <= idle_) {
    changed_.notify_one();
    return;
  }
  if (threads_ >= kMostThreads) return;  // it waits for one of those
  try {
    std::thread([this] { Loop(); }).detach();  // the destructor waits for threads_ to become 0
    ++threads_;
  } catch (const std::system_error&) {
    // The machine has no thread left: the work waits for one of those that are there.
    if (threads_ > 0) return;
    work_.pop_back();
    throw;
  }
}

void BackgroundPool::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (work_.empty() && !closing_) {
      ++idle_;
      changed_.wait_for(lock, kIdleTime, [this] { return !work_.empty() || closing_; });
      --idle_;
    }
    if (work_.empty()) break;
    {
      std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
    }
    lock.lock();
    --unfinished_;
  }
  --threads_;
  // Under the lock: once it is free the destructor may go on.
  if (threads_ == 0) ended_.notify_all();
}

// Invariants, under mutex: `running` pieces of work run or are about to, `work` holds those that
// wait for one of them to end.
struct ThreadShare::State {
  // A piece of work. Whoever runs it may have only lent itself (WorkCollector): what waits goes on
  // elsewhere. `all` is there for as long as it has work.
  static void Run(const std::shared_ptr<State>& state, BackgroundThreads* all,
                  std::function<void()>& work) {
    for (;;) {
      work();
      work = nullptr;
      std::lock_guard lock(state->mutex);
      if (state->work.empty()) {
        --state->running;
        return;
      }
      try {
        StartOne(state, all, state->work.front());
        state->work.pop_front();
        return;
      } catch (const std::system_error&) {
        // The machine has no thread left but this one.
        work = std::move(state->work.front());
        state->work.pop_front();
      }
    }
  }
  static void StartOne(const std::shared_ptr<State>& state, BackgroundThreads* all,
                       std::function<void()> work) {
    all->Start([state, all, work = std::move(work)]() mutable { Run(state, all, work); });
  }

  std::mutex mutex;
  std::deque<std::function<void()>> work;
  size_t running = 0;
};

std::shared_ptr<ThreadShare::State> ThreadShare::MakeState() { return std::make_shared<State>(); }

void ThreadShare::Start(BackgroundThreads& all, std::function<void()> work) {
  std::lock_guard lock(state_->mutex);
  constexpr size_t kFew = 4;
  if (state_->running < std::max(kFew, all.Left())) {
    State::StartOne(state_, &all, std::move(work));
    ++state_->running;
  } else {
    state_->work.push_back(std::move(work));
  }
}

WorkCollector::WorkCollector() { collector = this; }

WorkCollector::~WorkCollector() {
  HandOver();
  collector = nullptr;
}

void WorkCollector::HandOver() {
  for (Piece& piece : work_) {
    std::lock_guard lock(piece.owner->mutex_);
    piece.owner->StartOnThread(std::move(piece.work));
    if (--piece.owner->collected_ == 0) piece.owner->ended_.notify_all();
  }
  work_.clear();
}

void WorkCollector::Run() {
  if (work_.empty()) return;
  Piece first = std::move(work_.front());
  work_.erase(work_.begin());
  HandOver();
  collector = nullptr;
  first.work();
  first.work = nullptr;
  {
    std::lock_guard lock(first.owner->mutex_);
    --first.owner->unfinished_;
    if (--first.owner->collected_ == 0) first.owner->ended_.notify_all();
  }
  collector = this;
}

}  // namespace carillon
