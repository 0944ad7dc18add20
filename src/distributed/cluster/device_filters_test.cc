#include "distributed/cluster/device_filters.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

StatusOr<DeviceFilters> Parse(const std::vector<std::string>& filters) {
  return DeviceFilters::Parse({filters.begin(), filters.end()});
}

TEST(DeviceFilters, NoneAdmitAll) {
  const auto filters = Parse({});
  ASSERT_TRUE(filters.ok());
  EXPECT_TRUE(filters->Admit("/job:ps/replica:0/task:0/device:CPU:0"));
}

TEST(DeviceFilters, OneThatFitsIsEnough) {
  const auto filters = Parse({"/job:ps", "/job:worker/task:1"});
  ASSERT_TRUE(filters.ok()) << filters.status();
  EXPECT_TRUE(filters->Admit("/job:ps/replica:0/task:7/device:CPU:0"));
  EXPECT_TRUE(filters->Admit("/job:worker/replica:0/task:1/device:CPU:0"));
  EXPECT_FALSE(filters->Admit("/job:worker/replica:0/task:0/device:CPU:0"));
  EXPECT_FALSE(filters->Admit("/job:chief/replica:0/task:1/device:CPU:0"));
}

TEST(DeviceFilters, TypesAndWildcardsCount) {
  const auto gpu = Parse({"/device:GPU:0"}), any = Parse({"/job:*/task:*/device:CPU:*"});
  ASSERT_TRUE(gpu.ok() && any.ok());
  EXPECT_FALSE(gpu->Admit("/job:ps/replica:0/task:0/device:CPU:0"));
  EXPECT_TRUE(any->Admit("/job:ps/replica:0/task:0/device:CPU:0"));
}

TEST(DeviceFilters, WhatIsNoNameIsQuoted) {
  const Status status = Parse({"/job:ps", "/jop:worker"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("/jop:worker"), std::string::npos) << status;
}

}  // namespace
}  // namespace carillon
