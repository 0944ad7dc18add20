// Sessions that take all they can get, next to a client that needs little.
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/background.h"
#include "base/strings.h"
#include "base/work_scope.h"
#include "carillon/carillon.h"
#include "carillon/server.h"
#include "distributed/cluster/master.h"
#include "raw_client.h"

namespace carillon {
namespace {

constexpr int64_t kLimit = 64 << 20;

Code CodeOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

// Runs small steps, each of which needs some memory, all the while; what fails is an error of the
// test.
class ModestClient {
 public:
  explicit ModestClient(const Server& server)
      : session_(server.target(), g_), thread_([this] { RunSteps(); }) {}
  ~ModestClient() {
    is_over_ = true;
    thread_.join();
    EXPECT_GT(steps_, 0);
  }
  // Until a step that began after this call is over.
  void AwaitStep() const {
    const int before = steps_;
    while (steps_ < before + 2 && !is_over_) std::this_thread::yield();
  }

 private:
  void RunSteps() {
    while (!is_over_) {
      const Code code = CodeOf([&] {
        EXPECT_EQ(session_.Run(sum_, {{x_, Tensor::Full<float>({100, 100}, 1.0f)}}).scalar<float>(),
                  10'000.0f * 100.0f);
        EXPECT_EQ(session_.Run(text_).num_elements(), 10);
      });
      EXPECT_EQ(code, Code::kOk);
      if (code != Code::kOk) is_over_ = true;
      ++steps_;
    }
  }

  Graph g_;
  const Output x_ = Placeholder(g_, kFloat, {-1, -1});
  const Output sum_ = Sum(MatMul(x_, x_));
  const Output text_ = Fill(Const(g_, Tensor::FromVector<int32_t>({10})),
                            Const(g_, Tensor::Scalar(std::string(1000, 'x'))));
  Session session_;
  std::atomic<bool> is_over_{false};
  std::atomic<int> steps_{0};
  std::thread thread_;
};

// A graph and a step of it that keeps, or needs, more each time.
struct Greed {
  const char* name;
  std::function<void(Graph& g, int i, Session& session)> step;
};

std::vector<Greed> AllKinds() {
  std::vector<Greed> kinds = {
      {"Tensors in a queue",
       [](Graph& g, int, Session& session) {
         const Output queue = FIFOQueue(g, {kFloat}, {.shared_name = "large"});
         const Output element = Fill(Const(g, Tensor::FromVector<int32_t>({1 << 18})), 1.0f);
         session.Run(QueueEnqueue(queue, {element}));
       }},
      {"Variables",
       [](Graph& g, int i, Session& session) {
         const Variable v(g, StrCat("v", i),
                          Fill(Const(g, Tensor::FromVector<int32_t>({1 << 16})), 1.0f));
         session.Run(v.initializer());
       }},
      {"A large tensor",
       [](Graph& g, int i, Session& session) {
         session.Run(Sum(Fill(Const(g, Tensor::FromVector<int32_t>({1 << (16 + i % 9)})), 1.0f)));
       }},
      {"Small tensors in a queue",
       [](Graph& g, int, Session& session) {
         const Output queue = FIFOQueue(g, {kFloat}, {.shapes = {Shape{}}, .shared_name = "small"});
         const Output many = Fill(Const(g, Tensor::FromVector<int32_t>({1 << 14})), 1.0f);
         session.Run(QueueEnqueueMany(queue, {many}));
       }},
  };
  if (WorkScope::Counts()) {
    kinds.push_back({"Strings", [](Graph& g, int i, Session& session) {
                       session.Run(Fill(Const(g, Tensor::FromVector<int32_t>({1 << (i % 16)})),
                                        Const(g, Tensor::Scalar(std::string(10'000, 'x')))));
                     }});
  }
  return kinds;
}

// Whatever one session takes, others have what they need for small steps.
TEST(HostileShare, OneSessionThatTakesAllItCanLeavesOthersSome) {
  for (const Greed& kind : AllKinds()) {
    SCOPED_TRACE(kind.name);
    const Server server({.memory_limit_bytes = kLimit});
    const ModestClient modest(server);
    Graph g;
    Session session(server.target(), g);
    int refused = 0;
    for (int i = 0; refused < 20 && i < 2000; ++i) {
      const Code code = CodeOf([&] { kind.step(g, i, session); });
      if (code == Code::kOk) continue;
      EXPECT_EQ(code, Code::kResourceExhausted);
      ++refused;
    }
    EXPECT_EQ(refused, 20);
    modest.AwaitStep();
    // Who comes now finds room, too.
    const ModestClient newcomer(server);
    newcomer.AwaitStep();
  }
}

TEST(HostileShare, NorDoSeveralTakeAll) {
  const Server server({.memory_limit_bytes = kLimit});
  const ModestClient modest(server);
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::unique_ptr<Session>> sessions;
  for (int s = 0; s < 3; ++s) {
    graphs.push_back(std::make_unique<Graph>());
    Graph& g = *graphs.back();
    const Output queue = FIFOQueue(g, {kFloat}, {.shared_name = StrCat("q", s)});
    const Output size = Placeholder(g, kInt32, {1});
    const Operation put = QueueEnqueue(queue, {Fill(size, 1.0f)});
    sessions.push_back(std::make_unique<Session>(server.target(), g));
    for (const int32_t floats : {1 << 18, 1 << 14, 1 << 10, 1 << 6}) {
      const Tensor fed = Tensor::FromVector<int32_t>({floats});
      while (CodeOf([&] { sessions.back()->Run({}, {{size, fed}}, {put}); }) == Code::kOk) {
      }
    }
    modest.AwaitStep();
  }
  EXPECT_GT(server.bytes_in_use(), kLimit / 10 * 9);
  const ModestClient newcomer(server);
  newcomer.AwaitStep();
}

// The same for graphs, which have memory of their own.
TEST(HostileShare, GraphsOfOneSessionLeaveRoomForThoseOfOthers) {
  const Server server({.memory_limit_bytes = kLimit});
  Graph g;
  Session session(server.target(), g);
  const Output x = Const(g, 1.0f);
  Code code = Code::kOk;
  while (code == Code::kOk) {
    for (int i = 0; i < 20; ++i) Add(x, x);
    code = CodeOf([&] { session.Run(x); });
  }
  EXPECT_EQ(code, Code::kResourceExhausted);
  for (int i = 0; i < 5; ++i) {
    const ModestClient modest(server);
    modest.AwaitStep();
  }
}

// Threads none of which is left to those who have a share: holds what it is given until it is told
// to run it.
class BusyThreads final : public BackgroundThreads {
 public:
  void Start(std::function<void()> work) override { held_.push_back(std::move(work)); }
  size_t Left() override { return 0; }

  size_t held() const { return held_.size(); }
  void RunAll() {
    while (!held_.empty()) {
      const std::function<void()> next = std::move(held_.back());
      held_.pop_back();
      next();
    }
  }

 private:
  std::vector<std::function<void()>> held_;
};

// A step may hold a thread for as long as it likes: in a partial run, for a lock, in a function of
// a data set. The threads are those of all sessions.
TEST(HostileShare, CallsOfOneSessionLeaveThreadsToOthers) {
  constexpr size_t kCalls = 100;
  BusyThreads threads;
  MapResourceStore resources;
  Master master({}, MakeCpuDevice("/job:test/replica:0/task:0"), &resources);
  tensorflow::CreateSessionRequest create;
  *create.mutable_graph_def() = GraphOf(ConstText("one", {1}));
  tensorflow::CreateSessionResponse created;
  ASSERT_TRUE(master.CreateSession(create, &created).ok());
  size_t answered = 0;
  for (size_t i = 0; i < kCalls; ++i) {
    auto call = std::make_shared<StepCall>();
    call->request.session_handle = created.session_handle();
    call->request.fetches = {"one:0"};
    call->done = [&](const StepReply& reply) {
      EXPECT_TRUE(reply.status.ok()) << reply.status;
      ++answered;
    };
    master.RunStep(std::move(call), &threads);
  }
  EXPECT_LT(threads.held(), kCalls / 10);
  threads.RunAll();
  EXPECT_EQ(answered, kCalls);
}

TEST(HostileShare, KernelsThatBlockLeaveThreadsToOthers) {
  constexpr size_t kKernels = 100;
  const auto threads = std::make_shared<BusyThreads>();
  const auto device = MakeCpuDevice("/job:test/replica:0/task:0");
  device->background = threads;
  MapResourceStore resources;
  Master master({}, device, &resources);
  auto call = std::make_shared<StepCall>();
  std::string graph;
  for (size_t i = 0; i < kKernels; ++i) {  // all different: what is equal runs once
    const std::string value =
        StrCat("tensor { dtype: DT_STRING tensor_shape { } string_val: '/", i, "' }");
    graph += NodeText(StrCat("pattern", i), "Const", {},
                      Attr("dtype", "type: DT_STRING") + Attr("value", value)) +
             NodeText(StrCat("files", i), "MatchingFiles", {StrCat("pattern", i)});
    call->request.fetches.push_back(StrCat("files", i, ":0"));
  }
  tensorflow::CreateSessionRequest create;
  *create.mutable_graph_def() = GraphOf(graph);
  tensorflow::CreateSessionResponse created;
  ASSERT_TRUE(master.CreateSession(create, &created).ok());
  call->request.session_handle = created.session_handle();
  bool answered = false;
  call->done = [&](const StepReply& reply) {
    EXPECT_TRUE(reply.status.ok()) << reply.status;
    answered = true;
  };
  master.RunStep(std::move(call));
  EXPECT_GT(threads->held(), 0u);
  EXPECT_LT(threads->held(), kKernels / 10);
  threads->RunAll();
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace carillon
