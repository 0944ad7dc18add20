// Device names: /job:worker/replica:0/task:3/device:GPU:1 and every shorter form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace carillon {

// Each part may be open. An index of kAny was written as '*'.
struct DeviceName {
  static constexpr int kAny = -1;
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // upper case: CPU, GPU
  std::optional<int> index;

  // Takes the parts of `outer` that are open here.
  void FillFrom(const DeviceName& outer);
  std::string ToString() const;  // "" when all is open
  bool operator==(const DeviceName&) const = default;
};

// Whether `there`, a whole name, has all that `asked` names.
bool Fits(const DeviceName& asked, const DeviceName& there);

// Accepts the parts in any order, and /cpu:0, /GPU:0, /gpu, "" and "/". InvalidArgument quotes the
// name and the part.
StatusOr<DeviceName> ParseDeviceName(std::string_view name);

}  // namespace carillon
