#include "kernels/queue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/strings.h"

namespace carillon {
namespace {

// An element in its deque, whose blocks hold two, and its components where they need a block of
// their own, which may be twice as large.
int64_t BytesOfElement(size_t components) {
  constexpr int64_t kPlace = sizeof(QueueTuple) + kBlockBytes;
  return kPlace + VectorBytes<Tensor>(components > 2 ? std::max<size_t>(4, components) : 0);
}

int64_t BytesOfList(size_t tuples) { return static_cast<int64_t>(tuples * sizeof(QueueTuple)); }

}  // namespace

struct Queue::Incoming final : Waiter {
  bool closes = false;
  std::vector<QueueTuple> tuples;
  size_t next = 0;         // the first that is not in yet
  int64_t list_bytes = 0;  // counted for `tuples` itself
  Done done;
  void Finish(const Status& status) override { done(status); }
};

struct Queue::Outgoing final : Waiter {
  int64_t wanted = 0;
  bool allow_fewer = false;
  std::vector<QueueTuple> taken;
  int64_t list_bytes = 0;  // counted for `taken` itself
  DequeueDone done;
  void Finish(const Status& status) override {
    done(status, status.ok() ? std::move(taken) : std::vector<QueueTuple>());
  }
};

Queue::Queue(QueueOptions options, Allocator* allocator)
    : options_(std::move(options)),
      element_bytes_(BytesOfElement(options_.types.size())),
      charge_(allocator),
      elements_(MakeQueueElements(options_)) {}

Status Queue::Charge(Incoming& op) {
  return charge_.Add(static_cast<int64_t>(op.tuples.size()) * element_bytes_);
}

Status Queue::ChargeWaiting(Incoming& op) {
  // Elements move out one by one, and the list stays until the last has.
  const int64_t bytes = BytesOfList(op.tuples.capacity());
  CARILLON_RETURN_IF_ERROR(charge_.Add(bytes));
  op.list_bytes = bytes;
  return absl::OkStatus();
}

void Queue::Discharge(Incoming& op) {
  const auto left = static_cast<int64_t>(op.tuples.size() - op.next);
  charge_.Remove(left * element_bytes_ + std::exchange(op.list_bytes, 0));
}

void Queue::Discharge(Outgoing& op) {
  const auto taken = static_cast<int64_t>(op.taken.size());
  charge_.Remove(taken * element_bytes_ + std::exchange(op.list_bytes, 0));
}

Status Queue::ReserveTaken(Outgoing& op, int64_t more) {
  const size_t size = op.taken.size() + static_cast<size_t>(more), before = op.taken.capacity();
  if (size <= before) return absl::OkStatus();
  const size_t room = std::min(std::max(size, 2 * before), static_cast<size_t>(op.wanted));
  constexpr size_t kFew = 16;  // no more than the op itself takes
  if (room > kFew) {
    CARILLON_RETURN_IF_ERROR(charge_.Add(BytesOfList(room)));
    charge_.Remove(std::exchange(op.list_bytes, BytesOfList(room)));
  }
  op.taken.reserve(room);
  return absl::OkStatus();
}

Status Queue::Closed() const {
  return absl::CancelledError(StrCat(options_.KindName(), " '", options_.name, "' is closed."));
}

int64_t Queue::Room() const {
  if (options_.capacity < 0) return std::numeric_limits<int64_t>::max();
  return std::max<int64_t>(0, options_.capacity - elements_->size());
}

int64_t Queue::Available() const {
  return elements_->size() - (closed_ ? 0 : options_.min_after_dequeue);
}

bool Queue::CanFinish(const Incoming& op) const {
  return op.closes || closed_ || Room() >= static_cast<int64_t>(op.tuples.size() - op.next);
}

bool Queue::CanFinish(const Outgoing& op) const { return closed_ || Available() >= op.wanted; }

bool Queue::TryServe(Incoming& op, Status* status, bool* progress) {
  if (op.closes) {
    *status = closed_
                  ? absl::CancelledError(StrCat("Queue '", options_.name, "' is already closed."))
                  : absl::OkStatus();
    closed_ = *progress = true;
    return true;
  }
  if (closed_) {
    *status = Closed();
    Discharge(op);
    return true;
  }
  for (int64_t room = Room(); op.next < op.tuples.size() && room > 0; --room) {
    elements_->Push(std::move(op.tuples[op.next++]));
    *progress = true;
  }
  if (op.next < op.tuples.size()) return false;
  Discharge(op);
  return true;
}

bool Queue::TryServe(Outgoing& op, Status* status, bool* progress) {
  const auto missing = [&] { return op.wanted - static_cast<int64_t>(op.taken.size()); };
  const auto give_back = [&] {
    elements_->Return(std::exchange(op.taken, {}));
    Discharge(op);
  };
  if (closed_ && elements_->size() < missing()) {
    give_back();
    if (!op.allow_fewer || elements_->size() == 0) {
      *status = OutOfRange(options_.KindName(), " '", options_.name,
                           "' is closed and has insufficient elements (requested ", op.wanted,
                           ", current size ", elements_->size(), ")");
      return true;
    }
    op.wanted = elements_->size();
  }
  if (const int64_t more = std::min(missing(), Available()); more > 0) {
    *status = ReserveTaken(op, more);
    *progress = true;
    if (!status->ok()) {
      give_back();
      return true;
    }
    for (int64_t i = 0; i < more; ++i) op.taken.push_back(elements_->Pop());
  }
  if (missing() > 0) return false;
  Discharge(op);
  return true;
}

void Queue::ServeWaiters(Finished* finished) {
  bool progress = true;
  while (progress) {
    progress = false;
    Status status;
    while (!enqueuing_.empty() && TryServe(enqueuing_.front(), &status, &progress)) {
      enqueuing_.FinishFront(std::exchange(status, absl::OkStatus()), finished);
    }
    while (!dequeuing_.empty() && TryServe(dequeuing_.front(), &status, &progress)) {
      dequeuing_.FinishFront(std::exchange(status, absl::OkStatus()), finished);
    }
  }
}

template <typename W>
void Queue::FinishOrWait(WaitList<W> Queue::*list, std::shared_ptr<W> op,
                         Cancellation* cancellation) {
  WaitList<W>& waiters = this->*list;
  {
    // The usual case: nothing to wait for, so nothing to cancel.
    Finished finished;
    std::lock_guard lock(mutex_);
    if (Status status = Charge(*op); !status.ok())
      return finished.Add(std::move(op), std::move(status));
    if (waiters.empty() && CanFinish(*op)) {
      Status status;
      bool progress = false;
      TryServe(*op, &status, &progress);
      finished.Add(std::move(op), std::move(status));
      return ServeWaiters(&finished);
    }
    if (Status status = ChargeWaiting(*op); !status.ok()) {
      Discharge(*op);
      return finished.Add(std::move(op), std::move(status));
    }
  }
  Registration registration;
  const auto cancel = [self = shared_from_this(), op] { self->CancelWaiter(op); };
  if (!Register(cancellation, cancel, &registration)) {
    Finished finished;
    std::lock_guard lock(mutex_);
    Discharge(*op);
    return finished.Add(std::move(op), absl::CancelledError("the step was cancelled"));
  }
  Finished finished;
  std::lock_guard lock(mutex_);
  if (waiters.Add(std::move(op), registration)) ServeWaiters(&finished);
}

void Queue::CancelWaiter(const std::shared_ptr<Incoming>& waiter) {
  Finished finished;
  std::lock_guard lock(mutex_);
  if (!enqueuing_.Cancel(*waiter)) return;
  Discharge(*waiter);
  finished.Add(waiter, absl::CancelledError("Enqueue operation was cancelled"));
  ServeWaiters(&finished);
}

void Queue::CancelWaiter(const std::shared_ptr<Outgoing>& waiter) {
  Finished finished;
  std::lock_guard lock(mutex_);
  if (!dequeuing_.Cancel(*waiter)) return;
  elements_->Return(std::exchange(waiter->taken, {}));
  Discharge(*waiter);
  finished.Add(waiter, absl::CancelledError("Dequeue operation was cancelled"));
  ServeWaiters(&finished);
}

void Queue::Enqueue(std::vector<QueueTuple> tuples, Cancellation* cancellation, Done done) {
  if (tuples.empty()) return done(absl::OkStatus());
  auto op = std::make_shared<Incoming>();
  op->tuples = std::move(tuples);
  op->done = std::move(done);
  FinishOrWait(&Queue::enqueuing_, std::move(op), cancellation);
}

void Queue::Dequeue(int64_t n, bool allow_fewer, Cancellation* cancellation, DequeueDone done) {
  auto op = std::make_shared<Outgoing>();
  op->wanted = n;
  // TensorFlow's priority queues do not know of fewer.
  op->allow_fewer = allow_fewer && options_.kind != QueueKind::kPriority;
  op->done = std::move(done);
  FinishOrWait(&Queue::dequeuing_, std::move(op), cancellation);
}

void Queue::Close(bool cancel_pending_enqueues, Cancellation* cancellation, Done done) {
  if (cancel_pending_enqueues) {
    {
      Finished finished;
      std::lock_guard lock(mutex_);
      closed_ = true;
      while (!enqueuing_.empty()) {
        Discharge(enqueuing_.front());
        enqueuing_.FinishFront(absl::CancelledError("Enqueue operation was cancelled"), &finished);
      }
      ServeWaiters(&finished);
    }
    return done(absl::OkStatus());
  }
  auto op = std::make_shared<Incoming>();
  op->closes = true;
  op->done = std::move(done);
  FinishOrWait(&Queue::enqueuing_, std::move(op), cancellation);
}

void Queue::EnqueueAtOnce(std::vector<QueueTuple> tuples, Finished* finished) {
  std::lock_guard lock(mutex_);
  for (QueueTuple& tuple : tuples) elements_->Push(std::move(tuple));
  ServeWaiters(finished);
}

void Queue::CloseAtOnce(Finished* finished) {
  std::lock_guard lock(mutex_);
  closed_ = true;
  ServeWaiters(finished);
}

bool Queue::IsClosed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

int64_t Queue::Size() const {
  std::lock_guard lock(mutex_);
  return elements_->size();
}

Status Queue::CheckTuple(const QueueTuple& tuple, bool many) const {
  if (tuple.size() != options_.types.size()) {
    return InvalidArgument("Wrong number of components in tuple. Expected ", options_.types.size(),
                           ", got ", tuple.size());
  }
  const int64_t count = many && tuple[0].rank() > 0 ? tuple[0].dim(0) : -1;
  for (size_t i = 0; i < tuple.size(); ++i) {
    if (tuple[i].dtype() != options_.types[i]) {
      return InvalidArgument("component ", i, " of queue '", options_.name, "' is ",
                             DTypeName(options_.types[i]), ", not ", DTypeName(tuple[i].dtype()));
    }
    PartialShape wanted = options_.shapes.empty() ? PartialShape() : options_.shapes[i];
    if (many) {
      if (tuple[i].rank() == 0) {
        return InvalidArgument("Shape mismatch in tuple component ", i,
                               ": there is no first dimension to take elements from");
      }
      if (tuple[i].dim(0) != count) {
        return InvalidArgument("All components must have the same size in the first dimension. ",
                               "Component 0 has ", count, ", and component ", i, " has ",
                               tuple[i].dim(0));
      }
      PartialShape batch;
      if (wanted.has_rank()) {
        std::vector<int64_t> dims = {count};
        dims.insert(dims.end(), wanted.dims().begin(), wanted.dims().end());
        if (!PartialShape::TryMake(dims, &batch)) {
          return InvalidArgument("component ", i, " has too many dimensions for a batch");
        }
      }
      wanted = batch;
    }
    if (!wanted.IsCompatibleWith(tuple[i].shape())) {
      return InvalidArgument("Shape mismatch in tuple component ", i, ". Expected ",
                             wanted.ToString(), ", got ", tuple[i].shape().ToString());
    }
  }
  return absl::OkStatus();
}

}  // namespace carillon
