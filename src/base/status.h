// Status and StatusOr: how everything below the public API reports failure.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/strings.h"

namespace carillon {

using absl::Status;
using absl::StatusOr;

template <typename... Args>
Status InvalidArgument(const Args&... args) {
  return absl::InvalidArgumentError(StrCat(args...));
}
template <typename... Args>
Status NotFound(const Args&... args) {
  return absl::NotFoundError(StrCat(args...));
}
template <typename... Args>
Status AlreadyExists(const Args&... args) {
  return absl::AlreadyExistsError(StrCat(args...));
}
template <typename... Args>
Status FailedPrecondition(const Args&... args) {
  return absl::FailedPreconditionError(StrCat(args...));
}
template <typename... Args>
Status OutOfRange(const Args&... args) {
  return absl::OutOfRangeError(StrCat(args...));
}
template <typename... Args>
Status Unimplemented(const Args&... args) {
  return absl::UnimplementedError(StrCat(args...));
}
template <typename... Args>
Status Internal(const Args&... args) {
  return absl::InternalError(StrCat(args...));
}
template <typename... Args>
Status ResourceExhausted(const Args&... args) {
  return absl::ResourceExhaustedError(StrCat(args...));
}
template <typename... Args>
Status DataLoss(const Args&... args) {
  return absl::DataLossError(StrCat(args...));
}

// The same code with `prefix` before the message.
Status Annotate(const Status& status, std::string_view prefix);

#define CARILLON_CONCAT_INNER(a, b) a##b
#define CARILLON_CONCAT(a, b) CARILLON_CONCAT_INNER(a, b)

#define CARILLON_RETURN_IF_ERROR(expression)           \
  do {                                                 \
    ::carillon::Status carillon_status = (expression); \
    if (!carillon_status.ok()) [[unlikely]]            \
      return carillon_status;                          \
  } while (false)

// CARILLON_ASSIGN_OR_RETURN(auto value, MakeValue());
#define CARILLON_ASSIGN_OR_RETURN(target, expression) \
  CARILLON_ASSIGN_OR_RETURN_INNER(CARILLON_CONCAT(carillon_result_, __LINE__), target, expression)
#define CARILLON_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                       \
  if (!result.ok()) [[unlikely]]                                    \
    return std::move(result).status();                              \
  target = std::move(result).value()

}  // namespace carillon
