#include "runtime/device.h"

#include "base/random_id.h"
#include "base/strings.h"

namespace carillon {

std::shared_ptr<Device> MakeCpuDevice(const std::string& task_prefix,
                                      const PoolAllocatorOptions& memory) {
  return std::make_shared<Device>(Device{.name = StrCat(task_prefix, "/device:CPU:0"),
                                         .type = "CPU",
                                         .memory_limit = memory.limit_bytes,
                                         .incarnation = RandomId(),
                                         .allocator = MakePoolAllocator(memory),
                                         .kernels = &CpuKernels(),
                                         .background = std::make_shared<BackgroundThreads>()});
}

}  // namespace carillon
