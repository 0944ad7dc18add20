#include "distributed/cluster/device_filters.h"

#include <algorithm>

namespace carillon {

StatusOr<DeviceFilters> DeviceFilters::Parse(
    const google::protobuf::RepeatedPtrField<std::string>& filters) {
  DeviceFilters parsed;
  for (const std::string& filter : filters) {
    StatusOr<DeviceName> name = ParseDeviceName(filter);
    if (!name.ok()) return InvalidArgument("device_filters: ", name.status().message());
    parsed.filters_.push_back(*std::move(name));
  }
  return parsed;
}

bool DeviceFilters::Admit(const std::string& device) const {
  if (filters_.empty()) return true;
  const StatusOr<DeviceName> name = ParseDeviceName(device);
  return name.ok() && std::ranges::any_of(
                          filters_, [&](const DeviceName& filter) { return Fits(filter, *name); });
}

}  // namespace carillon
