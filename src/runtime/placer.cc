#include "runtime/placer.h"

#include <unordered_map>

#include "graph/device_name.h"
#include "graph/node_mark.h"

namespace carillon {
namespace {

bool Fits(const std::optional<int>& asked, const std::optional<int>& there) {
  return !asked.has_value() || *asked == DeviceName::kAny || asked == there;
}

bool Fits(const DeviceName& asked, const DeviceName& there, bool allow_soft_placement) {
  if (asked.job.has_value() && asked.job != there.job) return false;
  if (!Fits(asked.replica, there.replica) || !Fits(asked.task, there.task)) return false;
  return allow_soft_placement ||
         ((!asked.type.has_value() || asked.type == there.type) && Fits(asked.index, there.index));
}

}  // namespace

Status PlaceOn(const NodeGraph& graph, const Device& device, bool allow_soft_placement) {
  CARILLON_ASSIGN_OR_RETURN(const DeviceName there, ParseDeviceName(device.name));
  std::unordered_map<std::string, bool> checked;  // few devices, many nodes
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->device().empty()) continue;
    const auto [entry, is_new] = checked.emplace(node->device(), false);
    if (is_new) {
      CARILLON_ASSIGN_OR_RETURN(const DeviceName asked, ParseDeviceName(node->device()));
      entry->second = Fits(asked, there, allow_soft_placement);
    }
    if (!entry->second) {
      return InvalidArgument("node ", node->Describe(), " asks for device '", node->device(),
                             "', but there is only '", device.name,
                             "'; allow_soft_placement lets it run there if only the device type or "
                             "number differs",
                             NodeMark(*node));
    }
  }
  return absl::OkStatus();
}

}  // namespace carillon
