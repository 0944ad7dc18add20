// Queue: the resource behind FIFOQueue, RandomShuffleQueue, PaddingFIFOQueue and PriorityQueue.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/status.h"
#include "carillon/shape.h"
#include "carillon/tensor.h"
#include "kernels/services.h"
#include "kernels/waiter.h"
#include "tensor/memory_charge.h"
#include "tensor/object.h"

namespace carillon {

// One element of a queue: a tensor for each component.
using QueueTuple = absl::InlinedVector<Tensor, 2>;

enum class QueueKind { kFifo, kRandomShuffle, kPaddingFifo, kPriority };

struct QueueOptions {
  QueueKind kind = QueueKind::kFifo;
  std::string name;  // for messages
  std::vector<DType> types;
  // One for each component, or none: then elements may have any shape, and only single ones can be
  // taken. Dimensions may be unknown in a padding queue alone.
  std::vector<PartialShape> shapes;
  int64_t capacity = -1;          // negative: no limit
  int64_t min_after_dequeue = 0;  // of a shuffling queue: how many stay behind while it is open
  uint64_t seed = 0, seed2 = 0;   // of a shuffling queue; from entropy when both are 0

  // "FIFOQueue", …
  const char* KindName() const;
  // InvalidArgument when a queue cannot be like this.
  Status Check() const;
  // InvalidArgument when nodes of one name ask for queues that differ.
  Status CheckSameAs(const QueueOptions& existing) const;
};

// The elements of one kind of queue: which comes out next.
class QueueElements {
 public:
  virtual ~QueueElements() = default;
  virtual int64_t size() const = 0;
  virtual void Push(QueueTuple tuple) = 0;
  virtual QueueTuple Pop() = 0;  // size() > 0
  // Gives back what was popped last, in the order in which it was popped.
  virtual void Return(std::vector<QueueTuple> tuples) = 0;
};
std::unique_ptr<QueueElements> MakeQueueElements(const QueueOptions& options);

// Ops that cannot go on wait without a thread, and are served in the order in which they came,
// those that enqueue and those that dequeue each among themselves. Callbacks run under no lock, on
// whichever thread made the op able to finish, at once if it need not wait. `cancellation` may be
// null, else it lives until the callback.
//
// Invariants, under mutex_ whenever it is released:
//   1. the first of each list of waiters cannot go on: there is no room, or there are too few
//      elements;
//   2. only the first of dequeuing_ has taken elements; they are given back when it is cancelled,
//      or the queue closed and the rest cannot come;
//   3. once closed_, enqueuing_ is empty, and so is dequeuing_;
//   4. charge_ counts the elements that are in the queue, wait to get in or have been taken by the
//      first of dequeuing_, and the lists that those who wait hold them in.
class Queue final : public Resource, public std::enable_shared_from_this<Queue> {
 public:
  using Done = std::function<void(const Status& status)>;
  using DequeueDone = std::function<void(const Status& status, std::vector<QueueTuple> tuples)>;

  // What elements take besides their tensors counts against the limit of `allocator`; null: not.
  explicit Queue(QueueOptions options, Allocator* allocator = nullptr);
  const QueueOptions& options() const { return options_; }

  // InvalidArgument when a component has another dtype or shape; `many`: there is a first dimension
  // that counts elements, the same for all.
  Status CheckTuple(const QueueTuple& tuple, bool many) const;

  // Adds elements one after the other as there is room, so that some may be in when the op is
  // cancelled. The tuples have been checked and are no step memory. Cancelled when the queue is
  // closed, or closed with cancel_pending_enqueues meanwhile. ResourceExhausted, with none added,
  // when there is no memory for all.
  void Enqueue(std::vector<QueueTuple> tuples, Cancellation* cancellation, Done done);
  // Takes n > 0 elements, or none. OutOfRange when the queue is closed and has fewer; if
  // `allow_fewer`, only when it has none. ResourceExhausted when there is no memory to hold them.
  void Dequeue(int64_t n, bool allow_fewer, Cancellation* cancellation, DequeueDone done);
  // Closes the queue once those that are enqueuing are done, or cancels them. Elements can still be
  // taken. Cancelled when it is closed already.
  void Close(bool cancel_pending_enqueues, Cancellation* cancellation, Done done);
  bool IsClosed() const;
  int64_t Size() const;

  // For who holds a lock, under which nobody may be told: `finished` does it later. The queue is
  // open, counts nothing and has no limit.
  void EnqueueAtOnce(std::vector<QueueTuple> tuples, Finished* finished);
  void CloseAtOnce(Finished* finished);

  std::string DebugString() const override { return options_.KindName(); }

 private:
  struct Incoming;  // enqueues, or closes
  struct Outgoing;

  template <typename W>
  void FinishOrWait(WaitList<W> Queue::*list, std::shared_ptr<W> op, Cancellation* cancellation);
  void CancelWaiter(const std::shared_ptr<Incoming>& waiter);
  void CancelWaiter(const std::shared_ptr<Outgoing>& waiter);

  // Each under mutex_. Charge counts what an op brings, ChargeWaiting what it takes to wait, and
  // Discharge what of that is not in the queue, or is no longer. TryServe does what can be done;
  // true when the op is over, with *status, and has been discharged. CanFinish: whether that would
  // be so.
  Status Charge(Incoming& op);
  Status Charge(Outgoing&) { return absl::OkStatus(); }
  Status ChargeWaiting(Incoming& op);
  Status ChargeWaiting(Outgoing&) { return absl::OkStatus(); }
  void Discharge(Incoming& op);
  void Discharge(Outgoing& op);
  Status ReserveTaken(Outgoing& op, int64_t more);
  bool TryServe(Incoming& op, Status* status, bool* progress);
  bool TryServe(Outgoing& op, Status* status, bool* progress);
  bool CanFinish(const Incoming& op) const;
  bool CanFinish(const Outgoing& op) const;
  void ServeWaiters(Finished* finished);
  int64_t Room() const;
  int64_t Available() const;
  Status Closed() const;

  const QueueOptions options_;
  const int64_t element_bytes_;  // what an element takes besides its tensors
  mutable std::mutex mutex_;
  MemoryCharge charge_;
  const std::unique_ptr<QueueElements> elements_;
  bool closed_ = false;
  WaitList<Incoming> enqueuing_;
  WaitList<Outgoing> dequeuing_;
};

}  // namespace carillon
