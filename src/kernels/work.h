// Work of a step outside of Kernel::Run: on background threads, in callbacks, ahead of the step.
#pragma once

#include <utility>

#include "base/throw.h"
#include "base/work_scope.h"
#include "kernels/services.h"

namespace carillon {

// What `body` returns, or throws. What it takes from the heap meanwhile counts against the limit of
// `allocator`, and is the end of it once the step is cancelled. `body` calls nothing back that
// belongs to others, and leaves what others see intact when it throws.
template <typename Body>
Status RunOnAccount(Allocator* allocator, const Cancellation* cancellation, Body&& body) {
  Status status;
  const Status thrown = CatchAsStatus([&] {
    const WorkScope scope(allocator, cancellation);
    status = body();
  });
  return thrown.ok() ? status : thrown;
}

template <typename Body>
Status RunOnAccount(const StepServices& services, Body&& body) {
  return RunOnAccount(services.allocator, services.cancellation, std::forward<Body>(body));
}

// Cancelled when nobody wants the work any more: what kernels return whose loops end early then
// (WorkIsCancelled).
inline Status CheckWanted() {
  if (!WorkIsCancelled()) return absl::OkStatus();
  return absl::CancelledError("the step was cancelled");
}

}  // namespace carillon
