#include "runtime/device.h"

#include <algorithm>

#include "base/random_id.h"
#include "base/str_format.h"
#include "base/strings.h"
#include "tensor/limited_allocator.h"

namespace carillon {

std::shared_ptr<Device> MakeCpuDevice(const std::string& task_prefix,
                                      const PoolAllocatorOptions& memory) {
  auto idle = std::make_shared<IdleMemory>();
  return std::make_shared<Device>(
      Device{.name = StrCat(task_prefix, "/device:CPU:0"),
             .type = "CPU",
             .memory_limit = memory.limit_bytes,
             .incarnation = RandomId(),
             .allocator = MakePoolAllocator(memory, [idle] { idle->Release(); }),
             .kernels = &CpuKernels(),
             .background = std::make_shared<BackgroundPool>(),
             .idle = idle});
}

std::shared_ptr<Device> MakeDeviceShare(const Device& device, int64_t limit_bytes) {
  auto share = std::make_shared<Device>(device);
  share->background = std::make_shared<BackgroundShare>(device.background);
  share->idle = std::make_shared<IdleMemory>(device.idle);
  share->allocator = MakeLimitedAllocator(device.allocator, limit_bytes,
                                          [idle = share->idle] { idle->Release(); });
  return share;
}

std::string DescribeMemory(const Device& device) {
  if (device.memory_limit <= 0) return "";
  const auto text = [](int64_t bytes) {
    constexpr double kMiB = 1 << 20;
    return StrFormat("%.1f MiB", static_cast<double>(bytes) / kMiB);
  };
  return StrCat(" (", text(device.allocator->stats().bytes_in_use), " are in use here, ",
                text(std::max<int64_t>(0, device.allocator->room().left)), " of ",
                text(device.memory_limit), " free)");
}

}  // namespace carillon
