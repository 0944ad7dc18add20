#include "carillon/device_setter.h"

#include <gtest/gtest.h>

#include "carillon/carillon.h"

namespace carillon {
namespace {

const ClusterSpec kTwoPs{{"ps", {"p:1", "p:2"}}, {"worker", {"w:1", "w:2", "w:3"}}};

Operation MakeVariable(Graph& g, const Shape& shape = {3}) {
  return OpBuilder(g, "VarHandleOp")
      .Attr("dtype", DType::kFloat)
      .Attr("shape", PartialShape(shape))
      .Build();
}

std::string DeviceOf(const Operation& op) { return op.device(); }

TEST(ReplicaDeviceSetter, VariablesGoRoundThePsTheRestToTheWorker) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs));
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:0");
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:1");
  EXPECT_EQ(DeviceOf(Const(g, 1.0f)), "/job:worker");
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:0");
}

TEST(ReplicaDeviceSetter, NamesTheWorkersTask) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs, {.worker_task = 2}));
  EXPECT_EQ(DeviceOf(Const(g, 1.0f)), "/job:worker/task:2");
}

TEST(ReplicaDeviceSetter, WithoutPsNothingIsSet) {
  Graph g;
  DeviceScope outer(g, "/job:moon");
  DeviceScope on(g, ReplicaDeviceSetter(ClusterSpec{{"worker", {"w:1"}}}));
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:moon");
}

TEST(ReplicaDeviceSetter, CountsWithoutACluster) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter({}, {.ps_tasks = 2}));
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:0");
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:1");
}

TEST(ReplicaDeviceSetter, OtherJobs) {
  const ClusterSpec cluster{{"sun", {"s:1", "s:2", "s:3"}}, {"moon", {"m:1"}}};
  Graph g;
  DeviceScope on(
      g, ReplicaDeviceSetter(cluster, {.worker_device = "/job:moon", .ps_device = "/job:sun"}));
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:sun/task:0");
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:sun/task:1");
  EXPECT_EQ(DeviceOf(Const(g, 1.0f)), "/job:moon");
}

// What an op asks for itself comes first, and takes no turn of the strategy's when it names another
// job.
TEST(ReplicaDeviceSetter, MergesWithTheOpsOwnDevice) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs));
  {
    DeviceScope inner(g, "/job:moon");
    EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:moon");
  }
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:0");
  {
    DeviceScope inner(g, "/device:GPU:0");
    EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:1/device:GPU:0");
    EXPECT_EQ(DeviceOf(Const(g, 1.0f)), "/job:worker/device:GPU:0");
  }
  {
    DeviceScope inner(g, "/job:ps/task:1");
    EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:1");  // a turn is used up
  }
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:1");
}

TEST(ReplicaDeviceSetter, WithoutMergingAnOpKeepsItsDevice) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs, {.merge_devices = false}));
  {
    DeviceScope inner(g, "/device:GPU:0");
    EXPECT_EQ(DeviceOf(MakeVariable(g)), "/device:GPU:0");
  }
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:0");
}

TEST(ReplicaDeviceSetter, OtherOps) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs, {.ps_ops = {"Const"}}));
  EXPECT_EQ(DeviceOf(Const(g, 1.0f)), "/job:ps/task:0");
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:worker");
}

TEST(ReplicaDeviceSetter, InitialisersFollowTheirVariables) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs));
  const Variable first(g, "first", {2}, init::Zeros());
  const Variable second(g, "second", {2}, init::Zeros());
  EXPECT_EQ(DeviceOf(first.initializer()), "/job:ps/task:0");
  EXPECT_EQ(DeviceOf(second.initializer()), "/job:ps/task:1");
}

TEST(GreedyLoadBalancing, FillsTheEmptiest) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs, {.strategy = GreedyLoadBalancing(2)}));
  EXPECT_EQ(DeviceOf(MakeVariable(g, {10, 10})), "/job:ps/task:0");  // 400 bytes
  EXPECT_EQ(DeviceOf(MakeVariable(g, {50})), "/job:ps/task:1");      // 200
  EXPECT_EQ(DeviceOf(MakeVariable(g, {50})), "/job:ps/task:1");      // 400
  EXPECT_EQ(DeviceOf(MakeVariable(g, {1})), "/job:ps/task:0");       // the first of equals
  EXPECT_EQ(DeviceOf(MakeVariable(g, {1})), "/job:ps/task:1");
}

TEST(GreedyLoadBalancing, WantsKnownShapes) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs, {.strategy = GreedyLoadBalancing(2)}));
  try {
    OpBuilder(g, "VarHandleOp").Attr("dtype", DType::kFloat).Attr("shape", PartialShape()).Build();
    FAIL() << "a variable of unknown shape was balanced";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
  }
}

// The numbers are those of Python: int(md5("name_seed").hexdigest(), 16) % tasks.
TEST(RandomByName, GoesByTheDigestOfTheName) {
  Graph g;
  const PsStrategy strategy = RandomByName(7, 42);
  NameScope scope(g, "a");
  const Operation variable = MakeVariable(g);
  EXPECT_EQ(variable.name(), "a/VarHandleOp");
  EXPECT_EQ(strategy(variable), 6);
}

TEST(PsStrategy, RefusesWhatMakesNoSense) {
  EXPECT_THROW(RoundRobin(0), Error);
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs, {.strategy = [](const Operation&) { return 5; }}));
  EXPECT_THROW(MakeVariable(g), Error);
}

TEST(ReplicaDeviceSetter, TablesAndOldVariablesGoToThePsQueuesDoNot) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs));
  const Operation old =
      OpBuilder(g, "VariableV2").Attr("dtype", kFloat).Attr("shape", PartialShape{}).Build();
  const Operation table = OpBuilder(g, "MutableHashTableV2")
                              .Attr("key_dtype", kInt64)
                              .Attr("value_dtype", kFloat)
                              .Build();
  const Operation queue =
      OpBuilder(g, "FIFOQueueV2").Attr("component_types", std::vector<DType>{kFloat}).Build();
  EXPECT_EQ(DeviceOf(old), "/job:ps/task:0");
  EXPECT_EQ(DeviceOf(table), "/job:ps/task:1");
  EXPECT_EQ(DeviceOf(queue), "/job:worker");
}

TEST(ReplicaDeviceSetter, PartsOfThePsDeviceAreKept) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs, {.worker_device = "/job:worker/task:1/gpu:0",
                                                 .ps_device = "/job:ps/cpu:0"}));
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:0/device:CPU:0");
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:1/device:CPU:0");
  EXPECT_EQ(DeviceOf(Const(g, 1.0f)), "/job:worker/task:1/device:GPU:0");
}

TEST(ReplicaDeviceSetter, WithoutAJobForThePsNoTaskIsChosen) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter({}, {.ps_device = "/cpu:0", .ps_tasks = 2}));
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/device:CPU:0");
}

}  // namespace
}  // namespace carillon
