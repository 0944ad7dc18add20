#include "runtime/placer.h"

#include <gtest/gtest.h>

#include "carillon/carillon.h"

namespace carillon {
namespace {

constexpr const char* kWorker0 = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr const char* kWorker1 = "/job:worker/replica:0/task:1/device:CPU:0";
constexpr const char* kPs0 = "/job:ps/replica:0/task:0/device:CPU:0";
constexpr const char* kPs1 = "/job:ps/replica:0/task:1/device:CPU:0";

class PlacerTest : public testing::Test {
 protected:
  Status PlaceAll(const PlacerOptions& options = {}) {
    return Place(&g_.nodes(), {kWorker1, kPs0, kPs1, kWorker0}, options);
  }
  Output Value(const char* device, float value = 1) {
    const DeviceScope on(g_, device);
    return Const(g_, value);
  }

  Graph g_;
};

TEST_F(PlacerTest, WhatAsksForNothingRunsInTheTaskOfTheSession) {
  const Output sum = Const(g_, 1.0f) + Const(g_, 2.0f);
  ASSERT_TRUE(PlaceAll().ok());
  EXPECT_EQ(sum.op().device(), kWorker1);
}

TEST_F(PlacerTest, TakesTheFirstDeviceThatFits) {
  const Output ps = Value("/job:ps"), task = Value("/job:ps/task:1"), own = Value("/job:worker"),
               any = Value("/job:ps/task:*/device:CPU:*"),
               other = Value("/task:0/job:worker/cpu:0");
  ASSERT_TRUE(PlaceAll().ok());
  EXPECT_EQ(ps.op().device(), kPs0);
  EXPECT_EQ(task.op().device(), kPs1);
  EXPECT_EQ(own.op().device(), kWorker1);
  EXPECT_EQ(any.op().device(), kPs0);
  EXPECT_EQ(other.op().device(), kWorker0);
}

TEST_F(PlacerTest, ValuesFromNowhereGoWhereTheyAreUsed) {
  const Output here = Const(g_, 1.0f), there = Const(g_, 2.0f), both = Const(g_, 3.0f);
  const Output mine = here + both;
  Output theirs;
  {
    const DeviceScope on(g_, "/job:ps/task:1");
    theirs = there * both;
  }
  ASSERT_TRUE(PlaceAll().ok());
  EXPECT_EQ(here.op().device(), kWorker1);
  EXPECT_EQ(there.op().device(), kPs1);
  EXPECT_EQ(both.op().device(), kWorker1);
  EXPECT_EQ(mine.op().device(), kWorker1);
  EXPECT_EQ(theirs.op().device(), kPs1);
}

TEST_F(PlacerTest, UpdatesAreWhereTheirVariableIs) {
  Output resource, reference;
  {
    const DeviceScope on(g_, "/job:ps/task:1");
    resource = OpBuilder(g_, "VarHandleOp").Attr("dtype", kFloat).Attr("shape", PartialShape{});
    reference = OpBuilder(g_, "VariableV2").Attr("dtype", kFloat).Attr("shape", PartialShape{});
  }
  const Output value = Const(g_, 1.0f);
  const Operation assign = OpBuilder("AssignVariableOp").Arg(resource).Arg(value).Build();
  const Operation add = OpBuilder("AssignAdd").Arg(reference).Arg(value).Build();
  ASSERT_TRUE(PlaceAll().ok());
  EXPECT_EQ(assign.device(), kPs1);
  EXPECT_EQ(add.device(), kPs1);
}

TEST_F(PlacerTest, ColocatedNodesRunTogether) {
  const Output at = Value("/job:ps/task:1");
  Output with;
  {
    const ColocateWith scope(g_, at);
    with = Neg(Const(g_, 1.0f));
  }
  with.node()->set_device("");  // as if it came without a device of its own
  ASSERT_TRUE(PlaceAll().ok());
  EXPECT_EQ(with.op().device(), kPs1);
}

TEST_F(PlacerTest, TasksThatDifferInAGroupAreAnErrorEvenWithSoftPlacement) {
  const Output at = Value("/job:ps/replica:0/task:1");
  Output with;
  {
    const ColocateWith scope(g_, at);
    with = Neg(Const(g_, 1.0f));
  }
  for (const char* other : {"/job:worker", "/replica:1", "/task:0"}) {
    with.node()->set_device(other);
    const Status status = PlaceAll({.allow_soft_placement = true});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << other;
    EXPECT_NE(status.message().find(other), std::string::npos) << status;
    EXPECT_NE(status.message().find("/job:ps/replica:0/task:1"), std::string::npos) << status;
  }
}

TEST_F(PlacerTest, SoftPlacementFreesTypeAndNumberButNotTheTask) {
  const Output gpu = Value("/job:ps/task:1/device:GPU:3");
  EXPECT_EQ(PlaceAll().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(PlaceAll({.allow_soft_placement = true}).ok());
  EXPECT_EQ(gpu.op().device(), kPs1);
  Value("/job:ps/task:7/device:GPU:0");
  const Status status = PlaceAll({.allow_soft_placement = true});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(kPs0), std::string::npos) << "lists what there is: " << status;
}

TEST_F(PlacerTest, WhatReadsOnlyTheShapeIsWithTheValue) {
  Output value;
  {
    const DeviceScope on(g_, "/job:ps/task:1");
    value = Neg(Const(g_, 1.0f));
  }
  const Output free = OpBuilder("Shape").Arg(value).Attr("out_type", kInt32);
  Output near, far;
  {
    const DeviceScope on(g_, "/job:ps");
    near = OpBuilder("Rank").Arg(value);
  }
  {
    const DeviceScope on(g_, "/job:worker/task:0");
    far = OpBuilder("Size").Arg(value).Attr("out_type", kInt32);
  }
  ASSERT_TRUE(PlaceAll().ok());
  EXPECT_EQ(free.op().device(), kPs1);
  EXPECT_EQ(near.op().device(), kPs1);
  EXPECT_EQ(far.op().device(), kWorker0);
}

TEST_F(PlacerTest, ValuesFromNowhereGoToTheirUsesWithinWhatTheyAskFor) {
  const Output ps = Value("/job:ps"), worker = Value("/job:worker");
  const DeviceScope on(g_, "/job:ps/task:1");
  const Output sum = ps + worker;
  ASSERT_TRUE(PlaceAll().ok());
  EXPECT_EQ(sum.op().device(), kPs1);
  EXPECT_EQ(ps.op().device(), kPs1);
  EXPECT_EQ(worker.op().device(), kWorker1);
}

TEST_F(PlacerTest, AnIdentityThatAsksForNothingIsWithSuchAnInput) {
  Output handle;
  {
    const DeviceScope on(g_, "/job:ps/task:1");
    handle = OpBuilder(g_, "VarHandleOp").Attr("dtype", kFloat).Attr("shape", PartialShape{});
  }
  const Output read = OpBuilder("ReadVariableOp").Arg(handle).Attr("dtype", kFloat);
  const Output handed_on = Identity(Identity(read)), used = Neg(handed_on);
  Output elsewhere;
  {
    const DeviceScope on(g_, "/job:worker/task:0");
    elsewhere = Identity(read);
  }
  ASSERT_TRUE(PlaceAll().ok());
  EXPECT_EQ(read.op().device(), kPs1);
  EXPECT_EQ(handed_on.op().device(), kPs1);
  EXPECT_EQ(used.op().device(), kWorker1);
  EXPECT_EQ(elsewhere.op().device(), kWorker0);
}

TEST_F(PlacerTest, ColocationReachesNodesThatAreNotInTheGraph) {
  Graph whole;
  const NameScope scope(whole, "absent");
  Output here;
  {
    const DeviceScope on(whole, "/job:ps/task:1");
    const Output anchor = Const(whole, 1.0f);
    const ColocateWith with(whole, anchor);
    here = Neg(Const(whole, 2.0f));
  }
  const Output left = Neg(Const(g_, 2.0f));
  left.node()->set_attr("_class", std::vector<std::string>{"loc:@" + here.op().name()});
  ASSERT_TRUE(PlaceAll({.whole = &whole.nodes()}).ok());
  EXPECT_EQ(left.op().device(), kPs1);
}

TEST_F(PlacerTest, TypesThatDifferInAGroupAreFreedBySoftPlacement) {
  const Output at = Value("/job:ps/task:1/device:CPU:0");
  Output with;
  {
    const ColocateWith scope(g_, at);
    with = Neg(Const(g_, 1.0f));
  }
  with.node()->set_device("/device:GPU:0");
  EXPECT_EQ(PlaceAll().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(PlaceAll({.allow_soft_placement = true}).ok());
  EXPECT_EQ(with.op().device(), kPs1);
}

TEST_F(PlacerTest, ErrorsSayWhatWasAskedForAndWhatThereIs) {
  Value("/job:moon/task:2");
  const Status status = PlaceAll();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* name : {"/job:moon/task:2", kWorker0, kWorker1, kPs0, kPs1})
    EXPECT_NE(status.message().find(name), std::string::npos) << status;
}

}  // namespace
}  // namespace carillon
