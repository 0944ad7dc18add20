#include "runtime/cancellation.h"

#include <utility>

#include "base/work_scope.h"

namespace carillon {

void CancellationSource::Cancel(Status reason) {
  const WorkPause pause;  // callbacks are of others, and may need memory
  std::unique_lock lock(mutex_);
  if (cancelled_.load(std::memory_order_relaxed)) return;
  reason_ = std::move(reason);
  cancelled_.store(true, std::memory_order_release);
  runner_ = std::this_thread::get_id();
  while (!callbacks_.empty()) {
    auto callback = callbacks_.extract(callbacks_.begin());
    running_ = callback.key();
    lock.unlock();
    callback.mapped()();
    lock.lock();
    running_ = 0;
    callback_done_.notify_all();
  }
}

Status CancellationSource::reason() const {
  std::lock_guard lock(mutex_);
  return reason_;
}

bool CancellationSource::Register(uint64_t* token, std::function<void()> callback) {
  std::lock_guard lock(mutex_);
  if (cancelled_.load(std::memory_order_relaxed)) return false;
  *token = next_token_++;
  callbacks_.emplace(*token, std::move(callback));
  return true;
}

bool CancellationSource::Deregister(uint64_t token) {
  std::unique_lock lock(mutex_);
  if (callbacks_.erase(token) > 0) return true;
  // A callback that deregisters itself must not wait for its own end.
  if (runner_ != std::this_thread::get_id()) {
    callback_done_.wait(lock, [&] { return running_ != token; });
  }
  return false;
}

}  // namespace carillon
