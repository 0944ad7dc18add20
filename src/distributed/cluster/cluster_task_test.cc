// Steps of several tasks in one process, over queues in the place of a network.
#include "distributed/cluster/cluster_task.h"

#include <condition_variable>
#include <deque>
#include <gtest/gtest.h>
#include <thread>

#include "base/strings.h"
#include "carillon/carillon.h"
#include "eventually.h"
#include "proto/step_stats.pb.h"
#include "runtime/executable.h"

namespace carillon {
namespace {

// Brings messages to each task in order, on a thread of the task's own.
class Queues {
 public:
  ~Queues() { Stop(); }

  void Add(ClusterTask* task) {
    auto inbox = std::make_unique<Inbox>();
    inbox->task = task;
    inbox->thread = std::thread([this, box = inbox.get()] { Loop(*box); });
    std::lock_guard lock(mutex_);
    inboxes_[task->name()] = std::move(inbox);
  }
  void Stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (auto& [name, inbox] : inboxes_) {
      if (inbox->thread.joinable()) inbox->thread.join();
    }
  }

  // For the sake of the sender's name each task has a messenger of its own.
  class Sender final : public TaskMessenger {
   public:
    Sender(Queues* queues, std::string from) : queues_(queues), from_(std::move(from)) {}
    Status Send(const std::string& task, TaskMessage message) override {
      return queues_->SendFrom(from_, task, std::move(message));
    }

   private:
    Queues* const queues_;
    const std::string from_;
  };

  // From then on `task` gets nothing.
  void Cut(const std::string& task) {
    std::lock_guard lock(mutex_);
    inboxes_.at(task)->cut = true;
  }
  // From then on no value can be sent.
  void Refuse(const Status& why) {
    std::lock_guard lock(mutex_);
    refusal_ = why;
  }
  size_t sent() {
    std::lock_guard lock(mutex_);
    return sent_;
  }
  // The values that came to `task`, in their order.
  std::vector<Tensor> delivered_to(const std::string& task) {
    std::lock_guard lock(mutex_);
    return inboxes_.at(task)->delivered;
  }

 private:
  struct Inbox {
    ClusterTask* task;
    std::deque<std::pair<std::string, TaskMessage>> messages;
    std::vector<Tensor> delivered;
    bool cut = false;
    std::thread thread;
  };

  Status SendFrom(const std::string& from, const std::string& to, TaskMessage message) {
    std::lock_guard lock(mutex_);
    const auto inbox = inboxes_.find(to);
    if (inbox == inboxes_.end())
      return absl::UnavailableError(StrCat("there is no task '", to, "'"));
    if (!refusal_.ok() && std::holds_alternative<Deliver>(message)) return refusal_;
    ++sent_;
    if (const auto* deliver = std::get_if<Deliver>(&message))
      inbox->second->delivered.push_back(deliver->value);
    if (!inbox->second->cut) inbox->second->messages.emplace_back(from, std::move(message));
    changed_.notify_all();
    return absl::OkStatus();
  }

  void Loop(Inbox& inbox) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopping_ || !inbox.messages.empty(); });
      if (inbox.messages.empty()) return;
      auto [from, message] = std::move(inbox.messages.front());
      inbox.messages.pop_front();
      lock.unlock();
      inbox.task->Handle(from, std::move(message));
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::unique_ptr<Inbox>> inboxes_;
  size_t sent_ = 0;
  Status refusal_;
  bool stopping_ = false;
};

const std::string kWorker = "/job:worker/replica:0/task:0", kPs0 = "/job:ps/replica:0/task:0",
                  kPs1 = "/job:ps/replica:0/task:1";

class ClusterTaskTest : public testing::Test {
 protected:
  struct TaskOfTest {
    explicit TaskOfTest(const std::string& name, Queues* queues)
        : device(MakeCpuDevice(name)),
          sender(queues, name),
          task(name, {.device = device, .threads = 1, .resources = &resources}, &sender) {}
    std::shared_ptr<Device> device;
    MapResourceStore resources;
    Queues::Sender sender;
    ClusterTask task;
  };

  ClusterTaskTest() {
    for (const std::string& name : {kWorker, kPs0, kPs1}) {
      tasks_[name] = std::make_unique<TaskOfTest>(name, &queues_);
      queues_.Add(&tasks_[name]->task);
    }
  }
  ~ClusterTaskTest() override {
    // The tasks end what runs while messages still flow.
    for (auto& [name, task] : tasks_) task->task.TaskLost(kWorker, absl::CancelledError("the end"));
    queues_.Stop();
  }

  ClusterTask& master() { return tasks_[kWorker]->task; }

  struct Program {
    std::shared_ptr<StepProgram> program;
    std::vector<Tensor> feeds;
  };

  StatusOr<Program> Prepare(const std::vector<Output>& fetches,
                            const std::vector<std::pair<Output, Tensor>>& feeds = {},
                            const std::vector<Operation>& targets = {},
                            const ProgramOptions& options = {.session = "test"}) {
    Signature signature;
    Program program;
    for (const auto& [feed, value] : feeds) {
      signature.feeds.push_back({feed.node(), feed.index()});
      signature.feed_shapes.push_back(value.shape());
      program.feeds.push_back(value);
    }
    for (const Output& fetch : fetches) signature.fetches.push_back({fetch.node(), fetch.index()});
    for (const Operation& target : targets) signature.targets.push_back(target.node());
    CARILLON_ASSIGN_OR_RETURN(PartitionedGraph parts,
                              SpecializeInParts(g_.nodes(), signature,
                                                {kWorker + "/device:CPU:0", kPs0 + "/device:CPU:0",
                                                 kPs1 + "/device:CPU:0"},
                                                *tasks_[kWorker]->device, {}));
    CARILLON_ASSIGN_OR_RETURN(program.program,
                              master().coordinator().Register(std::move(parts), options));
    return program;
  }

  // 3 goes to the ps, is doubled there, and comes back to be added to itself.
  StatusOr<Program> PrepareRoundTrip() {
    const Output x = Placeholder(g_, kFloat, {});
    Output there;
    {
      const DeviceScope on(g_, "/job:ps/task:0");
      there = x * 2.0f;
    }
    const DeviceScope on(g_, "/job:worker");
    return Prepare({there + x}, {{x, Tensor::Scalar(3.0f)}});
  }

  static StatusOr<std::vector<Tensor>> Run(const Program& program,
                                           CancellationSource* cancellation = nullptr) {
    CancellationSource own;
    std::vector<Tensor> results;
    CARILLON_RETURN_IF_ERROR(program.program->Run(
        {.feeds = program.feeds, .cancellation = cancellation == nullptr ? &own : cancellation},
        &results));
    return results;
  }
  StatusOr<std::vector<Tensor>> RunOnce(const std::vector<Output>& fetches,
                                        const std::vector<std::pair<Output, Tensor>>& feeds = {},
                                        const std::vector<Operation>& targets = {}) {
    CARILLON_ASSIGN_OR_RETURN(const Program program, Prepare(fetches, feeds, targets));
    return Run(program);
  }

  Graph g_;
  Queues queues_;
  std::map<std::string, std::unique_ptr<TaskOfTest>> tasks_;
};

TEST_F(ClusterTaskTest, ValuesGoRoundTheTasks) {
  const Output x = Placeholder(g_, kFloat, {2});
  Output a, b;
  {
    const DeviceScope on(g_, "/job:ps/task:0");
    a = x * 2.0f;
  }
  {
    const DeviceScope on(g_, "/job:ps/task:1");
    b = a + 1.0f;
  }
  const DeviceScope on(g_, "/job:worker");
  const Output y = b * x;
  const auto program = Prepare({y, b}, {{x, Tensor::FromVector<float>({1, 2})}});
  ASSERT_TRUE(program.ok()) << program.status();
  for (int i = 0; i < 100; ++i) {
    const auto results = Run(*program);
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ((*results)[0].values<float>()[1], 10);
    EXPECT_EQ((*results)[1].values<float>()[0], 3);
  }
  for (const auto& [name, task] : tasks_) EXPECT_EQ(task->task.worker().num_steps(), 0);
}

TEST_F(ClusterTaskTest, ATraceTellsOfAllTasks) {
  const auto program = PrepareRoundTrip();
  ASSERT_TRUE(program.ok()) << program.status();
  CancellationSource cancellation;
  StepTrace trace;
  std::vector<Tensor> results;
  ASSERT_TRUE(
      program->program
          ->Run({.feeds = program->feeds, .cancellation = &cancellation, .trace = &trace}, &results)
          .ok());
  std::map<std::string, std::vector<std::string>> ran;
  for (const std::string& bytes : trace.step_stats) {
    tensorflow::StepStats stats;
    ASSERT_TRUE(stats.ParseFromString(bytes));
    for (const auto& device : stats.dev_stats()) {
      for (const auto& node : device.node_stats()) ran[device.device()].push_back(node.node_name());
    }
  }
  const auto has = [&](const std::string& task, const std::string& node) {
    return std::ranges::count(ran[task + "/device:CPU:0"], node) == 1;
  };
  EXPECT_EQ(ran.size(), 2);
  EXPECT_TRUE(has(kPs0, "Mul"));
  EXPECT_TRUE(has(kWorker, "AddV2"));
}

TEST_F(ClusterTaskTest, AProgramShowsTheGraphsOfAllTasks) {
  const auto program = PrepareRoundTrip();
  ASSERT_TRUE(program.ok()) << program.status();
  std::map<std::string, std::string> where;
  for (const NodeGraph* graph : program->program->graphs()) {
    for (const auto& node : graph->nodes()) {
      if (node != nullptr) where[node->name()] = node->device();
    }
  }
  EXPECT_EQ(where["Mul"], kPs0 + "/device:CPU:0");
  EXPECT_EQ(where["AddV2"], kWorker + "/device:CPU:0");
}

TEST_F(ClusterTaskTest, TemporaryProgramsAreForgotten) {
  const Output x = Placeholder(g_, kFloat, {});
  const DeviceScope on(g_, "/job:ps/task:0");
  const Output y = x * 2.0f;
  auto program =
      Prepare({y}, {{x, Tensor::Scalar(3.0f)}}, {}, {.session = "test", .is_temporary = true});
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(Run(*program).ok());
  EXPECT_EQ(tasks_[kPs0]->task.worker().num_programs(), 1);
  program->program.reset();
  EXPECT_TRUE(Eventually([&] { return tasks_[kPs0]->task.worker().num_programs() == 0; }));
}

// Start of two tasks, a value each way, two answers: nothing else in a step.
TEST_F(ClusterTaskTest, AStepTakesFewMessages) {
  const auto program = PrepareRoundTrip();
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(Run(*program).ok());
  const size_t before = queues_.sent();
  const auto results = Run(*program);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<float>(), 9);
  EXPECT_EQ(queues_.sent() - before, 3);  // start, value, done: the worker's own stay at home
}

TEST_F(ClusterTaskTest, VariablesStayOnTheirTasks) {
  std::vector<Variable> variables;
  for (const char* device : {"/job:ps/task:0", "/job:ps/task:1"}) {
    const DeviceScope on(g_, device);
    variables.emplace_back(g_, "v", Input(Tensor::FromVector<float>({1, 2, 3})));
  }
  const DeviceScope on(g_, "/job:worker");
  const Output sum = variables[0].read() + variables[1].read();
  std::vector<Operation> updates;
  for (const Variable& variable : variables) updates.push_back(variable.AssignAdd(sum));
  const auto uninitialized = RunOnce({sum});
  EXPECT_EQ(uninitialized.status().code(), absl::StatusCode::kFailedPrecondition)
      << uninitialized.status();
  ASSERT_TRUE(RunOnce({}, {}, {variables[0].initializer(), variables[1].initializer()}).ok());
  ASSERT_TRUE(RunOnce({}, {}, updates).ok());
  const auto results = RunOnce({sum});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].values<float>()[2], 18);
}

TEST_F(ClusterTaskTest, LargeValuesAreSentInTheOrderOfNeed) {
  constexpr int kLayers = 3;
  std::vector<Output> kernels;  // last layer first
  std::vector<Operation> initializers;
  for (int i = kLayers - 1; i >= 0; --i) {
    const DeviceScope on(g_, "/job:ps/task:0");
    const Variable v(g_, StrCat("layer", i), Fill(Const(g_, {100, 100}), static_cast<float>(i)));
    initializers.push_back(v.initializer());
    kernels.push_back(v.read());
  }
  ASSERT_TRUE(RunOnce({}, {}, initializers).ok());
  const DeviceScope on(g_, "/job:worker");
  const Output x = Placeholder(g_, kFloat, {1, 100});
  Output y = x;
  for (int i = 0; i < kLayers; ++i)
    y = MatMul(Relu(y), kernels[static_cast<size_t>(kLayers - 1 - i)]);
  const size_t before = queues_.delivered_to(kWorker).size();
  ASSERT_TRUE(RunOnce({y}, {{x, Tensor(kFloat, {1, 100})}}).ok());
  const std::vector<Tensor> values = queues_.delivered_to(kWorker);
  ASSERT_EQ(values.size(), before + kLayers);
  for (size_t i = 0; i < kLayers; ++i)
    EXPECT_EQ(values[before + i].values<float>()[0], static_cast<float>(i));
}

// What cannot be sent is the step's error, wherever in the step it turns out.
TEST_F(ClusterTaskTest, AValueThatCannotBeSentEndsTheStep) {
  Output there;
  {
    const DeviceScope on(g_, "/job:ps/task:0");
    there = Fill(Const(g_, {100, 100}), Exp(Placeholder(g_, kFloat, {}, "x")));
  }
  const DeviceScope on(g_, "/job:worker");
  const auto program =
      Prepare({there * 2.0f}, {{g_.FindOperation("x").output(0), Tensor::Scalar(1.0f)}});
  ASSERT_TRUE(program.ok()) << program.status();
  queues_.Refuse(absl::UnimplementedError("too large"));
  const auto results = Run(*program);
  EXPECT_EQ(results.status().code(), absl::StatusCode::kUnimplemented) << results.status();
}

TEST_F(ClusterTaskTest, TheFirstErrorEndsTheStepEverywhere) {
  const Output x = Placeholder(g_, kInt32, {});
  Output bad, waits;
  {
    const DeviceScope on(g_, "/job:ps/task:0");
    bad = Div(Input(Tensor::Scalar(int32_t{1})), x);
  }
  {
    const DeviceScope on(g_, "/job:ps/task:1");
    waits = bad + 1;
  }
  const DeviceScope on(g_, "/job:worker");
  const auto results = RunOnce({waits * 2}, {{x, Tensor::Scalar(int32_t{0})}});
  EXPECT_EQ(results.status().code(), absl::StatusCode::kInvalidArgument) << results.status();
  EXPECT_NE(results.status().message().find(bad.node()->name()), std::string::npos)
      << results.status();
  for (const auto& [name, task] : tasks_) EXPECT_EQ(task->task.worker().num_steps(), 0) << name;
}

TEST_F(ClusterTaskTest, ALostTaskEndsItsSteps) {
  const auto program = PrepareRoundTrip();
  ASSERT_TRUE(program.ok()) << program.status();
  queues_.Cut(kPs0);
  StatusOr<std::vector<Tensor>> results(Internal("not run"));
  std::thread runner([&] { results = Run(*program); });
  const Status lost = absl::UnavailableError(kPs0 + " is gone");
  // As often as it takes: the step may not have begun.
  std::atomic<bool> over{false};
  std::thread watcher([&] {
    while (!over) {
      master().TaskLost(kPs0, lost);
      std::this_thread::yield();
    }
  });
  runner.join();
  over = true;
  watcher.join();
  EXPECT_EQ(results.status(), lost);
}

TEST_F(ClusterTaskTest, StepsCanBeCancelled) {
  Output element;
  {
    const DeviceScope on(g_, "/job:ps/task:0");
    const Operation queue =
        OpBuilder(g_, "FIFOQueueV2").Attr("component_types", std::vector<DType>{kFloat}).Build();
    element = OpBuilder("QueueDequeueV2")
                  .Arg(queue.output(0))
                  .Attr("component_types", std::vector<DType>{kFloat})
                  .Build()
                  .output(0);
  }
  const DeviceScope on(g_, "/job:worker");
  const auto program = Prepare({element + 1.0f});
  ASSERT_TRUE(program.ok()) << program.status();
  CancellationSource cancellation;
  StatusOr<std::vector<Tensor>> results(Internal("not run"));
  std::thread runner([&] { results = Run(*program, &cancellation); });
  while (tasks_[kPs0]->task.worker().num_steps() == 0) std::this_thread::yield();
  const Status reason = absl::DeadlineExceededError("enough");
  cancellation.Cancel(reason);
  runner.join();
  EXPECT_EQ(results.status(), reason);
  // And one that is cancelled before it begins.
  EXPECT_EQ(Run(*program, &cancellation).status(), reason);
}

TEST_F(ClusterTaskTest, ATaskThatForgotSaysSo) {
  Output there;
  {
    const DeviceScope on(g_, "/job:ps/task:0");
    there = OpBuilder(g_, "RandomStandardNormal")
                .Arg(Tensor::FromVector<int32_t>({2}))
                .Attr("dtype", kFloat)
                .Build()
                .output(0);
  }
  const auto program = Prepare({there});
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_TRUE(Run(*program).ok());
  EXPECT_EQ(tasks_[kPs0]->task.worker().num_programs(), 1);
  master().EndSession("test", {kPs0, kWorker});
  const auto results = Run(*program);
  EXPECT_EQ(results.status().code(), absl::StatusCode::kAborted) << results.status();
  EXPECT_EQ(tasks_[kPs0]->task.worker().num_programs(), 0);
}

TEST_F(ClusterTaskTest, TasksThatDoNotAnswerAreNamed) {
  Output there;
  {
    const DeviceScope on(g_, "/job:ps/task:1");
    there = Const(g_, 1.0f) + Placeholder(g_, kFloat, {});
  }
  queues_.Cut(kPs1);
  const Output x = there.op().input(1);
  const auto program =
      Prepare({there}, {{x, Tensor::Scalar(1.0f)}}, {},
              {.session = "test", .registration_deadline = std::chrono::milliseconds(50)});
  EXPECT_EQ(program.status().code(), absl::StatusCode::kDeadlineExceeded) << program.status();
  EXPECT_NE(program.status().message().find(kPs1), std::string::npos) << program.status();
}

TEST_F(ClusterTaskTest, ManyStepsAtOnce) {
  const Output x = Placeholder(g_, kFloat, {});
  Variable counter = [&] {
    const DeviceScope on(g_, "/job:ps/task:0");
    return Variable(g_, "counter", Input(Tensor::Scalar(0.0f)));
  }();
  ASSERT_TRUE(RunOnce({}, {}, {counter.initializer()}).ok());
  const DeviceScope on(g_, "/job:worker");
  const Operation update = counter.AssignAdd(Exp(x));
  const auto program = Prepare({}, {{x, Tensor::Scalar(0.0f)}}, {update});
  ASSERT_TRUE(program.ok()) << program.status();
  constexpr int kThreads = 4, kSteps = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kSteps; ++k) EXPECT_TRUE(Run(*program).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto results = RunOnce({counter.read()});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].scalar<float>(), kThreads * kSteps);
}

}  // namespace
}  // namespace carillon
