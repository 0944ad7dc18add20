// Device: where kernels run and tensors live.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/background.h"
#include "kernels/kernel.h"
#include "tensor/allocator.h"

namespace carillon {

struct Device {
  std::string name;          // "/job:localhost/replica:0/task:0/device:CPU:0"
  std::string type;          // "CPU"
  int64_t memory_limit = 0;  // bytes that tensors may take; 0: no limit
  uint64_t incarnation = 0;  // tells it from one that had the name before
  std::shared_ptr<Allocator> allocator;
  const KernelTable* kernels = nullptr;
  std::shared_ptr<BackgroundThreads> background;  // for kernels that block
};

std::shared_ptr<Device> MakeCpuDevice(const std::string& task_prefix,
                                      const PoolAllocatorOptions& memory = {});

}  // namespace carillon
