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

TEST(ReplicaDeviceSetter, AJobWithoutTasksOrACountBesideAClusterIsNoPs) {
  Graph g;
  DeviceScope outer(g, "/job:moon");
  {
    DeviceScope on(g, ReplicaDeviceSetter(ClusterSpec{{"ps", {}}, {"worker", {"w:1"}}}));
    EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:moon");
  }
  DeviceScope on(g, ReplicaDeviceSetter(ClusterSpec{{"worker", {"w:1"}}}, {.ps_tasks = 2}));
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

TEST(GreedyLoadBalancing, TakesAnyLoad) {
  Graph g;
  const auto by_name = [](const Operation& op) { return op.name() == "VarHandleOp" ? 3.0 : 1.0; };
  DeviceScope on(g, ReplicaDeviceSetter(kTwoPs, {.strategy = GreedyLoadBalancing(2, by_name)}));
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:0");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:1");
  EXPECT_EQ(DeviceOf(MakeVariable(g)), "/job:ps/task:0");
}

TEST(GreedyLoadBalancing, BytesAreThoseOfTheOneOutput) {
  Graph g;
  const Output value = Const(g, {1.0f, 2.0f, 3.0f});
  EXPECT_EQ(ByteSizeLoad(value.op()), 12);
  EXPECT_EQ(ByteSizeLoad(Neg(value).op()), 12);
  EXPECT_EQ(ByteSizeLoad(MakeVariable(g, {2, 5})), 40);
  const Operation two = OpBuilder("Unique").Arg(value).Attr("out_idx", kInt32).Build();
  EXPECT_THROW(ByteSizeLoad(two), Error);
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

TEST(ReplicaDeviceSetter, VariablesAndTablesGoToThePsOtherStateDoesNot) {
  Graph g;
  DeviceScope on(g, ReplicaDeviceSetter(ClusterSpec{{"ps", {"p:1"}}}));
  const auto device_of = [&](const std::string& op) {
    OpBuilder builder(g, op);
    if (op.starts_with("Var") || op.find("Accumulator") != std::string::npos)
      return DeviceOf(builder.Attr("dtype", kFloat).Attr("shape", PartialShape({})).Build());
    if (op.find("Queue") != std::string::npos)
      return DeviceOf(builder.Attr("component_types", std::vector<DType>{kFloat}).Build());
    if (op.find("Dense") != std::string::npos) builder.Arg(Const(g, int64_t{0}));
    if (op.ends_with("DenseHashTableV2")) builder.Arg(Const(g, int64_t{1}));
    return DeviceOf(builder.Attr("key_dtype", kInt64).Attr("value_dtype", kFloat).Build());
  };
  for (const char* op :
       {"Variable", "VariableV2", "VarHandleOp", "MutableHashTable", "MutableHashTableV2",
        "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable",
        "MutableDenseHashTableV2", "ResourceConditionalAccumulator"})
    EXPECT_EQ(device_of(op), "/job:ps/task:0") << op;
  for (const char* op : {"FIFOQueueV2", "RandomShuffleQueueV2", "ConditionalAccumulator",
                         "SparseConditionalAccumulator", "HashTableV2"})
    EXPECT_EQ(device_of(op), "/job:worker") << op;
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
