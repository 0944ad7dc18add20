// StagingArea and MapStagingArea: the resources behind Stage and MapStage.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "carillon/tensor.h"
#include "kernels/services.h"
#include "kernels/waiter.h"
#include "tensor/memory_charge.h"
#include "tensor/object.h"

namespace carillon {

struct StagingLimits {
  int64_t capacity = 0;      // tuples; 0: no limit
  int64_t memory_limit = 0;  // bytes; 0: no limit
};

using StagedTuple = std::vector<Tensor>;
// Callbacks run under no lock, on whichever thread made the op able to finish.
using StageDone = std::function<void(const Status& status, StagedTuple tuple, int64_t key)>;

// Tuples under keys, or in the order in which they came: there the keys count up. Ops that cannot
// go on wait without a thread.
//
// Invariants, under mutex_ whenever it is released: used_ is the bytes of all tensors in the area;
// nobody who waits could go on; charge_ counts what tuples in the area, and those that wait for
// room, take besides their tensors.
class StagingArea final : public Resource, public std::enable_shared_from_this<StagingArea> {
 public:
  // What tuples take besides their tensors counts against the limit of `allocator`; null: not.
  explicit StagingArea(StagingLimits limits, Allocator* allocator = nullptr)
      : limits_(limits), charge_(allocator) {}

  // Adds a tuple at the end, once there is room. ResourceExhausted when it can never fit, or there
  // is no memory for it.
  void Put(StagedTuple tuple, Cancellation* cancellation, StageDone done);
  // Sets the parts `indices` of the tuple of `size` parts under `key`. InvalidArgument for a part
  // that is set already. A key that is complete is waited for to be taken.
  void PutParts(int64_t key, std::vector<int32_t> indices, StagedTuple parts, size_t size,
                Cancellation* cancellation, StageDone done);

  // Waits for the tuple: the oldest (or that of the smallest key), the one at `position`, or the
  // one under `key`. Takes it, or its parts `indices`; or only looks when `peek`.
  struct Wanted {
    std::optional<int64_t> key, position;
    std::optional<std::vector<int32_t>> indices;
    bool peek = false;
  };
  void Get(Wanted wanted, Cancellation* cancellation, StageDone done);

  int64_t Size() const;            // complete tuples
  int64_t IncompleteSize() const;  // the others
  void Clear();

  std::string DebugString() const override { return "StagingArea"; }

 private:
  struct Putter;
  struct Getter;
  void WaitToPut(std::shared_ptr<Putter> op, Cancellation* cancellation);
  template <typename W>
  void Wait(WaitList<W> StagingArea::*list, std::shared_ptr<W> op, Cancellation* cancellation);
  template <typename W>
  void CancelWaiter(WaitList<W> StagingArea::*list, const std::shared_ptr<W>& op);
  // All under mutex_. What a putter brought stays counted with the entry that it made.
  void Discharge(Putter& op);
  void Discharge(Getter&) {}
  bool TryServe(Putter& op, Status* status);
  bool TryServe(Getter& op, Status* status);
  void Serve(Finished* finished);
  bool HasRoom(int64_t bytes) const;

  const StagingLimits limits_;
  mutable std::mutex mutex_;
  MemoryCharge charge_;
  std::map<int64_t, StagedTuple> complete_, incomplete_;
  int64_t next_key_ = 0;
  int64_t used_ = 0;
  WaitList<Putter> putters_;
  WaitList<Getter> getters_;
};

}  // namespace carillon
