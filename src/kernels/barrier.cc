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

Barrier::Barrier(std::string name, std::vector<DType> types, std::vector<PartialShape> shapes)
    : name_(std::move(name)),
      types_(std::move(types)),
      shapes_(std::move(shapes)),
      ready_(MakeReadyQueue(name_, types_, shapes_)) {}

Status Barrier::Insert(const std::vector<std::string>& keys, std::vector<Tensor> values,
                       int64_t component) {
  std::lock_guard lock(mutex_);
  if (cancelled_) {
    return absl::CancelledError(StrCat("Barrier ", name_,
                                       " is closed. Pending enqueues are "
                                       "cancelled."));
  }
  const size_t at = static_cast<size_t>(component) + 2;
  std::set<std::string_view> seen;
  for (const std::string& key : keys) {
    const auto found = incomplete_.find(key);
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
  // Never waits: there is no capacity.
  ready_->Enqueue(std::move(complete), nullptr, [](const Status&) {});
  CloseReadyIfDone();
  return absl::OkStatus();
}

void Barrier::CloseReadyIfDone() {
  if (closed_ && incomplete_.empty()) ready_->Close(true, nullptr, [](const Status&) {});
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
  ready_->Dequeue(n, false, cancellation, std::move(done));
}

Status Barrier::Close(bool cancel_pending) {
  std::lock_guard lock(mutex_);
  if (cancelled_ || (closed_ && !cancel_pending)) {
    return absl::CancelledError(StrCat("Barrier '", name_, "' is already closed."));
  }
  closed_ = true;
  if (cancel_pending) {
    cancelled_ = true;
    incomplete_.clear();
  }
  CloseReadyIfDone();
  return absl::OkStatus();
}

int64_t Barrier::IncompleteSize() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(incomplete_.size());
}

}  // namespace carillon
