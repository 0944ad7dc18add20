#include "kernels/dataset.h"

#include "base/work_scope.h"

namespace carillon {

std::shared_ptr<CallableFunction> IteratorFunctions::Find(
    const std::shared_ptr<CallableFunction>& function) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<CallableFunction>& own = functions_[function];
  if (own == nullptr) {
    auto* renewable = dynamic_cast<RenewableFunction*>(function.get());
    own = renewable == nullptr ? function : renewable->WithFreshState();
  }
  return own;
}

void StopSignal::Stop() {
  const WorkPause pause;  // destructors stop, and callbacks may need memory
  std::unique_lock lock(mutex_);
  stopped_ = true;
  running_ = true;
  while (!callbacks_.empty()) {
    const std::function<void()> callback = std::move(callbacks_.begin()->second);
    callbacks_.erase(callbacks_.begin());
    lock.unlock();
    callback();
    lock.lock();
  }
  running_ = false;
  callback_done_.notify_all();
}

bool StopSignal::Register(uint64_t* token, std::function<void()> callback) {
  std::lock_guard lock(mutex_);
  if (stopped_) return false;
  *token = next_token_++;
  callbacks_.emplace(*token, std::move(callback));
  return true;
}

bool StopSignal::Deregister(uint64_t token) {
  std::unique_lock lock(mutex_);
  if (callbacks_.erase(token) > 0) return true;
  callback_done_.wait(lock, [this] { return !running_; });
  return false;
}

}  // namespace carillon
