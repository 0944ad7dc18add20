// Where the parts of one step hand tensors to each other: StepRendezvous, what executors know of
// it, and LocalRendezvous, for parts in this process.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "kernels/services.h"

namespace carillon {

// May hold back what was sent, so that it travels with more, until Flush. Executors call that
// before they wait, before something that takes long, and at the end.
class StepRendezvous : public Rendezvous, public std::enable_shared_from_this<StepRendezvous> {
 public:
  virtual void Flush() {}
  // Ends every wait, now and later, with `reason`. The first call counts.
  virtual void Abort(const Status& reason) = 0;
};

// Invariants, under mutex_: for a key either values or waiters are queued, never both; once
// aborted_ is not OK nothing is queued any more, and every call is answered with it. Callbacks run
// without the lock.
class LocalRendezvous final : public StepRendezvous {
 public:
  Status Send(const std::string& key, Tensor value, bool is_dead) override;
  void ReceiveAsync(const std::string& key, Receive done) override;
  void Abort(const Status& reason) override;
  // Nothing will be sent any more: waits for what was not end with `reason`, now and later.
  void EndSending(const Status& reason);

 private:
  struct Value {
    Tensor tensor;
    bool is_dead;
  };
  struct Meeting {
    std::deque<Value> values;
    std::deque<Receive> waiters;
  };
  std::mutex mutex_;
  std::unordered_map<std::string, Meeting> meetings_;
  Status aborted_;
  Status sending_ended_;
};

}  // namespace carillon
