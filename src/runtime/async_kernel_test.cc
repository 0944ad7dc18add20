// Kernels that wait, on a device whose kernels the tests make themselves.
#include <atomic>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "runtime/executable.h"
#include "runtime/resource_store.h"

namespace carillon {
namespace {

// What the waiting kernels of a test share; handed to them as a resource.
class Meeting final : public Resource {
 public:
  ~Meeting() override {
    for (std::thread& thread : threads_) thread.join();
  }
  // Runs `body` on a thread of its own.
  void Spawn(std::function<void()> body) {
    std::lock_guard lock(mutex_);
    threads_.emplace_back(std::move(body));
  }
  // Returns when `count` have arrived.
  void Arrive(int count) {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  int arrived() {
    std::lock_guard lock(mutex_);
    return arrived_;
  }
  std::string DebugString() const override { return "Meeting"; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::vector<std::thread> threads_;
};

StatusOr<std::shared_ptr<Meeting>> MeetingOf(KernelContext& context) {
  return FindOrMakeResource<Meeting>(
      *context.services().resources, "test", "meeting",
      []() -> StatusOr<std::shared_ptr<Resource>> { return std::make_shared<Meeting>(); });
}

// Doubles its input on another thread, once three of its kind have started.
class MeetKernel final : public AsyncKernel {
 public:
  explicit MeetKernel(const KernelRequest&) {}
  void RunAsync(KernelContext& context, Done done) override {
    const std::shared_ptr<Meeting> meeting = *MeetingOf(context);
    meeting->Spawn([&context, meeting = meeting.get(), done = std::move(done)] {
      meeting->Arrive(3);
      context.set_output(0, Tensor::Scalar(context.input(0).scalar<float>() * 2));
      done(absl::OkStatus());
    });
  }
};

// Waits until the step is cancelled.
class WaitKernel final : public AsyncKernel {
 public:
  explicit WaitKernel(const KernelRequest&) {}
  void RunAsync(KernelContext& context, Done done) override {
    uint64_t token = 0;
    const auto stop = [done] { done(absl::CancelledError("stopped waiting")); };
    if (!context.services().cancellation->Register(&token, stop)) stop();
  }
};

class FinishAtOnceKernel final : public AsyncKernel {
 public:
  explicit FinishAtOnceKernel(const KernelRequest&) {}
  void RunAsync(KernelContext& context, Done done) override {
    context.set_output(0, context.input(0));
    done(absl::OkStatus());
  }
};

Status RunAdd(KernelContext& context) {
  context.set_output(
      0, Tensor::Scalar(context.input(0).scalar<float>() + context.input(1).scalar<float>()));
  return absl::OkStatus();
}
Status RunFail(KernelContext&) { return absl::DataLossError("failed on purpose"); }
Status RunThrow(KernelContext&) { throw std::runtime_error("thrown on purpose"); }

class AsyncKernelTest : public ::testing::Test {
 protected:
  AsyncKernelTest() {
    table_.Add({{"Relu", "ref", FromClass<MeetKernel>},
                {"Elu", "ref", FromClass<WaitKernel>},
                {"Selu", "ref", FromClass<FinishAtOnceKernel>},
                {"AddV2", "ref", FromFunction<RunAdd>},
                {"Neg", "ref", FromFunction<RunFail>},
                {"Exp", "ref", FromFunction<RunThrow>}});
    device_ = MakeCpuDevice("/job:test/replica:0/task:0");
    device_->kernels = &table_;
    x_ = Add("x", "Placeholder", {}, {{"dtype", kFloat}, {"shape", PartialShape{}}});
  }

  Endpoint Add(const std::string& name, const std::string& op, std::vector<Endpoint> inputs,
               AttrMap attrs = {{"T", kFloat}}) {
    return {*graph_.Add({.name = name, .op = op, .inputs = inputs, .attrs = attrs}), 0};
  }

  StatusOr<float> Run(const Endpoint& fetch, int times = 1) {
    Signature signature{.feeds = {x_}, .feed_shapes = {Shape{}}, .fetches = {fetch}};
    CARILLON_ASSIGN_OR_RETURN(
        const std::unique_ptr<Executable> executable,
        Executable::Make(graph_, signature, device_, nullptr, {.optimize = false}));
    EXPECT_FALSE(executable->program().straight_line);
    const std::vector<Tensor> feeds = {Tensor::Scalar(1.0f)};
    std::vector<Tensor> fetches;
    for (int i = 0; i < times; ++i) {
      MapResourceStore resources;
      const StepArgs args{.feeds = feeds, .resources = &resources, .cancellation = &cancellation_};
      CARILLON_RETURN_IF_ERROR(executable->Run(args, &fetches));
    }
    return fetches[0].scalar<float>();
  }

  NodeGraph graph_;
  KernelTable table_;
  std::shared_ptr<Device> device_;
  CancellationSource cancellation_;
  Endpoint x_;
};

TEST_F(AsyncKernelTest, AllThatCanWaitWaitAtOnce) {
  // Each of the three finishes only when the others have started.
  const Endpoint a = Add("a", "Relu", {x_}), b = Add("b", "Relu", {x_}), c = Add("c", "Relu", {x_});
  const Endpoint sum = Add("sum", "AddV2", {Add("ab", "AddV2", {a, b}), c});
  EXPECT_EQ(*Run(sum, 20), 6);
}

TEST_F(AsyncKernelTest, MayFinishAtOnce) {
  Endpoint y = x_;
  for (int i = 0; i < 10; ++i) y = Add("y" + std::to_string(i), "Selu", {y});
  EXPECT_EQ(*Run(y, 3), 1);
}

TEST_F(AsyncKernelTest, AnErrorStopsWhatWaits) {
  const Endpoint waits = Add("waits", "Elu", {x_}), fails = Add("fails", "Neg", {x_});
  const Status status = Run(Add("sum", "AddV2", {waits, fails})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("{{node fails}}"), std::string::npos) << status;
  EXPECT_NE(status.message().find("float[]"), std::string::npos) << status;
}

TEST_F(AsyncKernelTest, WhatAKernelThrowsIsAnError) {
  const Endpoint waits = Add("waits", "Elu", {x_}), fails = Add("fails", "Exp", {x_});
  const Status status = Run(Add("sum", "AddV2", {waits, fails})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(status.message().find("thrown on purpose"), std::string::npos) << status;
}

TEST_F(AsyncKernelTest, CancellationEndsAStepWithItsReason) {
  const Endpoint waits = Add("waits", "Elu", {x_});
  std::thread canceller([&] { cancellation_.Cancel(absl::DeadlineExceededError("too late")); });
  const Status status = Run(waits).status();
  canceller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

}  // namespace
}  // namespace carillon
