// Programs of several devices, cut into parts that run at the same time and meet at one
// rendezvous, give what they give on one device.
#include "runtime/partitioner.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <thread>

#include "base/strings.h"
#include "carillon/carillon.h"
#include "runtime/cancellation.h"
#include "runtime/executable.h"
#include "runtime/rendezvous.h"
#include "runtime/resource_store.h"

namespace carillon {
namespace {

const std::vector<std::string> kDevices = {"/job:worker/replica:0/task:0/device:CPU:0",
                                           "/job:ps/replica:0/task:0/device:CPU:0",
                                           "/job:ps/replica:0/task:1/device:CPU:0"};

class PartitionerTest : public testing::Test {
 protected:
  StatusOr<PartitionedGraph> Cut(const std::vector<Output>& fetches,
                                 const std::vector<std::pair<Output, Tensor>>& feeds = {},
                                 const std::vector<Operation>& targets = {}) {
    Signature signature;
    for (const auto& [feed, value] : feeds) {
      signature.feeds.push_back({feed.node(), feed.index()});
      signature.feed_shapes.push_back(value.shape());
    }
    for (const Output& fetch : fetches) signature.fetches.push_back({fetch.node(), fetch.index()});
    for (const Operation& target : targets) signature.targets.push_back(target.node());
    return SpecializeInParts(g_.nodes(), signature, kDevices, *MakeDevice(0), {});
  }

  static std::shared_ptr<Device> MakeDevice(size_t i) {
    return MakeCpuDevice(kDevices[i].substr(0, kDevices[i].rfind("/device")));
  }

  // The fetches of one step, every part on a thread of its own.
  std::vector<Tensor> Run(const std::vector<Output>& fetches,
                          const std::vector<std::pair<Output, Tensor>>& feeds = {},
                          const std::vector<Operation>& targets = {}, int expected_parts = -1) {
    StatusOr<PartitionedGraph> cut = Cut(fetches, feeds, targets);
    EXPECT_TRUE(cut.ok()) << cut.status();
    if (!cut.ok()) return {};
    if (expected_parts >= 0) {
      EXPECT_EQ(cut->parts.size(), static_cast<size_t>(expected_parts));
    }
    LocalRendezvous rendezvous;
    CancellationSource cancellation;
    std::vector<Tensor> results(fetches.size());
    std::vector<std::thread> threads;
    for (Part& part : cut->parts) {
      threads.emplace_back([&, this] {
        const size_t place =
            static_cast<size_t>(std::ranges::find(kDevices, part.device) - kDevices.begin());
        MapResourceStore& resources = resources_[place];
        auto executable =
            Executable::FromPart(std::move(part.graph), MakeDevice(place), &resources, {});
        ASSERT_TRUE(executable.ok()) << part.device << ": " << executable.status();
        std::vector<Tensor> inputs, outputs;
        for (const int feed : part.feeds) inputs.push_back(feeds[static_cast<size_t>(feed)].second);
        const Status status = (*executable)
                                  ->Run({.feeds = inputs,
                                         .resources = &resources,
                                         .cancellation = &cancellation,
                                         .rendezvous = &rendezvous},
                                        &outputs);
        EXPECT_TRUE(status.ok()) << part.device << ": " << status;
        if (!status.ok()) rendezvous.Abort(status);
        for (size_t i = 0; i < outputs.size(); ++i)
          results[static_cast<size_t>(part.fetches[i])] = outputs[i];
      });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  Graph g_;
  MapResourceStore resources_[3];
};

TEST_F(PartitionerTest, ValuesGoWhereTheyAreRead) {
  const Output x = Placeholder(g_, kFloat, {2});
  Output there, back;
  {
    const DeviceScope on(g_, "/job:ps/task:1");
    there = x * 2.0f;
  }
  {
    const DeviceScope on(g_, "/job:worker");
    back = there + x;
  }
  const auto results = Run({back, there}, {{x, Tensor::FromVector<float>({1, 2})}}, {}, 2);
  EXPECT_EQ(results[0].values<float>()[1], 6);
  EXPECT_EQ(results[1].values<float>()[0], 2);
}

TEST_F(PartitionerTest, AValueIsSentToADeviceOnce) {
  const Output x = Placeholder(g_, kFloat, {});
  Output there;
  {
    const DeviceScope on(g_, "/job:ps/task:0");
    there = Exp(x);
  }
  const DeviceScope on(g_, "/job:worker");
  const Output a = there + 1.0f, b = there * 3.0f;
  Operation after;
  {
    const ControlDependencies wait(g_, {there});
    after = NoOp(g_);
  }
  const auto cut = Cut({a, b}, {{x, Tensor::Scalar(0.0f)}}, {after});
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->channels.size(), 1u) << "the control dependency comes with the value";
}

TEST_F(PartitionerTest, VariablesStayAndUpdatesTravel) {
  std::optional<Variable> v;
  {
    const DeviceScope on(g_, "/job:ps/task:1");
    v.emplace(g_, "v", 1.0f);
  }
  Run({}, {}, {v->initializer()}, 1);
  Output more;
  {
    const DeviceScope on(g_, "/job:worker");
    more = v->read() * 10.0f;
  }
  const Operation update = v->AssignAdd(more);
  EXPECT_EQ(Run({more}, {}, {update}, 2)[0].scalar<float>(), 10);
  EXPECT_EQ(Run({more}, {}, {}, 2)[0].scalar<float>(), 110);
}

TEST_F(PartitionerTest, OneMessageTellsThatSeveralNodesHaveRun) {
  std::vector<Operation> updates;
  Output after;
  {
    const DeviceScope on(g_, "/job:ps/task:0");
    for (const char* name : {"a", "b", "c"})
      updates.push_back(Variable(g_, name, 1.0f).AssignAdd(1.0f));
  }
  Operation all;
  {
    const DeviceScope on(g_, "/job:worker");
    all = Group(g_, updates);  // has nothing to do here
    const ControlDependencies first(g_, updates);
    after = Identity(Placeholder(g_, kFloat, {}));
  }
  const auto cut = Cut({after}, {{after.op().input(0), Tensor::Scalar(1.0f)}}, {all});
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->parts.size(), 2u);
  EXPECT_EQ(cut->channels.size(), 1u);
}

TEST_F(PartitionerTest, OneSideOfAConditionMayBeElsewhere) {
  const Output x = Placeholder(g_, kFloat, {}), pred = Placeholder(g_, kBool, {});
  const Output y = Cond(
      pred,
      [&] {
        const DeviceScope on(g_, "/job:ps/task:0");
        return x * 2.0f;
      },
      [&] {
        const DeviceScope on(g_, "/job:ps/task:1");
        return x - 1.0f;
      })[0];
  const DeviceScope on(g_, "/job:worker");
  const Output z = y + 100.0f;
  for (const bool taken : {true, false}) {
    const auto results = Run({z}, {{x, Tensor::Scalar(5.0f)}, {pred, Tensor::Scalar(taken)}});
    EXPECT_EQ(results[0].scalar<float>(), taken ? 110 : 104);
  }
}

TEST_F(PartitionerTest, ALoopMaySpanDevices) {
  const Output n = Placeholder(g_, kInt32, {});
  Output scale;
  {
    const DeviceScope on(g_, "/job:ps/task:1");
    scale = Placeholder(g_, kFloat, Shape{});
  }
  const auto results = WhileLoop(
      g_, {Const(g_, int32_t{0}), Const(g_, 1.0f)},
      [&](const std::vector<Output>& at) { return Less(at[0], n); },
      [&](const std::vector<Output>& at) {
        Output next;
        {
          const DeviceScope on(g_, "/job:ps/task:0");
          next = at[1] * scale;
        }
        return std::vector<Output>{at[0] + int32_t{1}, next};
      });
  for (const int32_t times : {0, 1, 7}) {
    const auto values = Run(results, {{n, Tensor::Scalar(times)}, {scale, Tensor::Scalar(2.0f)}});
    EXPECT_EQ(values[0].scalar<int32_t>(), times);
    EXPECT_EQ(values[1].scalar<float>(), static_cast<float>(1 << times));
  }
}

TEST_F(PartitionerTest, LoopsInLoopsMaySpanDevices) {
  const Output n = Placeholder(g_, kInt32, {});
  const auto results = WhileLoop(
      g_, {Const(g_, int32_t{0}), Const(g_, int32_t{0})},
      [&](const std::vector<Output>& at) { return Less(at[0], n); },
      [&](const std::vector<Output>& at) {
        const auto inner = WhileLoop(
            g_, {Const(g_, int32_t{0}), at[1]},
            [&](const std::vector<Output>& in) { return Less(in[0], at[0]); },
            [&](const std::vector<Output>& in) {
              const DeviceScope on(g_, "/job:ps/task:0");
              return std::vector<Output>{in[0] + int32_t{1}, in[1] + in[0]};
            });
        return std::vector<Output>{at[0] + int32_t{1}, inner[1]};
      });
  const auto values = Run({results[1]}, {{n, Tensor::Scalar(int32_t{6})}});
  EXPECT_EQ(values[0].scalar<int32_t>(), 0 + 0 + 1 + 3 + 6 + 10);
}

// The first layer's variable was made last, and is read through an op of the worker's that was made
// even before the others' layers.
TEST_F(PartitionerTest, ChannelsAreInTheOrderOfNeed) {
  constexpr int kLayers = 4;
  std::vector<Output> kernels;  // last layer first
  for (int i = kLayers - 1; i >= 0; --i) {
    std::optional<Variable> v;
    {
      const DeviceScope on(g_, "/job:ps/task:0");
      v.emplace(g_, StrCat("layer", i), Fill(Const(g_, {2, 2}), 1.0f));
    }
    const DeviceScope on(g_, "/job:worker");
    kernels.push_back(Exp(v->read()));
  }
  const DeviceScope on(g_, "/job:worker");
  const Output x = Placeholder(g_, kFloat, {2, 2});
  Output y = x;
  for (int i = 0; i < kLayers; ++i)
    y = MatMul(kernels[static_cast<size_t>(kLayers - 1 - i)], Relu(y));
  const auto cut = Cut({y}, {{x, Tensor(kFloat, {2, 2})}});
  ASSERT_TRUE(cut.ok()) << cut.status();
  std::map<std::string, std::string> variable_of;
  for (const Part& part : cut->parts) {
    for (const auto& node : part.graph->nodes()) {
      if (node != nullptr && node->op() == "_Send")
        variable_of[node->attr<std::string>("key")] = node->input(0).node->input(0).node->name();
    }
  }
  std::vector<std::string> order;
  for (const Channel& channel : cut->channels) order.push_back(variable_of[channel.key]);
  EXPECT_EQ(order, (std::vector<std::string>{"layer0", "layer1", "layer2", "layer3"}));
}

TEST_F(PartitionerTest, HandlesCannotBeSent) {
  Output list;
  {
    const DeviceScope on(g_, "/job:ps/task:0");
    list = OpBuilder(g_, "EmptyTensorList")
               .Arg(Const(g_, int32_t{-1}))
               .Arg(Const(g_, int32_t{3}))
               .Attr("element_dtype", kFloat);
  }
  const DeviceScope on(g_, "/job:worker");
  const Output length = OpBuilder("TensorListLength").Arg(list);
  const auto cut = Cut({length});
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace carillon
