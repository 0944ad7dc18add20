#include "runtime/idle_states.h"

#include <gtest/gtest.h>

#include "carillon/tensor.h"
#include "runtime/device.h"

namespace carillon {
namespace {

constexpr int64_t kMiB = 1 << 20;

// Such as a step's that held the last reference to a data set with functions.
TEST(IdleMemory, WhatIsGivenUpMayHoldOtherKeepers) {
  struct Holder {
    std::unique_ptr<IdleStates<int>> keeper;
  };
  IdleMemory whole;
  IdleStates<Holder> states(&whole);
  auto holder = std::make_unique<Holder>();
  holder->keeper = std::make_unique<IdleStates<int>>(&whole);
  states.Return(std::move(holder));
  whole.Release();
  EXPECT_EQ(states.Take(), nullptr);
}

// A variable's value outlives the session that wrote it, and is idle in a step of another one.
TEST(IdleMemory, WhatIsGivenUpMayBeTheLastOfASession) {
  const auto device = MakeCpuDevice("/job:test/replica:0/task:0", {.limit_bytes = 4 * kMiB});
  IdleStates<Tensor> states(device->idle.get());
  auto session = MakeDeviceShare(*device, 2 * kMiB);
  states.Return(std::make_unique<Tensor>(
      Tensor::TryAllocate(DType::kUint8, {kMiB}, session->allocator.get())));
  session.reset();
  EXPECT_GE(device->allocator->stats().bytes_in_use, kMiB);
  device->allocator->Reclaim();
  EXPECT_EQ(device->allocator->stats().bytes_in_use, 0);
}

}  // namespace
}  // namespace carillon
