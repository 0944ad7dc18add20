#include "cli/launch/task_status.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random_id.h"
#include "report/status_channel.h"

namespace carillon::launch {
namespace {

TEST(TaskStatusTest, KeepsTheLastValueOfEachKey) {
  TaskStatus status;
  EXPECT_TRUE(status.Merge(R"({"step": 3, "total_steps": 10, "loss": 0.5})"));
  EXPECT_TRUE(status.Merge(R"({"bytes_sent": 100, "bytes_received": 7, "server_steps": 5})"));
  EXPECT_TRUE(status.Merge(R"({"step": 4, "steps_per_second": 2.5, "unknown": [1]})"));
  EXPECT_EQ(status.step, 4);
  EXPECT_EQ(status.total_steps, 10);
  EXPECT_EQ(status.loss, 0.5);
  EXPECT_EQ(status.steps_per_second, 2.5);
  EXPECT_EQ(status.bytes_sent, 100);
  EXPECT_EQ(status.bytes_received, 7);
  EXPECT_EQ(status.steps(), 4);
}

TEST(TaskStatusTest, CountsTheServersStepsWhenTheProgramTellsNone) {
  TaskStatus status;
  EXPECT_FALSE(status.steps());
  EXPECT_TRUE(status.Merge(R"({"server_steps": 5})"));
  EXPECT_EQ(status.steps(), 5);
}

TEST(TaskStatusTest, ALossThatIsNotFiniteIsShown) {
  TaskStatus status;
  EXPECT_TRUE(status.Merge(JsonObject().Add("loss", std::nan("")).ToString()));
  ASSERT_TRUE(status.loss);
  EXPECT_TRUE(std::isnan(*status.loss));
}

TEST(TaskStatusTest, OtherBytesChangeNothing) {
  TaskStatus status;
  for (const char* text : {"", "{", "[1, 2]", "3", "null", "\xff\xfe", R"({"step": "three"})",
                           R"({"step": 1e300})", R"({"loss": {}})", R"({"other": 1})"}) {
    EXPECT_FALSE(status.Merge(text)) << text;
  }
  EXPECT_FALSE(status.steps() || status.loss);
  EXPECT_FALSE(status.Merge(std::string(100'000, '[')));
}

TEST(StatusInboxTest, TakesWhatAChannelSends) {
  const std::string address = StrCat("@carillon-test-", RandomId());
  auto inbox = StatusInbox::Open(address);
  ASSERT_TRUE(inbox.ok()) << inbox.status();
  TaskStatus status;
  EXPECT_FALSE(inbox->ReadInto(&status));
  const StatusChannel channel(address);
  channel.Send(JsonObject().Add("step", 1));
  channel.Send(JsonObject().Add("step", 2).Add("loss", 0.25));
  EXPECT_TRUE(inbox->ReadInto(&status));
  EXPECT_EQ(status.step, 2);
  EXPECT_EQ(status.loss, 0.25);
  EXPECT_FALSE(StatusInbox::Open(address).ok()) << "the address is taken";
}

}  // namespace
}  // namespace carillon::launch
