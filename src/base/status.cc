#include "base/status.h"

#include <new>
#include <stdexcept>
#include <string>

#include "base/throw.h"
#include "base/work_scope.h"

namespace carillon {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "OK";
    case Code::kCancelled:
      return "CANCELLED";
    case Code::kUnknown:
      return "UNKNOWN";
    case Code::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case Code::kNotFound:
      return "NOT_FOUND";
    case Code::kAlreadyExists:
      return "ALREADY_EXISTS";
    case Code::kPermissionDenied:
      return "PERMISSION_DENIED";
    case Code::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case Code::kAborted:
      return "ABORTED";
    case Code::kOutOfRange:
      return "OUT_OF_RANGE";
    case Code::kUnimplemented:
      return "UNIMPLEMENTED";
    case Code::kInternal:
      return "INTERNAL";
    case Code::kUnavailable:
      return "UNAVAILABLE";
    case Code::kDataLoss:
      return "DATA_LOSS";
    case Code::kUnauthenticated:
      return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

Status Annotate(const Status& status, std::string_view prefix) {
  if (status.ok()) return status;
  return Status(status.code(), StrCat(prefix, status.message()));
}

void Throw(const Status& status) {
  throw Error(static_cast<Code>(status.raw_code()), std::string(status.message()));
}

Status StatusFromException(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return Status(static_cast<absl::StatusCode>(error.code()), error.what());
  } catch (const BudgetExceeded& error) {
    return ResourceExhausted(error.what());
  } catch (const std::length_error&) {
    return ResourceExhausted("more elements are wanted than any memory holds");
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("out of memory");
  } catch (const WorkStopped& error) {
    return Status(absl::StatusCode::kCancelled, error.what());
  } catch (const std::exception& error) {
    return Internal(error.what());
  } catch (...) {
    return Internal("an exception of unknown type");
  }
}

}  // namespace carillon
