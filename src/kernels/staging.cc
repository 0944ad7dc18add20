#include "kernels/staging.h"

#include <utility>

#include "base/strings.h"

namespace carillon {
namespace {

int64_t BytesOf(const StagedTuple& tuple) {
  int64_t bytes = 0;
  for (const Tensor& part : tuple) bytes += static_cast<int64_t>(part.num_bytes());
  return bytes;
}

// An entry: the node of its map, and its vector.
int64_t BytesOfEntry(size_t parts) {
  constexpr int64_t kNode = 32 + sizeof(std::pair<int64_t, StagedTuple>) + kBlockBytes;
  return kNode + VectorBytes<Tensor>(parts);
}

}  // namespace

struct StagingArea::Putter final : Waiter {
  std::optional<int64_t> key;    // none: at the end
  std::vector<int32_t> indices;  // with a key: which parts these are
  StagedTuple parts;
  size_t size = 0;       // of the whole tuple
  bool counted = false;  // an entry of that size, for this op
  StageDone done;
  void Finish(const Status& status) override { done(status, {}, 0); }
};

struct StagingArea::Getter final : Waiter {
  Wanted wanted;
  StagedTuple found;
  int64_t key = 0;
  StageDone done;
  void Finish(const Status& status) override { done(status, std::move(found), key); }
};

bool StagingArea::HasRoom(int64_t bytes) const {
  if (limits_.memory_limit > 0 && used_ + bytes > limits_.memory_limit) return false;
  return limits_.capacity <= 0 || static_cast<int64_t>(complete_.size()) < limits_.capacity;
}

void StagingArea::Discharge(Putter& op) {
  if (std::exchange(op.counted, false)) charge_.Remove(BytesOfEntry(op.size));
}

bool StagingArea::TryServe(Putter& op, Status* status) {
  const int64_t bytes = BytesOf(op.parts);
  if (limits_.memory_limit > 0 && bytes > limits_.memory_limit) {
    *status = ResourceExhausted("Attempted to insert tensors with combined size of '", bytes,
                                "' bytes into Staging Area with a memory limit of '",
                                limits_.memory_limit, "'.");
    Discharge(op);
    return true;
  }
  if (!HasRoom(bytes)) return false;
  if (!op.key.has_value()) {
    used_ += bytes;
    complete_.emplace(next_key_++, std::move(op.parts));
    op.counted = false;
    return true;
  }
  if (complete_.contains(*op.key)) return false;
  const auto [entry, is_new] = incomplete_.try_emplace(*op.key);
  StagedTuple& tuple = entry->second;
  if (is_new) {
    tuple.resize(op.size);
    op.counted = false;
  }
  Discharge(op);
  if (tuple.size() != op.size) {
    *status = InvalidArgument("The tuple under key '", *op.key, "' has ", tuple.size(),
                              " parts, not ", op.size);
    return true;
  }
  for (const int32_t index : op.indices) {
    if (tuple[static_cast<size_t>(index)].has_value()) {
      *status = InvalidArgument("The tensor for index '", index, "' for key '", *op.key,
                                "' was already initialized");
      return true;
    }
  }
  used_ += bytes;
  for (size_t i = 0; i < op.indices.size(); ++i)
    tuple[static_cast<size_t>(op.indices[i])] = std::move(op.parts[i]);
  for (const Tensor& part : tuple) {
    if (!part.has_value()) return true;
  }
  complete_.insert(incomplete_.extract(*op.key));
  return true;
}

bool StagingArea::TryServe(Getter& op, Status* status) {
  const Wanted& wanted = op.wanted;
  auto entry = complete_.begin();
  if (wanted.key.has_value()) {
    entry = complete_.find(*wanted.key);
  } else if (wanted.position.has_value()) {
    if (*wanted.position >= static_cast<int64_t>(complete_.size())) return false;
    std::advance(entry, *wanted.position);
  }
  if (entry == complete_.end()) return false;
  op.key = entry->first;
  StagedTuple& tuple = entry->second;
  if (!wanted.indices.has_value()) {
    op.found = tuple;
  } else {
    for (const int32_t index : *wanted.indices) {
      if (index < 0 || static_cast<size_t>(index) >= tuple.size() ||
          !tuple[static_cast<size_t>(index)].has_value()) {
        *status = InvalidArgument("the tuple under key ", op.key, " has no part ", index,
                                  ", or it was taken before");
        return true;
      }
      op.found.push_back(tuple[static_cast<size_t>(index)]);
    }
  }
  if (wanted.peek) return true;
  bool left = false;
  if (!wanted.indices.has_value()) {
    used_ -= BytesOf(op.found);
  } else {
    // An index may be named twice.
    for (const int32_t index : *wanted.indices) {
      Tensor& part = tuple[static_cast<size_t>(index)];
      if (part.has_value()) used_ -= static_cast<int64_t>(part.num_bytes());
      part = Tensor();
    }
    for (const Tensor& part : tuple) left |= part.has_value();
  }
  if (left) return true;
  charge_.Remove(BytesOfEntry(tuple.size()));
  complete_.erase(entry);
  return true;
}

void StagingArea::Serve(Finished* finished) {
  // What one puts another may wait for, and the other way round.
  bool progress = true;
  while (progress) {
    progress = false;
    const auto serve = [&](auto& op, Status* status) {
      const bool served = TryServe(op, status);
      progress |= served;
      return served;
    };
    putters_.FinishWhere(serve, finished);
    getters_.FinishWhere(serve, finished);
  }
}

template <typename W>
void StagingArea::Wait(WaitList<W> StagingArea::*list, std::shared_ptr<W> op,
                       Cancellation* cancellation) {
  Registration registration;
  const auto cancel = [self = shared_from_this(), list, op] { self->CancelWaiter(list, op); };
  const bool registered = Register(cancellation, cancel, &registration);
  Finished finished;
  std::lock_guard lock(mutex_);
  if (!registered) {
    Discharge(*op);
    return finished.Add(std::move(op), absl::CancelledError("the step was cancelled"));
  }
  if (!(this->*list).Add(std::move(op), registration)) return;
  // Nobody else can go on unless this one does.
  const auto serve = [&](W& one, Status* status) { return TryServe(one, status); };
  if ((this->*list).FinishLast(serve, &finished)) Serve(&finished);
}

template <typename W>
void StagingArea::CancelWaiter(WaitList<W> StagingArea::*list, const std::shared_ptr<W>& op) {
  Finished finished;
  std::lock_guard lock(mutex_);
  if (!(this->*list).Cancel(*op)) return;
  Discharge(*op);
  finished.Add(op,
               absl::CancelledError("the step was cancelled while it waited on a staging area"));
}

void StagingArea::WaitToPut(std::shared_ptr<Putter> op, Cancellation* cancellation) {
  {
    Finished finished;
    std::lock_guard lock(mutex_);
    Status status = charge_.Add(BytesOfEntry(op->size));
    if (!status.ok()) return finished.Add(std::move(op), std::move(status));
    op->counted = true;
  }
  Wait(&StagingArea::putters_, std::move(op), cancellation);
}

void StagingArea::Put(StagedTuple tuple, Cancellation* cancellation, StageDone done) {
  auto op = std::make_shared<Putter>();
  op->parts = std::move(tuple);
  op->size = op->parts.size();
  op->done = std::move(done);
  WaitToPut(std::move(op), cancellation);
}

void StagingArea::PutParts(int64_t key, std::vector<int32_t> indices, StagedTuple parts,
                           size_t size, Cancellation* cancellation, StageDone done) {
  auto op = std::make_shared<Putter>();
  op->key = key;
  op->indices = std::move(indices);
  op->parts = std::move(parts);
  op->size = size;
  op->done = std::move(done);
  WaitToPut(std::move(op), cancellation);
}

void StagingArea::Get(Wanted wanted, Cancellation* cancellation, StageDone done) {
  auto op = std::make_shared<Getter>();
  op->wanted = std::move(wanted);
  op->done = std::move(done);
  Wait(&StagingArea::getters_, std::move(op), cancellation);
}

int64_t StagingArea::Size() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(complete_.size());
}

int64_t StagingArea::IncompleteSize() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(incomplete_.size());
}

void StagingArea::Clear() {
  Finished finished;
  std::lock_guard lock(mutex_);
  for (const auto* entries : {&complete_, &incomplete_}) {
    for (const auto& [key, tuple] : *entries) charge_.Remove(BytesOfEntry(tuple.size()));
  }
  complete_.clear();
  incomplete_.clear();
  used_ = 0;
  Serve(&finished);
}

}  // namespace carillon
