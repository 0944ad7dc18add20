// Guard: what a request makes our code throw is the error of that request, not the process's end.
#pragma once

#include <utility>

#include "base/throw.h"

namespace carillon {

// The status that `body` returns, or the one of what it throws.
template <typename Body>
Status Guard(Body&& body) {
  Status status;
  const Status thrown = CatchAsStatus([&] { status = body(); });
  return thrown.ok() ? status : thrown;
}

}  // namespace carillon
