#include "distributed/cluster/roster.h"

#include <future>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using std::chrono::milliseconds;

std::string Task(const std::string& job, int task) {
  return "/job:" + job + "/replica:0/task:" + std::to_string(task);
}

class RosterTest : public testing::Test {
 protected:
  static constexpr milliseconds kForEver{0};

  std::future<std::string> Wait(Roster* roster, milliseconds grace) {
    return std::async(std::launch::async, [=] { return roster->WaitForEnd(grace); });
  }

  const std::string ps0_ = Task("ps", 0), ps1_ = Task("ps", 1), worker0_ = Task("worker", 0),
                    worker1_ = Task("worker", 1);
  const std::map<std::string, std::string> addresses_ = {
      {ps0_, "a:1"}, {ps1_, "a:2"}, {worker0_, "a:3"}, {worker1_, "a:4"}};
};

TEST_F(RosterTest, APsWaitsForEveryWorkerAndForNoPs) {
  Roster roster(ps0_, addresses_);
  auto end = Wait(&roster, kForEver);
  roster.Came(ps1_);
  roster.Came(worker0_);
  roster.Finished(worker0_);
  EXPECT_EQ(end.wait_for(milliseconds(20)), std::future_status::timeout);
  roster.Finished(worker1_);  // it has never said anything before
  EXPECT_EQ(end.get(), "all tasks that were served are done");
  EXPECT_TRUE(roster.IsDone(worker1_));
  EXPECT_FALSE(roster.IsDone(ps1_));
}

TEST_F(RosterTest, OneThatIsDoneIsNotLostWhenItLeaves) {
  Roster roster(ps0_, addresses_);
  for (const std::string& worker : {worker0_, worker1_}) {
    roster.Came(worker);
    roster.Finished(worker);
    roster.WasLost(worker);
  }
  EXPECT_EQ(roster.WaitForEnd(kForEver), "all tasks that were served are done");
}

TEST_F(RosterTest, LostWorkersAreWaitedForDuringTheGraceTime) {
  Roster roster(ps0_, addresses_);
  roster.Came(worker0_);
  roster.WasLost(worker0_);
  EXPECT_EQ(roster.WaitForEnd(milliseconds(5)),
            "of the tasks that were served 0 are done, 1 were lost and 1 never came; nobody came "
            "for 0 s");
  // One comes back: it is served again.
  auto end = Wait(&roster, milliseconds(std::chrono::minutes(10)));
  roster.Came(worker0_);
  roster.Finished(worker1_);
  EXPECT_EQ(end.wait_for(milliseconds(20)), std::future_status::timeout);
  roster.Finished(worker0_);
  EXPECT_EQ(end.get(), "all tasks that were served are done");
}

TEST_F(RosterTest, NobodyHasComeYet) {
  Roster roster(ps0_, addresses_);
  auto end = Wait(&roster, milliseconds(1));
  roster.WasLost(worker0_);  // never was there
  EXPECT_EQ(end.wait_for(milliseconds(30)), std::future_status::timeout);
  roster.Stop();
  EXPECT_EQ(end.get(), "");
}

TEST_F(RosterTest, AWorkerThatOnlyServesWaitsForItsMasters) {
  Roster roster(worker1_, addresses_);
  auto end = Wait(&roster, kForEver);
  roster.Came(ps0_);
  roster.Came(worker0_);
  roster.Finished(ps0_);  // serves, too
  EXPECT_EQ(end.wait_for(milliseconds(20)), std::future_status::timeout);
  roster.BecameMaster(worker0_);
  roster.Finished(worker0_);
  EXPECT_EQ(end.get(), "all tasks that were served are done");
}

}  // namespace
}  // namespace carillon
