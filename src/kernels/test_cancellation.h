// A Cancellation that tests cancel by hand.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "kernels/services.h"

namespace carillon {

// Callbacks run under no lock, on the thread that cancels. Deregister does not wait for one that
// runs: good enough for resources, whose callbacks own what they need.
class TestCancellation final : public Cancellation {
 public:
  void Cancel() {
    std::map<uint64_t, std::function<void()>> callbacks;
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
      callbacks.swap(callbacks_);
    }
    for (auto& [token, callback] : callbacks) callback();
  }
  size_t registered() const {
    std::lock_guard lock(mutex_);
    return callbacks_.size();
  }

  bool IsCancelled() const override {
    std::lock_guard lock(mutex_);
    return cancelled_;
  }
  bool Register(uint64_t* token, std::function<void()> callback) override {
    std::lock_guard lock(mutex_);
    if (cancelled_) return false;
    *token = next_++;
    callbacks_.emplace(*token, std::move(callback));
    return true;
  }
  bool Deregister(uint64_t token) override {
    std::lock_guard lock(mutex_);
    return callbacks_.erase(token) > 0;
  }

 private:
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  uint64_t next_ = 1;
  std::map<uint64_t, std::function<void()>> callbacks_;
};

}  // namespace carillon
