// A server and its clients in one process, over real gRPC.
#include "carillon/server.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "carillon/carillon.h"
#include "eventually.h"

namespace carillon {
namespace {

Code CodeOf(const std::function<void()>& body, std::string* message = nullptr) {
  try {
    body();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  return Code::kOk;
}

TEST(Server, RunsStepsOfAClient) {
  Server server;
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1, 2});
  const Variable w(g, "w", Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2}));
  const Output y = MatMul(x, w.read());
  Session session(server.target(), g);
  std::string message;
  EXPECT_EQ(CodeOf(
                [&] {
                  session.Run(y, {{x, Tensor::Full<float>({1, 2}, 1.0f)}});
                },
                &message),
            Code::kFailedPrecondition);
  EXPECT_NE(message.find("uninitialized"), std::string::npos) << message;
  session.Run(GlobalVariablesInitializer(g));
  const Tensor result = session.Run(y, {{x, Tensor::Full<float>({1, 2}, 1.0f)}});
  EXPECT_EQ(result.ToString(), Tensor::FromVector<float>({4, 6}, {1, 2}).ToString());
  // The graph grows; the session follows.
  const Output z = y + y;
  EXPECT_EQ(session.Run(z, {{x, Tensor::Full<float>({1, 2}, 1.0f)}}).data<float>()[1], 12.0f);
}

TEST(Server, ItsSessionConfigHoldsOverTheClients) {
  Server server({.default_session_config = "\x78\x01"});  // isolate_session_state: true
  Graph g;
  const Variable n(g, "n", Tensor::Scalar<float>(0));
  Session first(server.target(), g), second(server.target(), g);
  first.Run(GlobalVariablesInitializer(g));
  EXPECT_EQ(CodeOf([&] { second.Run(n.read()); }), Code::kFailedPrecondition);
  EXPECT_EQ(CodeOf([] { Server broken({.default_session_config = "\xff"}); }),
            Code::kInvalidArgument);
}

TEST(Server, SessionsShareVariablesAndTheseOutliveThem) {
  Server server;
  const auto counter = [](Graph& g) { return Variable(g, "n", Tensor::Scalar<float>(0)); };
  {
    Graph g;
    const Variable n = counter(g);
    const Operation add = n.AssignAdd(1.0f);
    Session session(server.target(), g);
    session.Run(GlobalVariablesInitializer(g));
    session.Run(add);
  }
  EXPECT_EQ(server.num_sessions(), 0);
  Graph g;
  const Variable n = counter(g);
  Session session(server.target(), g);
  EXPECT_EQ(session.Run(n.read()).scalar<float>(), 1.0f);
}

TEST(Server, AllOfManyClientsProgress) {
  Server server;
  constexpr int kClients = 64, kSteps = 20;
  std::atomic<int> steps{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < kClients; ++c) {
    clients.emplace_back([&, c] {
      Graph g;
      const Output x = Placeholder(g, kFloat, {});
      const Output y = x * static_cast<float>(c);
      Session session(server.target(), g);
      for (int i = 0; i < kSteps; ++i) {
        const float value = static_cast<float>(i);
        if (session.Run(y, {{x, Tensor::Scalar(value)}}).scalar<float>() ==
            value * static_cast<float>(c))
          ++steps;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(steps, kClients * kSteps);
  EXPECT_EQ(server.num_sessions(), 0);
}

TEST(Server, AStepThatWaitsEndsWithItsTimeoutOrItsSession) {
  Server server;
  Graph g;
  const Output queue = FIFOQueue(g, {kFloat}, {.capacity = 10});
  const Output wait = QueueDequeue(queue)[0];
  Session session(server.target(), g);
  EXPECT_EQ(
      CodeOf([&] { session.Run({wait}, {}, {}, {.timeout = std::chrono::milliseconds(50)}); }),
      Code::kDeadlineExceeded);
  // Many waiting steps hold no thread; closing the session ends them all.
  std::vector<std::thread> waiters;
  std::atomic<int> cancelled{0};
  for (int i = 0; i < 16; ++i) {
    waiters.emplace_back([&] {
      const Code code = CodeOf([&] { session.Run({wait}, {}, {}); });
      if (code == Code::kCancelled || code == Code::kAborted || code == Code::kFailedPrecondition)
        ++cancelled;
    });
  }
  session.Close();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(cancelled, 16);
}

TEST(Server, MemoryOfASessionIsLimitedAndComesBack) {
  Server server({.memory_limit_bytes = 64 << 20, .session_memory_limit_bytes = 32 << 20});
  Graph g;
  const Output n = Placeholder(g, kInt32, {1});
  const Output large = Fill(n, 1.0f);
  const Output sum = Sum(large);
  {
    Session session(server.target(), g);
    const auto run = [&](int32_t size) {
      return session.Run(sum, {{n, Tensor::FromVector<int32_t>({size})}}).scalar<float>();
    };
    EXPECT_EQ(run(1000), 1000.0f);
    std::string message;
    EXPECT_EQ(CodeOf([&] { run(100 << 20); }, &message), Code::kResourceExhausted);
    EXPECT_NE(message.find(" MiB are in use here, "), std::string::npos) << message;
    EXPECT_NE(message.find(" MiB of 64.0 MiB free)"), std::string::npos) << message;
    EXPECT_EQ(run(2000), 2000.0f);
  }
  EXPECT_EQ(server.num_sessions(), 0);
  // The last answer is freed when gRPC has sent it, which its receiver cannot know.
  EXPECT_TRUE(Eventually([&] { return server.bytes_in_use() == 0; })) << server.bytes_in_use();
}

// What a session's steps keep for the next one is there for others.
TEST(Server, IdleSessionsGiveTheirStepMemoryToOthers) {
  Server server({.memory_limit_bytes = 30 << 20});
  Graph g;
  const int64_t n = 1 << 20;
  const Output x = RandomUniform(g, Const(g, Tensor::FromVector<int64_t>({n})));
  const Output sum = Sum(Concat({x, Add(x, 1.0f)}, 0));  // more than half of that
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 4; ++i) sessions.push_back(std::make_unique<Session>(server.target(), g));
  for (int round = 0; round < 2; ++round) {
    for (const auto& session : sessions)
      EXPECT_GT(session->Run(sum).scalar<float>(), static_cast<float>(n));
  }
}

TEST(Server, IdleSessionsAreClosed) {
  // Long enough that the session is not idle between the calls that follow.
  Server server({.session_idle_limit = std::chrono::seconds(2)});
  Graph g;
  const Output one = Const(g, 1.0f);
  Session session(server.target(), g);
  session.Run(one);
  EXPECT_EQ(server.num_sessions(), 1);
  while (server.num_sessions() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::string message;
  EXPECT_EQ(CodeOf([&] { session.Run(one); }, &message), Code::kAborted);
  EXPECT_NE(message.find("or not used for 2 s (--session_idle_seconds)"), std::string::npos)
      << message;
}

TEST(Server, StopsWithStepsRunning) {
  auto server = std::make_unique<Server>();
  Graph g;
  const Output queue = FIFOQueue(g, {kFloat}, {.capacity = 10});
  const Output wait = QueueDequeue(queue)[0];
  Session session(server->target(), g);
  // A client that comes again, and not one that was cancelled, whenever the step began.
  std::thread waiter(
      [&] { EXPECT_EQ(CodeOf([&] { session.Run({wait}, {}, {}); }), Code::kUnavailable); });
  while (server->num_sessions() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  server.reset();
  waiter.join();
  EXPECT_EQ(CodeOf([&] { session.Run({wait}, {}, {}); }), Code::kUnavailable);
}

TEST(Server, StopsOnceHoweverManyStopIt) {
  Server server;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { server.Stop(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.Join(), 0);
}

TEST(Server, ATakenPortIsAnError) {
  Server server;
  EXPECT_EQ(CodeOf([&] { Server other({.port = server.port()}); }), Code::kUnavailable);
}

TEST(RemoteSession, NobodyThereIsAnErrorThatNamesTheAddress) {
  Graph g;
  const Output one = Const(g, 1.0f);
  Session session("grpc://127.0.0.1:1", g, {.connect_timeout = std::chrono::milliseconds(100)});
  std::string message;
  EXPECT_EQ(CodeOf([&] { session.Run(one); }, &message), Code::kUnavailable);
  EXPECT_NE(message.find("127.0.0.1:1"), std::string::npos) << message;
  EXPECT_EQ(CodeOf([&] { Session("tcp://there", g); }), Code::kInvalidArgument);
}

TEST(RemoteSession, PartialRunsAndTraces) {
  Server server;
  Graph g;
  const Output a = Placeholder(g, kFloat, {}), b = Placeholder(g, kFloat, {});
  const Output sum = a + b, product = sum * b;
  Session session(server.target(), g);
  PartialRun run = session.MakePartialRun({a, b}, {sum, product});
  EXPECT_EQ(
      run.Run({sum}, {{a, Tensor::Scalar(2.0f)}, {b, Tensor::Scalar(3.0f)}})[0].scalar<float>(),
      5.0f);
  EXPECT_EQ(run.Run({product})[0].scalar<float>(), 15.0f);
  RunMetadata metadata;
  session.Run({product, product}, {{a, Tensor::Scalar(2.0f)}, {b, Tensor::Scalar(3.0f)}}, {},
              {.trace = true}, &metadata);
  EXPECT_FALSE(metadata.nodes.empty());
}

}  // namespace
}  // namespace carillon
