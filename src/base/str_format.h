// absl::StrFormat where operator new may throw (WorkScope): what it appends to must not, or the
// program ends. So it runs outside of the thread's scope.
#pragma once

#include <string>

#include "absl/strings/str_format.h"
#include "base/work_scope.h"

namespace carillon {

template <typename... Args>
std::string StrFormat(const absl::FormatSpec<Args...>& format, const Args&... args) {
  const WorkPause pause;
  return absl::StrFormat(format, args...);
}

}  // namespace carillon
