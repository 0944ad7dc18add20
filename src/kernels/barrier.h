// Barrier: the resource behind Barrier. Tuples whose components come in one by one, under a key.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/queue.h"

namespace carillon {

// Invariants, under mutex_: a key is in incomplete_ as long as components are missing, then its
// tuple is in ready_, with the time of its first component and the key before it; ready_ is closed
// once the barrier is and nothing is incomplete; charge_ counts BytesOf each key until its tuple is
// taken.
class Barrier final : public Resource, public std::enable_shared_from_this<Barrier> {
 public:
  // What keys and tuples take besides the tensors in them counts against the limit of `allocator`;
  // null: not.
  Barrier(std::string name, std::vector<DType> types, std::vector<PartialShape> shapes,
          Allocator* allocator = nullptr);
  const std::vector<DType>& types() const { return types_; }
  const std::vector<PartialShape>& shapes() const { return shapes_; }
  const std::string& name() const { return name_; }

  // Sets one component of each key. InvalidArgument for a component that is there already,
  // Cancelled for a new key when the barrier is closed, ResourceExhausted when there is no memory
  // for the new keys: then nothing is set.
  Status Insert(const std::vector<std::string>& keys, std::vector<Tensor> values,
                int64_t component);
  // Takes n complete tuples, (int64 time, key, components…) each, those that began first. Waits
  // while there are fewer. Once closed: as many as there are when `allow_fewer`; OutOfRange when
  // there never will be enough.
  void Take(int64_t n, bool allow_fewer, Cancellation* cancellation, Queue::DequeueDone done);
  // No new keys; `cancel_pending`: nor components of those that are incomplete.
  Status Close(bool cancel_pending);
  int64_t ReadySize() const { return ready_->Size(); }
  int64_t IncompleteSize() const;

  std::string DebugString() const override { return "Barrier"; }

 private:
  struct Entry {
    QueueTuple tuple;
    size_t missing = 0;
  };
  void CloseReadyIfDone(Finished* finished);
  int64_t BytesOf(const std::string& key) const;

  const std::string name_;
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  const std::shared_ptr<Queue> ready_;
  mutable std::mutex mutex_;
  MemoryCharge charge_;
  std::map<std::string, Entry> incomplete_;
  int64_t next_time_ = INT64_MIN;
  bool closed_ = false;
  bool cancelled_ = false;
};

}  // namespace carillon
