#include "kernels/accumulator.h"

#include <utility>

#include "base/logging.h"
#include "base/strings.h"

namespace carillon {

struct Accumulator::Taker final : Waiter {
  int64_t required = 0;
  Allocator* allocator = nullptr;
  AccumulatedGradient taken;
  TakeDone done;
  void Finish(const Status& status) override { done(status, std::move(taken)); }
};

Status Accumulator::Apply(int64_t local_step, AccumulatedGradient gradient, Allocator* allocator) {
  Finished finished;
  std::lock_guard lock(mutex_);
  if (local_step < step_) return absl::OkStatus();
  CARILLON_RETURN_IF_ERROR(Check(gradient));
  CARILLON_RETURN_IF_ERROR(Add(std::move(gradient), count_, allocator));
  ++count_;
  ServeTakers(&finished);
  return absl::OkStatus();
}

Status Accumulator::Serve(Taker& taker) {
  CARILLON_ASSIGN_OR_RETURN(taker.taken, Release(count_, taker.allocator));
  count_ = 0;
  ++step_;
  return absl::OkStatus();
}

void Accumulator::ServeTakers(Finished* finished) {
  while (!takers_.empty() && count_ >= takers_.front().required)
    takers_.FinishFront(Serve(takers_.front()), finished);
}

void Accumulator::Take(int64_t required, Allocator* allocator, Cancellation* cancellation,
                       TakeDone done) {
  auto taker = std::make_shared<Taker>();
  taker->required = required;
  taker->allocator = allocator;
  taker->done = std::move(done);
  {
    // Nothing to wait for, so nothing to cancel.
    Finished finished;
    std::lock_guard lock(mutex_);
    if (takers_.empty() && count_ >= required) {
      Status status = Serve(*taker);
      finished.Add(std::move(taker), std::move(status));
      return;
    }
  }
  Registration registration;
  const auto cancel = [self = shared_from_this(), taker] { self->Cancel(taker); };
  if (!Register(cancellation, cancel, &registration)) {
    return taker->Finish(absl::CancelledError("the step was cancelled"));
  }
  Finished finished;
  std::lock_guard lock(mutex_);
  if (takers_.Add(std::move(taker), registration)) ServeTakers(&finished);
}

void Accumulator::Cancel(const std::shared_ptr<Taker>& taker) {
  Finished finished;
  std::lock_guard lock(mutex_);
  if (!takers_.Cancel(*taker)) return;
  finished.Add(taker, absl::CancelledError("TakeGrad operation was cancelled"));
  ServeTakers(&finished);  // the next may want fewer
}

int64_t Accumulator::NumAccumulated() const {
  std::lock_guard lock(mutex_);
  return count_;
}

void Accumulator::SetGlobalStep(int64_t step) {
  std::lock_guard lock(mutex_);
  if (step < step_) {
    LogWarning("the global step of accumulator ", options_.name, " is set back from ", step_,
               " to ", step);
  }
  step_ = step;
}

std::string Accumulator::DebugString() const {
  return StrCat(options_.sparse ? "sparse " : "", "accumulator of ", DTypeName(options_.dtype));
}

}  // namespace carillon
