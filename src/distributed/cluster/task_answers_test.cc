#include "distributed/cluster/task_answers.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

class TaskAnswersTest : public testing::Test {
 protected:
  std::shared_ptr<Device> device_ =
      MakeCpuDevice("/job:ps/replica:0/task:1", {.limit_bytes = 1 << 20});
  MapResourceStore resources_;
};

TEST_F(TaskAnswersTest, SaysWhichDeviceItHas) {
  const auto answer = AnswerQuestion(TaskQuestion::kDevices, "", *device_, &resources_);
  ASSERT_TRUE(answer.ok()) << answer.status();
  tensorflow::ListDevicesResponse devices;
  ASSERT_TRUE(devices.ParseFromString(*answer));
  ASSERT_EQ(devices.local_device_size(), 1);
  EXPECT_EQ(devices.local_device(0).name(), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(devices.local_device(0).memory_limit(), 1 << 20);
  EXPECT_NE(devices.local_device(0).incarnation(), 0);
}

TEST_F(TaskAnswersTest, ARestartedTaskIsAnotherIncarnation) {
  EXPECT_NE(device_->incarnation, MakeCpuDevice("/job:ps/replica:0/task:1")->incarnation);
}

TEST_F(TaskAnswersTest, RefusesAMalformedReset) {
  EXPECT_EQ(AnswerQuestion(TaskQuestion::kReset, "\xff\xff", *device_, &resources_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace carillon
