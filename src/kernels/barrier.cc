#include "kernels/barrier.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace carillon {
namespace {

std::shared_ptr<Queue> MakeReadyQueue(const std::string& name, std::vector<DType> types,
                                      std::vector<PartialShape> shapes) {
  types.insert(types.begin(), {DType::kInt64, DType::kString});
  shapes.insert(shapes.begin(), {Shape{}, Shape{}});
  return std::make_shared<Queue>(QueueOptions{.kind = QueueKind::kPriority,
                                              .name = name,
                                              .types = std::move(types),
                                              .shapes = std::move(shapes)});
}

}  // namespace

Barrier::Barrier(std::string name, std::vector<DType> types, std::vector<PartialShape> shapes,
                 Allocator* allocator)
    : name_(std::move(name)),
      types_(std::move(types)),
      shapes_(std::move(shapes)),
      ready_(MakeReadyQueue(name_, types_, shapes_)),
      charge_(allocator) {}

// A node of incomplete_, then a place in ready_ and in the list of who takes it; the components;
// the time and the key as tensors; and the text of the key in the node and in the tensor.
int64_t Barrier::BytesOf(const std::string& key) const {
  constexpr int64_t kNode = 32 + sizeof(std::string) + sizeof(Entry) + kBlockBytes;
  constexpr int64_t kPlaces = 2 * sizeof(QueueTuple), kTensors = 2 * (64 + 64 + kBlockBytes);
  return kNode + kPlaces + VectorBytes<Tensor>(std::max<size_t>(4, types_.size() + 2)) + kTensors +
         2 * (static_cast<int64_t>(key.size()) + kBlockBytes);
}

Status Barrier::Insert(const std::vector<std::string>& keys, std::vector<Tensor> values,
                       int64_t component) {
  Finished finished;
  std::lock_guard lock(mutex_);
  if (cancelled_) {
    return absl::CancelledError(StrCat("Barrier ", name_,
                                       " is closed. Pending enqueues are "
                                       "cancelled."));
  }
  const size_t at = static_cast<size_t>(component) + 2;
  std::set<std::string_view> seen;
  int64_t bytes = 0;
  for (const std::string& key : keys) {
    const auto found = incomplete_.find(key);
    if (found == incomplete_.end()) bytes += BytesOf(key);
    if (closed_ && found == incomplete_.end()) {
      return absl::CancelledError(StrCat("Barrier ", name_,
                                         " is closed, but attempted to insert a "
                                         "brand new key: ",
                                         key, ". Pending enqueues cancelled: 0."));
    }
    if (!seen.insert(key).second ||
        (found != incomplete_.end() && found->second.tuple[at].has_value())) {
      return InvalidArgument("Key ", key, " already has a value for component ", component,
                             " in barrier ", name_);
    }
  }
  CARILLON_RETURN_IF_ERROR(charge_.Add(bytes));
  const int64_t time = next_time_;
  std::vector<QueueTuple> complete;
  for (size_t i = 0; i < keys.size(); ++i) {
    Entry& entry = incomplete_[keys[i]];
    if (entry.tuple.empty()) {
      entry.tuple.resize(types_.size() + 2);
      entry.tuple[0] = Tensor::Scalar(time);
      entry.tuple[1] = Tensor::Scalar(keys[i]);
      entry.missing = types_.size();
      next_time_ = time + 1;
    }
    entry.tuple[at] = std::move(values[i]);
    if (--entry.missing > 0) continue;
    complete.push_back(std::move(entry.tuple));
    incomplete_.erase(keys[i]);
  }
  ready_->EnqueueAtOnce(std::move(complete), &finished);
  CloseReadyIfDone(&finished);
  return absl::OkStatus();
}

void Barrier::CloseReadyIfDone(Finished* finished) {
  if (closed_ && incomplete_.empty()) ready_->CloseAtOnce(finished);
}

void Barrier::Take(int64_t n, bool allow_fewer, Cancellation* cancellation,
                   Queue::DequeueDone done) {
  {
    std::unique_lock lock(mutex_);
    if (closed_) {
      const int64_t ready = ready_->Size();
      const auto incomplete = static_cast<int64_t>(incomplete_.size());
      if (allow_fewer) n = std::min(n, ready);
      if (n == 0 || n > ready + incomplete) {
        lock.unlock();
        return done(OutOfRange("Barrier '", name_,
                               "' is closed and has insufficient elements "
                               "(requested ",
                               n, ", total size ", ready + incomplete, ")"),
                    {});
      }
    }
  }
  const auto taken = [self = shared_from_this(), done = std::move(done)](
                         const Status& status, std::vector<QueueTuple> tuples) {
    {
      std::lock_guard lock(self->mutex_);
      int64_t bytes = 0;
      for (const QueueTuple& tuple : tuples) bytes += self->BytesOf(tuple[1].scalar<std::string>());
      self->charge_.Remove(bytes);
    }
    done(status, std::move(tuples));
  };
  ready_->Dequeue(n, false, cancellation, taken);
}

Status Barrier::Close(bool cancel_pending) {
  Finished finished;
  std::lock_guard lock(mutex_);
  if (cancelled_ || (closed_ && !cancel_pending)) {
    return absl::CancelledError(StrCat("Barrier '", name_, "' is already closed."));
  }
  closed_ = true;
  if (cancel_pending) {
    cancelled_ = true;
    for (const auto& [key, entry] : incomplete_) charge_.Remove(BytesOf(key));
    incomplete_.clear();
  }
  CloseReadyIfDone(&finished);
  return absl::OkStatus();
}

int64_t Barrier::IncompleteSize() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(incomplete_.size());
}

}  // namespace carillon
