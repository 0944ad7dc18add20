// DeviceFilters: which devices of a cluster a session, or a reset, is about.
#pragma once

#include <google/protobuf/repeated_field.h>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/device_name.h"

namespace carillon {

class DeviceFilters {
 public:
  // Names, as those that ops ask for. InvalidArgument quotes one that is none.
  static StatusOr<DeviceFilters> Parse(
      const google::protobuf::RepeatedPtrField<std::string>& filters);

  // Whether a device, by its full name, fits one of them, or there are none.
  bool Admit(const std::string& device) const;

 private:
  std::vector<DeviceName> filters_;
};

}  // namespace carillon
