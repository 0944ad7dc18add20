// What one task asks of others outside of steps, and how.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace carillon {

enum class TaskQuestion {
  kDevices,  // which it has: a ListDevicesResponse
  kReset,    // to forget what the containers of a ResetRequest hold
};

// Thread-safe.
class TaskAsker {
 public:
  virtual ~TaskAsker() = default;
  // Asks all of `tasks` at once and waits for what each answers, or why it does not. Whoever has
  // not answered after `patience` is DeadlineExceeded; who is not there is waited for as long when
  // something is to happen (kReset).
  virtual std::map<std::string, StatusOr<std::string>> Ask(const std::vector<std::string>& tasks,
                                                           TaskQuestion question,
                                                           const std::string& request,
                                                           std::chrono::milliseconds patience) = 0;
};

}  // namespace carillon
