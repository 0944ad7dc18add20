// Parameter servers and workers in one process, over real gRPC.
#include <algorithm>
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "captured_log.h"
#include "carillon/carillon.h"
#include "free_port.h"

namespace carillon {
namespace {

std::string Local(int port) { return "127.0.0.1:" + std::to_string(port); }

class ParameterServerTest : public testing::Test {
 protected:
  ParameterServerTest() {
    for (const auto& [job, tasks] : {std::pair<std::string, int>{"ps", 2}, {"worker", 2}}) {
      std::vector<std::string> addresses;
      for (int i = 0; i < tasks; ++i) addresses.push_back(Local(FreePort()));
      cluster_.AddJob(job, addresses);
    }
  }
  std::unique_ptr<Server> Start(const std::string& job, int task) const {
    return std::make_unique<Server>(ServerOptions{.job = job,
                                                  .task = task,
                                                  .cluster = cluster_,
                                                  .connect_deadline = std::chrono::seconds(20)});
  }

  ClusterSpec cluster_;
};

TEST_F(ParameterServerTest, WorkersShareTheVariablesOfThePs) {
  const auto ps0 = Start("ps", 0), ps1 = Start("ps", 1);
  const auto worker0 = Start("worker", 0), worker1 = Start("worker", 1);
  struct Replica {
    Replica(const ClusterSpec& cluster, int task) {
      const DeviceScope on(g, ReplicaDeviceSetter(cluster, {.worker_task = task}));
      const Variable a(g, "a", Tensor::FromVector<float>({1, 2}));
      const Variable b(g, "b", Tensor::FromVector<float>({10, 20}));
      sum = a.read() + b.read();
      update = Group({a.AssignAdd(Const(g, {1.0f, 1.0f})), b.AssignAdd(sum)});
      devices = {a.handle().op().device(), b.handle().op().device(), sum.op().device()};
      init = GlobalVariablesInitializer(g);
    }
    static Operation Group(const std::vector<Operation>& ops) {
      OpBuilder group(ops[0].graph(), "NoOp");
      for (const Operation& op : ops) group.After(op);
      return group.Build();
    }
    Graph g;
    Output sum;
    Operation update, init;
    std::vector<std::string> devices;
  };
  Replica first(cluster_, 0), second(cluster_, 1);
  EXPECT_EQ(first.devices,
            (std::vector<std::string>{"/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0"}));
  Session chief(worker0->target(), first.g), other(worker1->target(), second.g);
  try {
    other.Run(second.sum);
    FAIL() << "an uninitialised variable was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
  }
  chief.Run(first.init);
  EXPECT_EQ(other.Run(second.sum).data<float>()[1], 22);
  for (int i = 0; i < 20; ++i) chief.Run(first.update);
  const Tensor seen = other.Run(second.sum);
  EXPECT_EQ(chief.Run(first.sum).ToString(), seen.ToString());
  // A worker that is restarted finds the model.
  other.Close();
  Session again(worker1->target(), second.g);
  EXPECT_EQ(again.Run(second.sum).ToString(), seen.ToString());
}

TEST_F(ParameterServerTest, TheOnlyTaskOfAClusterNeedsNoName) {
  ClusterSpec cluster;
  cluster.AddJob("lonely", ClusterSpec::Tasks{{3, Local(FreePort())}});
  const Server server({.cluster = cluster});
  EXPECT_EQ(server.target(), "grpc://" + cluster.address("lonely", 3));
  Graph g;
  const DeviceScope on(g, "/job:lonely/task:3");
  Session session(server.target(), g);
  EXPECT_EQ(session.Run(Const(g, 1.0f) + Const(g, 2.0f)).scalar<float>(), 3);
}

TEST_F(ParameterServerTest, PlacementsOfAllTasksAreLoggedAndTraced) {
  const auto ps0 = Start("ps", 0), ps1 = Start("ps", 1);
  Server worker({.job = "worker", .task = 0, .cluster = cluster_, .log_device_placement = true});
  Graph g;
  const Output x = Placeholder(g, kFloat, {});
  Output there;
  {
    const DeviceScope on(g, "/job:ps/task:1");
    there = x * x;
  }
  const Output here = there + x;
  Session session(worker.target(), g);
  CapturedLog captured;
  RunMetadata metadata;
  session.Run({here, there}, {{x, Tensor::Scalar(2.0f)}}, {}, {.trace = true}, &metadata);
  const std::string log = captured.End();
  const auto says = [&](const Output& node, const std::string& device) {
    return log.find(" " + node.op().name() + ": (" + node.op().type() + "): " + device + "\n") !=
           std::string::npos;
  };
  EXPECT_TRUE(says(there, "/job:ps/replica:0/task:1/device:CPU:0")) << log;
  EXPECT_TRUE(says(here, "/job:worker/replica:0/task:0/device:CPU:0")) << log;
  const auto ran_on = [&](const Output& value) -> std::string {
    const auto found = std::ranges::find(metadata.nodes, value.op().name(), &NodeTiming::node);
    if (found == metadata.nodes.end()) return "nowhere";
    EXPECT_EQ(found->op, value.op().type());
    return found->device;
  };
  EXPECT_EQ(ran_on(there), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(ran_on(here), "/job:worker/replica:0/task:0/device:CPU:0");
}

TEST_F(ParameterServerTest, PartialRunsSpanTasks) {
  const auto ps0 = Start("ps", 0), worker0 = Start("worker", 0);
  Graph g;
  const Output a = Placeholder(g, kFloat, {}), b = Placeholder(g, kFloat, {});
  Output there;
  {
    const DeviceScope on(g, "/job:ps/task:0");
    there = a + a;
  }
  const Output here = there * b;
  Session session(worker0->target(), g);
  for (int i = 0; i < 10; ++i) {
    PartialRun run = session.MakePartialRun({a, b}, {there, here});
    EXPECT_EQ(run.Run({there}, {{a, Tensor::Scalar(2.0f)}})[0].scalar<float>(), 4);
    EXPECT_EQ(run.Run({here}, {{b, Tensor::Scalar(3.0f)}})[0].scalar<float>(), 12);
  }
}

TEST_F(ParameterServerTest, IsolatedSessionsShareNothingOnThePs) {
  const auto ps0 = Start("ps", 0);
  const Server worker({.job = "worker",
                       .task = 0,
                       .cluster = cluster_,
                       .default_session_config = "\x78\x01"});  // isolate_session_state: true
  Graph g;
  const DeviceScope on(g, "/job:ps/task:0");
  const Variable n(g, "n", Tensor::Scalar(1.0f));
  Session first(worker.target(), g), second(worker.target(), g);
  first.Run(GlobalVariablesInitializer(g));
  EXPECT_EQ(first.Run(n.read()).scalar<float>(), 1);
  try {
    second.Run(n.read());
    FAIL() << "the sessions share a variable";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
  }
}

TEST_F(ParameterServerTest, TasksAreFoundByName) {
  ClusterSpec cluster;
  for (const char* job : {"ps", "worker"})
    cluster.AddJob(job, std::vector<std::string>{"localhost:" + std::to_string(FreePort())});
  const Server ps({.job = "ps", .cluster = cluster}), worker({.job = "worker", .cluster = cluster});
  Graph g;
  const Output x = Placeholder(g, kFloat, {});
  const DeviceScope on(g, "/job:ps");
  Session session(worker.target(), g);
  EXPECT_EQ(session.Run(x + x, {{x, Tensor::Scalar(3.0f)}}).scalar<float>(), 6);
}

// The limit of a session is its master's, and holds on each task that its steps spread over.
TEST_F(ParameterServerTest, MemoryOfASessionIsLimitedOnEveryTask) {
  const auto ps0 = Start("ps", 0);
  const auto free_worker = Start("worker", 1);
  const Server worker(
      {.job = "worker", .task = 0, .cluster = cluster_, .session_memory_limit_bytes = 16 << 20});
  Graph g;
  const Output n = Placeholder(g, kInt32, {1});
  Output filled_there, sent;
  {
    const DeviceScope on(g, "/job:worker/task:0");
    sent = Fill(n, 1.0f);
  }
  Output queue;
  Operation put, put_sent, take;
  {
    const DeviceScope on(g, "/job:ps/task:0");
    filled_there = Sum(Fill(n, 1.0f));
    queue = FIFOQueue(g, {kFloat}, {.capacity = 100});
    put = QueueEnqueue(queue, {Fill(n, 1.0f)});
    put_sent = QueueEnqueue(queue, {sent});
    take = QueueDequeue(queue)[0].op();
  }
  const Output added_here = Sum(Fill(n, 1.0f)) + filled_there;  // on both tasks
  const auto run = [&](Session& session, const Operation& op, int32_t mebibytes) -> std::string {
    try {
      session.Run(op, {{n, Tensor::FromVector<int32_t>({mebibytes << 18})}});
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.what();
      return error.what();
    }
  };
  Session session(worker.target(), g), other(free_worker->target(), g);
  const auto expect_full = [&](const std::string& message, const std::string& task) {
    EXPECT_NE(message.find(task), std::string::npos) << message;
  };
  EXPECT_EQ(run(session, filled_there.op(), 4), "");
  expect_full(run(session, filled_there.op(), 20), "/job:ps/replica:0/task:0");
  EXPECT_EQ(run(other, filled_there.op(), 20), "");  // its master sets no limit
  expect_full(run(session, added_here.op(), 20), "/job:");
  // What steps leave behind counts, and so does what came from another task.
  for (const Operation& op : {put, put_sent}) {
    EXPECT_EQ(run(session, op, 6), "");
    EXPECT_EQ(run(session, op, 6), "");
    expect_full(run(session, op, 6), "/job:ps/replica:0/task:0");
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run(session, take, 1), "");
    EXPECT_EQ(run(session, op, 6), "");
    EXPECT_EQ(run(session, take, 1), "");
  }
  EXPECT_EQ(run(other, put, 20), "");
}

TEST_F(ParameterServerTest, ATaskWithoutRoomFailsTheStepAlone) {
  for (const Transport transport : {Transport::kAutomatic, Transport::kGrpc}) {
    const Server ps({.job = "ps",
                     .task = 0,
                     .cluster = cluster_,
                     .transport = transport,
                     .memory_limit_bytes = 16 << 20});
    const Server worker({.job = "worker", .task = 0, .cluster = cluster_, .transport = transport});
    Graph g;
    const Output n = Placeholder(g, kInt32, {1});
    Output sent, received, count;
    Operation add;
    {
      const DeviceScope on(g, "/job:worker/task:0");
      sent = Fill(n, 1.0f);
    }
    {
      const DeviceScope on(g, "/job:ps/task:0");
      received = Sum(sent);
      const Variable v(g, "count", Const(g, 0.0f));
      add = v.AssignAdd(Const(g, 1.0f));
      count = v.read();
    }
    Session session(worker.target(), g), other(worker.target(), g);
    session.Run(GlobalVariablesInitializer(g));
    const auto with = [&](int32_t mebibytes) {
      return Feeds{{n, Tensor::FromVector<int32_t>({mebibytes << 18})}};
    };
    EXPECT_EQ(session.Run(received, with(4)).scalar<float>(), 1 << 20);
    for (int i = 0; i < 3; ++i) {
      try {
        session.Run(received, with(20));
        ADD_FAILURE() << "20 MiB had room";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kResourceExhausted) << error.what();
      }
      other.Run(add);
      EXPECT_EQ(other.Run(count).scalar<float>(), static_cast<float>(i + 1));
    }
    EXPECT_EQ(session.Run(received, with(4)).scalar<float>(), 1 << 20);
  }
}

TEST_F(ParameterServerTest, AWorkerNeedsOnlyThePs) {
  const auto ps0 = Start("ps", 0);
  const auto worker0 = Start("worker", 0);
  Graph g;
  Output doubled;
  {
    const DeviceScope on(g, "/job:ps/task:0");
    doubled = Const(g, 21.0f) * Placeholder(g, kFloat, {});
  }
  Session session(worker0->target(), g);
  EXPECT_EQ(session.Run(doubled, {{doubled.op().input(1), Tensor::Scalar(2.0f)}}).scalar<float>(),
            42);
}

TEST_F(ParameterServerTest, ARestartedPsHasForgotten) {
  auto ps0 = Start("ps", 0);
  const auto worker0 = Start("worker", 0);
  Graph g;
  const DeviceScope on(g, ReplicaDeviceSetter(ClusterSpec{{"ps", {"x:1"}}}, {.worker_task = 0}));
  const Variable v(g, "v", Tensor::Scalar(5.0f));
  const Output read = v.read() * 1.0f;
  {
    Session session(worker0->target(), g);
    session.Run(GlobalVariablesInitializer(g));
    EXPECT_EQ(session.Run(read).scalar<float>(), 5);
    ps0.reset();
    ps0 = Start("ps", 0);
    // What the session had there is gone with it.
    try {
      session.Run(read);
      FAIL() << "a restarted task knew the session";
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Code::kAborted || error.code() == Code::kUnavailable)
          << error.what();
    }
  }
  Session session(worker0->target(), g);
  try {
    session.Run(read);
    FAIL() << "the variable survived";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
  }
  session.Run(GlobalVariablesInitializer(g));
  EXPECT_EQ(session.Run(read).scalar<float>(), 5);
}

TEST_F(ParameterServerTest, ADeadPsIsNamed) {
  auto ps0 = Start("ps", 0);
  const auto worker0 = Start("worker", 0);
  Graph g;
  Output waiting;
  {
    const DeviceScope on(g, "/job:ps/task:0");
    const Output queue = OpBuilder(g, "FIFOQueueV2")
                             .Attr("component_types", std::vector<DType>{kFloat})
                             .Build()
                             .output(0);
    waiting = OpBuilder("QueueDequeueV2")
                  .Arg(queue)
                  .Attr("component_types", std::vector<DType>{kFloat})
                  .Build()
                  .output(0);
  }
  const DeviceScope on(g, "/job:worker/task:0");
  const Output result = waiting + 1.0f;
  Session session(worker0->target(), g);
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the step has begun, or not
    ps0.reset();
  });
  try {
    session.Run(result);
    ADD_FAILURE() << "a step of a dead task ended well";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/job:ps/replica:0/task:0"), std::string::npos)
        << error.what();
  }
  killer.join();
}

// Both workers at once, each at its own pace: the model of all learns.
TEST_F(ParameterServerTest, AsynchronousTrainingLearns) {
  const auto ps0 = Start("ps", 0), ps1 = Start("ps", 1);
  std::vector<std::unique_ptr<Server>> workers;
  for (int i = 0; i < 2; ++i) workers.push_back(Start("worker", i));
  std::vector<float> last(2);
  std::vector<std::thread> threads;
  std::atomic<bool> is_initialised{false};
  for (int task = 0; task < 2; ++task) {
    threads.emplace_back([&, task] {
      Graph g;
      g.SetSeed(task + 1);
      const DeviceScope on(g, ReplicaDeviceSetter(cluster_, {.worker_task = task}));
      const Output x = RandomStandardNormal(g, {32, 4});
      const Output wanted =
          MatMul(x, Const(g, Tensor::FromVector<float>({1, -2, 3, 0.5f}, {4, 1})));
      const Variable w(g, "w", {4, 1}, init::Zeros());
      const Variable b(g, "b", {1}, init::Zeros());
      const Output loss = Mean(Square(MatMul(x, w.read()) + b.read() - wanted), {0, 1});
      const Operation train = GradientDescent(0.05).Minimize(loss);
      Session session(*workers[static_cast<size_t>(task)], g);
      if (task == 0) {
        session.Run(GlobalVariablesInitializer(g));
        is_initialised = true;
      }
      while (!is_initialised) std::this_thread::yield();
      for (int step = 0; step < 150; ++step) session.Run(train);
      last[static_cast<size_t>(task)] = session.Run(loss).scalar<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const float loss : last) EXPECT_LT(loss, 0.01f);
}

TEST_F(ParameterServerTest, AllMissingTasksAreNamedInOneMessage) {
  const Server worker({.job = "worker",
                       .task = 0,
                       .cluster = cluster_,
                       .connect_deadline = std::chrono::milliseconds(700)});
  Graph g;
  std::vector<Output> values;
  for (const char* task : {"/job:ps/task:0", "/job:ps/task:1"}) {
    const DeviceScope on(g, task);
    values.push_back(Const(g, 1.0f) + Placeholder(g, kFloat, {}));
  }
  const DeviceScope on(g, "/job:worker/task:0");
  const Output sum = values[0] + values[1];
  Session session(worker.target(), g);
  try {
    session.Run(sum, {{values[0].op().input(1), Tensor::Scalar(1.0f)},
                      {values[1].op().input(1), Tensor::Scalar(1.0f)}});
    FAIL() << "nobody was missed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable) << error.what();
    for (int task = 0; task < 2; ++task) {
      const std::string name = "/job:ps/replica:0/task:" + std::to_string(task) + " at " +
                               cluster_.address("ps", task) + " is not there; tried for";
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
}

// A step on `task`, so that it hears of whoever runs it.
void TouchFrom(const Server& server, const std::string& task) {
  Graph g;
  const DeviceScope on(g, task);
  const Output value = Const(g, 1.0f) + Placeholder(g, kFloat, {});
  Session session(server.target(), g);
  session.Run(value, {{value.op().input(1), Tensor::Scalar(2.0f)}});
}

TEST_F(ParameterServerTest, TheJobEndsWhenAllWorkersAreDone) {
  const auto ps0 = Start("ps", 0), ps1 = Start("ps", 1);
  auto worker0 = Start("worker", 0), worker1 = Start("worker", 1);
  auto first = std::async(std::launch::async, [&] { return ps0->Join(); });
  auto second = std::async(std::launch::async, [&] { return ps1->Join(); });
  // A worker that only serves is done when its master is.
  auto serving = std::async(std::launch::async, [&] {
    worker1->Join();
    worker1.reset();
  });
  TouchFrom(*worker0, "/job:ps/task:0");  // the other ps never hears of it before its end
  TouchFrom(*worker0, "/job:worker/task:1");
  EXPECT_EQ(first.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  worker0.reset();
  EXPECT_EQ(first.get(), 0);
  EXPECT_EQ(second.get(), 0);
  serving.get();
}

TEST_F(ParameterServerTest, AWorkerThatFailsIsNotDone) {
  const auto ps0 = Start("ps", 0);
  auto worker1 = Start("worker", 1);
  auto join = std::async(std::launch::async, [&] { return ps0->Join(); });
  try {
    const auto worker0 = Start("worker", 0);
    TouchFrom(*worker0, "/job:ps/task:0");
    throw std::runtime_error("the program has failed");
  } catch (const std::runtime_error&) {
  }
  worker1.reset();
  EXPECT_EQ(join.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  Start("worker", 0).reset();  // it comes back, and ends well
  EXPECT_EQ(join.get(), 0);
}

TEST_F(ParameterServerTest, JoinReturnsWhenTheServerIsStopped) {
  const auto ps0 = Start("ps", 0);
  auto join = std::async(std::launch::async, [&] { return ps0->Join(); });
  ps0->Stop();
  EXPECT_EQ(join.get(), 0);
}

}  // namespace
}  // namespace carillon
