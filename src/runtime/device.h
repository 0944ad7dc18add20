// Device: where kernels run and tensors live.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/background.h"
#include "kernels/kernel.h"
#include "runtime/idle_states.h"
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
  std::shared_ptr<IdleMemory> idle;               // of executors; null: they keep what they have
};

std::shared_ptr<Device> MakeCpuDevice(const std::string& task_prefix,
                                      const PoolAllocatorOptions& memory = {});

// The same device for one session, which may take `limit_bytes` of its memory and leaves others
// some of it, as MakeLimitedAllocator says. What the session's idle steps keep is given up when it
// has no room, and that of all when the device has none. Of the threads for what blocks it has a
// share, too.
std::shared_ptr<Device> MakeDeviceShare(const Device& device, int64_t limit_bytes);

// For who was refused memory: " (48.0 MiB are in use here, 16.0 MiB of 64.0 MiB free)", where
// "here" is what the device is a share for. Empty when there is no limit.
std::string DescribeMemory(const Device& device);

}  // namespace carillon
