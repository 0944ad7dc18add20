// The one place where Status becomes carillon::Error and back.
#pragma once

#include <exception>
#include <utility>

#include "base/status.h"
#include "carillon/error.h"

namespace carillon {

[[noreturn]] void Throw(const Status& status);

inline void ThrowIfError(const Status& status) {
  if (!status.ok()) [[unlikely]]
    Throw(status);
}

template <typename T>
T ValueOrThrow(StatusOr<T> value) {
  ThrowIfError(value.status());
  return std::move(value).value();
}

// The status of an exception in flight: an Error keeps its code, std::bad_alloc is
// ResourceExhausted, WorkStopped is Cancelled, the rest is Internal.
Status StatusFromException(std::exception_ptr exception);

// Runs `body` and turns what it throws into a Status.
template <typename Body>
Status CatchAsStatus(Body&& body) {
  try {
    body();
    return absl::OkStatus();
  } catch (...) {
    return StatusFromException(std::current_exception());
  }
}

}  // namespace carillon
