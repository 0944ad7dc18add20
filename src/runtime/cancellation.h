// CancellationSource: what a step's owner cancels.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "kernels/services.h"

namespace carillon {

// Invariants, under mutex_: callbacks_ holds what was registered and neither ran nor was
// deregistered; running_ is the callback that Cancel is inside of.
class CancellationSource final : public Cancellation {
 public:
  // Runs the callbacks, on this thread. The first call decides the reason; later ones do nothing.
  void Cancel(Status reason);
  // OK until cancelled.
  Status reason() const;

  bool IsCancelled() const override { return cancelled_.load(std::memory_order_acquire); }
  bool Register(uint64_t* token, std::function<void()> callback) override;
  bool Deregister(uint64_t token) override;

 private:
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;
  std::condition_variable callback_done_;
  std::map<uint64_t, std::function<void()>> callbacks_;
  uint64_t running_ = 0;
  std::thread::id runner_;
  uint64_t next_token_ = 1;
  Status reason_;
};

}  // namespace carillon
