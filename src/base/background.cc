#include "base/background.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace carillon {
namespace {

constexpr std::chrono::seconds kIdleTime{10};

thread_local WorkCollector* collector = nullptr;

}  // namespace

BackgroundThreads::~BackgroundThreads() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
  ended_.wait(lock, [this] { return threads_ == 0 && collected_ == 0; });
}

void BackgroundThreads::Start(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  if (collector == nullptr) return StartOnThread(std::move(work));
  ++collected_;
  collector->work_.push_back({this, std::move(work)});
}

void BackgroundThreads::StartOnThread(std::function<void()> work) {
  work_.push_back(std::move(work));
  if (work_.size() <= idle_) {
    changed_.notify_one();
    return;
  }
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

void BackgroundThreads::Loop() {
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
  }
  --threads_;
  // Under the lock: once it is free the destructor may go on.
  if (threads_ == 0) ended_.notify_all();
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
    if (--first.owner->collected_ == 0) first.owner->ended_.notify_all();
  }
  collector = this;
}

}  // namespace carillon
