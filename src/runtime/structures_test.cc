// Queues, staging areas and kept tensors in sessions: what several steps share.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "carillon/error.h"
#include "carillon/op_builder.h"
#include "carillon/ops/accumulator.h"
#include "carillon/ops/array.h"
#include "carillon/ops/queue.h"
#include "carillon/session.h"
#include "runtime/local_session_test_util.h"
#include "runtime/resource_store.h"

namespace carillon {
namespace {

// Two sessions of one server: they share what has a shared name.
class TwoSessions : public ::testing::Test {
 protected:
  Graph g_;
  MapResourceStore resources_;
  std::shared_ptr<Device> device_ = MakeCpuDevice("/job:test/replica:0/task:0");
};

TEST_F(TwoSessions, ShareWhatHasASharedName) {
  const Output shared = FIFOQueue(g_, {kInt32}, {.shapes = {Shape{}}, .shared_name = "q"});
  const Output own = FIFOQueue(g_, {kInt32}, {.shapes = {Shape{}}});
  const Operation put = QueueEnqueue(shared, {1}), put_own = QueueEnqueue(own, {1});
  const Output size = QueueSize(shared), own_size = QueueSize(own);
  LocalSession a(g_.nodes(), device_, &resources_, {}), b(g_.nodes(), device_, &resources_, {});
  ASSERT_TRUE(RunStep(a, {}, {put, put_own}).ok());
  const auto in_a = *RunStep(a, {size, own_size}), in_b = *RunStep(b, {size, own_size});
  EXPECT_EQ(in_a[0].scalar<int32_t>(), 1);
  EXPECT_EQ(in_a[1].scalar<int32_t>(), 1);
  EXPECT_EQ(in_b[0].scalar<int32_t>(), 1);
  EXPECT_EQ(in_b[1].scalar<int32_t>(), 0);
}

TEST_F(TwoSessions, OneClosesWhileTheOtherWorks) {
  constexpr int kSteps = 300;
  const Output queue =
      FIFOQueue(g_, {kInt32}, {.shapes = {Shape{}}, .capacity = 3, .shared_name = "q"});
  const Operation put = QueueEnqueueMany(queue, {{1, 1, 1, 1, 1}});
  const std::vector<Output> take = QueueDequeueMany(queue, 5),
                            hopeless = QueueDequeueMany(queue, 1 << 30);
  LocalSession worker(g_.nodes(), device_, &resources_, {});
  std::thread producer([&] {
    for (int i = 0; i < kSteps; ++i) EXPECT_TRUE(RunStep(worker, {}, {put}).ok());
  });
  std::atomic<int> cancelled{0};
  std::thread nuisance([&] {
    for (int i = 0; i < 20; ++i) {
      LocalSession other(g_.nodes(), device_, &resources_, {});
      std::thread waits([&] {
        if (absl::IsCancelled(RunStep(other, hopeless).status())) ++cancelled;
      });
      std::this_thread::yield();
      other.Close();
      waits.join();
    }
  });
  int taken = 0;
  for (int i = 0; i < kSteps; ++i)
    taken += static_cast<int>((*RunStep(worker, take))[0].num_elements());
  producer.join();
  nuisance.join();
  EXPECT_EQ(taken, kSteps * 5) << "what a cancelled step took came back";
}

TEST_F(TwoSessions, AccumulateTogether) {
  const Output sum = ConditionalAccumulator(g_, kFloat, {2}, {.sum = true, .shared_name = "acc"});
  const Operation push =
      AccumulatorApplyGradient(sum, Tensor::Scalar<int64_t>(1 << 20), Tensor::Full<float>({2}, 1));
  const Output take = AccumulatorTakeGradient(sum, 1);  // of more the last might be too few
  LocalSession chief(g_.nodes(), device_, &resources_, {});
  std::vector<std::thread> workers;
  for (int w = 0; w < 2; ++w) {
    workers.emplace_back([&] {
      LocalSession session(g_.nodes(), device_, &resources_, {});
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(RunStep(session, {}, {push}).ok());
    });
  }
  float total = 0;
  while (total < 100) total += (*RunStep(chief, {take}))[0].data<float>()[1];
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(total, 100);
}

TEST(StagingAreas, MeetInOneStep) {
  Graph g;
  const auto on_area = [](OpBuilder&& builder) {
    return builder.Attr("shared_name", "area").Attr("capacity", 1).Build();
  };
  std::vector<Operation> puts;
  std::vector<Output> gets;
  for (int i = 0; i < 3; ++i) {
    puts.push_back(on_area(std::move(OpBuilder(g, "Stage").Args(std::vector<Input>{1.0f}))));
    gets.push_back(
        on_area(std::move(OpBuilder(g, "Unstage").Attr("dtypes", std::vector{kFloat}))).output(0));
  }
  Session session(g);
  for (const Tensor& value : session.Run(gets, {}, puts)) EXPECT_EQ(value.scalar<float>(), 1);
}

TEST(SessionTensors, AreKeptUntilDeleted) {
  Graph g;
  const Output handle = OpBuilder(g, "GetSessionHandle").Arg(Tensor::FromVector<float>({1, 2}));
  const Output name = Placeholder(g, kString, Shape{});
  const Output value = OpBuilder("GetSessionTensor").Arg(name).Attr("dtype", kFloat);
  const Operation forget = OpBuilder("DeleteSessionTensor").Arg(name).Build();
  Session session(g);
  const Tensor first = session.Run(handle), second = session.Run(handle);
  EXPECT_NE(first.scalar<std::string>(), second.scalar<std::string>());
  session.Run(forget, {{name, second}});
  EXPECT_EQ(session.Run(value, {{name, first}}).data<float>()[1], 2);
  EXPECT_THROW(session.Run(value, {{name, second}}), Error);
}

TEST(SessionTensors, AreKnownByResourceHandlesToo) {
  Graph g;
  const Output handle = OpBuilder(g, "GetSessionHandleV2").Arg(Tensor::FromVector<float>({1, 2}));
  const Output name = Placeholder(g, kString, Shape{});
  const Output value = OpBuilder("GetSessionTensor").Arg(name).Attr("dtype", kFloat);
  Session session(g);
  const auto kept = session.Run(handle).scalar<ResourceHandle>();
  EXPECT_EQ(kept.container, "TensorHandle");
  EXPECT_EQ(session.Run(value, {{name, Tensor::Scalar(kept.name)}}).data<float>()[1], 2);
}

}  // namespace
}  // namespace carillon
