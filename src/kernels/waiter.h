// What resources share on which ops wait: queues, accumulators, barriers, staging areas.
//
// How an op waits on a resource with a lock, without holding a thread:
//
//   Registration registration;
//   if (!Register(cancellation, [=] { resource->Cancel(waiter); }, &registration)) …cancelled
//   already Finished finished; std::lock_guard lock(mutex_); if (!waiting_.Add(waiter,
//   registration)) return;    // Cancel has run …whatever may now be able to go on:
//   waiting_.FinishFront(status, &finished);
//
//   void Cancel(waiter) {
//     Finished finished;
//     std::lock_guard lock(mutex_);
//     if (waiting_.Cancel(*waiter)) finished.Add(waiter, absl::CancelledError(…));
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/work_scope.h"
#include "kernels/services.h"

namespace carillon {

// That a callback is to run when a step is cancelled.
struct Registration {
  Cancellation* cancellation = nullptr;
  uint64_t token = 0;
};
// False when the step is cancelled already: `cancel` will not run. Not to be called under a lock
// that `cancel` takes.
inline bool Register(Cancellation* cancellation, std::function<void()> cancel,
                     Registration* registration) {
  registration->cancellation = cancellation;
  return cancellation == nullptr || cancellation->Register(&registration->token, std::move(cancel));
}

// One op that waits.
class Waiter {
 public:
  virtual ~Waiter() = default;
  // Called exactly once, under no lock, by whoever ends the wait.
  virtual void Finish(const Status& status) = 0;

 private:
  template <typename W>
  friend class WaitList;
  friend class Finished;
  // Under the resource's lock until the wait is over.
  Registration registration_;
  uint64_t number_ = 0;  // in its list; 0: not there
  bool over_ = false;
};

// Waiters whose wait ended while the resource's lock was held, and who are told when this goes out
// of scope: to be made before the lock is taken. As long as it lives the thread's WorkScope pauses:
// what changes under the lock does so completely, and what those who are told do is not the
// thread's own work.
class Finished {
 public:
  Finished() = default;
  Finished(const Finished&) = delete;
  Finished& operator=(const Finished&) = delete;
  ~Finished() {
    for (auto& [waiter, status] : waiters_) {
      // The step may be gone after Finish, so its cancellation must not be heard of any more.
      const auto [cancellation, token] = waiter->registration_;
      if (cancellation != nullptr) cancellation->Deregister(token);
      waiter->Finish(status);
    }
  }
  void Add(std::shared_ptr<Waiter> waiter, Status status) {
    waiter->over_ = true;
    waiters_.emplace_back(std::move(waiter), std::move(status));
  }

 private:
  const WorkPause pause_;
  std::vector<std::pair<std::shared_ptr<Waiter>, Status>> waiters_;
};

// Waiters in the order in which they came. Guarded by the resource's lock.
template <typename W>
class WaitList {
 public:
  bool empty() const { return waiters_.empty(); }
  W& front() const { return *waiters_.begin()->second; }

  // False when the step was cancelled meanwhile: then the waiter has been finished, or is about to.
  bool Add(std::shared_ptr<W> waiter, const Registration& registration) {
    if (waiter->over_) return false;
    waiter->registration_ = registration;
    waiter->number_ = ++added_;
    waiters_.emplace_hint(waiters_.end(), added_, std::move(waiter));
    return true;
  }
  void FinishFront(Status status, Finished* finished) {
    finished->Add(std::move(waiters_.extract(waiters_.begin()).mapped()), std::move(status));
  }
  // Ends the wait of the one that was added last if `try_serve(waiter, &status)` is true.
  template <typename TryServe>
  bool FinishLast(TryServe try_serve, Finished* finished) {
    const auto last = std::prev(waiters_.end());
    Status status;
    if (!try_serve(*last->second, &status)) return false;
    finished->Add(std::move(waiters_.extract(last).mapped()), std::move(status));
    return true;
  }
  // Ends the wait of each for whom `try_serve(waiter, &status)` is true.
  template <typename TryServe>
  void FinishWhere(TryServe try_serve, Finished* finished) {
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
      Status status;
      const auto next = std::next(waiter);
      if (try_serve(*waiter->second, &status))
        finished->Add(std::move(waiters_.extract(waiter).mapped()), std::move(status));
      waiter = next;
    }
  }
  void FinishAll(const Status& status, Finished* finished) {
    while (!waiters_.empty()) FinishFront(status, finished);
  }
  // Takes the waiter out because its step was cancelled. False when its wait was over before.
  bool Cancel(W& waiter) {
    if (waiter.over_) return false;
    waiter.registration_ = {};
    waiters_.erase(waiter.number_);
    return true;
  }

 private:
  std::map<uint64_t, std::shared_ptr<W>> waiters_;  // by their numbers
  uint64_t added_ = 0;
};

}  // namespace carillon
