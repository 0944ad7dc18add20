// Tasks that talk over real gRPC and UCX, in one process: the same tests for each transport.
#include "distributed/rpc/task_network.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/strings.h"
#include "distributed/rpc/task_calls.h"
#include "distributed/serving/http2_test_util.h"
#include "eventually.h"
#include "free_port.h"

namespace carillon {
namespace {

const std::string kA = "/job:worker/replica:0/task:0", kB = "/job:ps/replica:0/task:0";

// One end, with what it has received and lost.
class End final : public TaskListener {
 public:
  End(Transport transport, const std::string& task,
      const std::map<std::string, std::string>& addresses,
      std::chrono::milliseconds connect_deadline = std::chrono::seconds(30))
      : task_(task), address_(addresses.at(task)) {
    TaskNetworkOptions options{.task = task, .addresses = addresses};
    options.allocator = std::shared_ptr<Allocator>(HostAllocator(), [](Allocator*) {});
    options.transport = transport;
    options.connect_deadline = connect_deadline;
    options.reconnect_deadline = std::chrono::milliseconds(300);
    options.silence = std::chrono::seconds(30);  // nobody here is frozen, but machines are busy
    network_ = std::make_unique<TaskNetwork>(options, this);
  }
  ~End() { Stop(); }

  void Serve() {
    const size_t colon = address_.rfind(':');
    server_ = std::make_unique<RpcServer>(RpcServerOptions{
        .bind = address_.substr(0, colon), .port = std::stoi(address_.substr(colon + 1))});
    network_->AddTo(server_.get());
    server_->Start();
  }
  void Stop() {
    network_->Stop();
    server_.reset();
  }
  TaskNetwork& network() { return *network_; }
  // Called by whoever brings a message or a question, before that is taken.
  void WhenTold(std::function<void()> hook) {
    std::lock_guard lock(mutex_);
    hook_ = std::move(hook);
  }

  // Waits for so many messages.
  std::vector<std::pair<std::string, TaskMessage>> Receive(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60),
                                  [&] { return received_.size() >= count; }))
        << received_.size() << " of " << count;
    return std::exchange(received_, {});
  }
  Status WaitForLoss(const std::string& task) {
    std::unique_lock lock(mutex_);
    const auto find = [&] {
      return std::ranges::find(lost_, task, &std::pair<std::string, Status>::first);
    };
    if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return find() != lost_.end(); }))
      return absl::OkStatus();
    return find()->second;
  }
  void ForgetLosses() {
    std::lock_guard lock(mutex_);
    lost_.clear();
  }
  bool WaitUntilDone(const std::string& task) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return done_.contains(task); });
  }
  bool has_seen(const std::string& task) {
    std::lock_guard lock(mutex_);
    return here_.contains(task);
  }

 private:
  void RunHook() {
    std::function<void()> hook;
    {
      std::lock_guard lock(mutex_);
      hook = hook_;
    }
    if (hook) hook();
  }
  StatusOr<std::string> OnQuestion(const std::string& task, TaskQuestion question,
                                   const std::string& request) override {
    RunHook();
    if (question == TaskQuestion::kReset) return absl::NotFoundError(request);
    return StrCat(task, " asks ", task_, request);
  }
  void OnMessage(const std::string& from, TaskMessage message) override {
    RunHook();
    std::lock_guard lock(mutex_);
    received_.emplace_back(from, std::move(message));
    changed_.notify_all();
  }
  void OnHere(const std::string& task) override {
    std::lock_guard lock(mutex_);
    here_.insert(task);
  }
  void OnLost(const std::string& task, const Status& reason) override {
    std::lock_guard lock(mutex_);
    lost_.emplace_back(task, reason);
    changed_.notify_all();
  }
  void OnDone(const std::string& task) override {
    std::lock_guard lock(mutex_);
    done_.insert(task);
    changed_.notify_all();
  }

  const std::string task_, address_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::string, TaskMessage>> received_;
  std::vector<std::pair<std::string, Status>> lost_;
  std::set<std::string> here_, done_;
  std::function<void()> hook_;
  std::unique_ptr<TaskNetwork> network_;
  std::unique_ptr<RpcServer> server_;
};

class TaskNetworkTest : public testing::TestWithParam<Transport> {
 protected:
  const std::map<std::string, std::string> addresses_{{kA, StrCat("127.0.0.1:", FreePort())},
                                                      {kB, StrCat("127.0.0.1:", FreePort())}};
};

Tensor RandomTensor(std::mt19937* random, int64_t elements) {
  Tensor tensor(DType::kInt32, Shape{elements});
  for (int32_t& value : tensor.mutable_values<int32_t>()) value = static_cast<int32_t>((*random)());
  return tensor;
}

TEST_P(TaskNetworkTest, ThousandsOfMessagesOfAllSizesArriveInOrder) {
  End a(GetParam(), kA, addresses_), b(GetParam(), kB, addresses_);
  a.Serve();
  b.Serve();
  constexpr size_t kMessages = 3000;
  std::mt19937 random(1);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < kMessages; ++i) {
    const int64_t elements = i % 500 == 0 ? 1 << 20 : i % 10 == 0 ? random() % 100'000 : i % 20;
    tensors.push_back(RandomTensor(&random, elements));
  }
  const auto send = [&](End& from, const std::string& to) {
    for (size_t i = 0; i < kMessages; ++i)
      ASSERT_TRUE(from.network().Send(to, Deliver{i, "key", tensors[i], false}).ok());
  };
  std::thread other([&] { send(b, kA); });
  send(a, kB);
  other.join();
  for (End* end : {&a, &b}) {
    const auto received = end->Receive(kMessages);
    ASSERT_EQ(received.size(), kMessages);
    for (size_t i = 0; i < kMessages; ++i) {
      EXPECT_EQ(received[i].first, end == &a ? kB : kA);
      const auto& message = std::get<Deliver>(received[i].second);
      ASSERT_EQ(message.step, i);
      ASSERT_EQ(message.value.shape(), tensors[i].shape());
      ASSERT_TRUE(
          std::ranges::equal(message.value.values<int32_t>(), tensors[i].values<int32_t>()));
    }
  }
}

TEST_P(TaskNetworkTest, OneThatIsDoneSaysSo) {
  End a(GetParam(), kA, addresses_), b(GetParam(), kB, addresses_);
  a.network().SayDone();  // nobody is there, and nobody is waited for
  a.Serve();
  b.Serve();
  EXPECT_FALSE(b.has_seen(kA));
  ASSERT_TRUE(a.network().Send(kB, EndSession{"session"}).ok());
  b.Receive(1);
  EXPECT_TRUE(b.has_seen(kA));
  a.network().SayDone();
  EXPECT_TRUE(b.WaitUntilDone(kA));
  EXPECT_GT(a.network().traffic().bytes_sent, 0);
  EXPECT_EQ(a.network().traffic().bytes_sent, b.network().traffic().bytes_received);
}

TEST_P(TaskNetworkTest, ATaskThatIsLateIsWaitedFor) {
  End a(GetParam(), kA, addresses_), b(GetParam(), kB, addresses_);
  ASSERT_TRUE(a.network().Send(kB, EndSession{"early"}).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // let it try in vain
  b.Serve();
  EXPECT_EQ(std::get<EndSession>(b.Receive(1).at(0).second).session, "early");
}

TEST_P(TaskNetworkTest, ATaskThatIsMissingIsNamed) {
  End a(GetParam(), kA, addresses_, std::chrono::milliseconds(500));
  ASSERT_TRUE(a.network().Send(kB, EndSession{"x"}).ok());
  const Status lost = a.WaitForLoss(kB);
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  for (const std::string& part : {kB, addresses_.at(kB), std::string("Connection refused")})
    EXPECT_NE(lost.message().find(part), std::string::npos) << lost;
}

TEST_P(TaskNetworkTest, ATaskThatDiesIsMissedByAllWhoTalkedToIt) {
  End a(GetParam(), kA, addresses_);
  a.Serve();
  {
    End b(GetParam(), kB, addresses_);
    b.Serve();
    ASSERT_TRUE(a.network().Send(kB, EndSession{"x"}).ok());
    ASSERT_TRUE(b.network().Send(kA, EndSession{"y"}).ok());
    b.Receive(1);
    a.Receive(1);
  }
  EXPECT_EQ(a.WaitForLoss(kB).code(), absl::StatusCode::kUnavailable);
  // And it may come back.
  End again(GetParam(), kB, addresses_);
  again.Serve();
  ASSERT_TRUE(a.network().Send(kB, EndSession{"again"}).ok());
  EXPECT_EQ(std::get<EndSession>(again.Receive(1).at(0).second).session, "again");
}

TEST_P(TaskNetworkTest, ATaskMayDieInTheMiddleOfMuch) {
  std::mt19937 random(2);
  const Tensor large = RandomTensor(&random, 4 << 20);
  const Tensor small = RandomTensor(&random, 10);
  End a(GetParam(), kA, addresses_);
  a.Serve();
  for (int round = 0; round < 5; ++round) {
    {
      End b(GetParam(), kB, addresses_);
      b.Serve();
      for (uint64_t i = 0; i < 20; ++i) {
        ASSERT_TRUE(a.network().Send(kB, Deliver{i, "large", large, false}).ok());
        ASSERT_TRUE(a.network().Send(kB, Deliver{i, "small", small, false}).ok());
      }
      b.Receive(1);
    }
    EXPECT_EQ(a.WaitForLoss(kB).code(), absl::StatusCode::kUnavailable);
    a.ForgetLosses();
  }
}

TEST_P(TaskNetworkTest, AnotherTaskUnderTheAddressIsNamed) {
  auto wrong = addresses_;
  const std::string kC = "/job:ps/replica:0/task:1";
  wrong[kC] = wrong.at(kB);
  End a(GetParam(), kA, wrong, std::chrono::milliseconds(500)), b(GetParam(), kB, wrong);
  b.Serve();
  ASSERT_TRUE(a.network().Send(kC, EndSession{"x"}).ok());
  const Status lost = a.WaitForLoss(kC);
  EXPECT_NE(lost.message().find(kB + " answers there"), std::string::npos) << lost;
}

TEST_P(TaskNetworkTest, StrangersAreRefused) {
  auto without = addresses_;
  without.erase(kA);
  End a(GetParam(), kA, addresses_, std::chrono::milliseconds(500)), b(GetParam(), kB, without);
  b.Serve();
  ASSERT_TRUE(a.network().Send(kB, EndSession{"x"}).ok());
  const Status lost = a.WaitForLoss(kB);
  EXPECT_NE(lost.message().find("is no task of the cluster"), std::string::npos) << lost;
}

// As after a cut of the network: a task has come back before the end of its old connection shows.
TEST_P(TaskNetworkTest, TheEndOfAnOldConnectionLeavesTheNewOneAlone) {
  End b(GetParam(), kB, addresses_);
  b.Serve();
  const std::string& address = addresses_.at(kB);
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  const std::string from = http2::Header(kTaskKey, kA);
  uint32_t heartbeats = 0;
  const auto connect = [&] {
    auto client = std::make_unique<Http2Client>(port);
    client->Greet();
    heartbeats = client->Begin(kHeartbeatsMethod, from);
    client->Begin(kMessagesMethod, from);
    EXPECT_TRUE(client->Ping());
    return client;
  };
  auto old = connect();
  const auto next = connect();
  old.reset();
  for (size_t i = 1; i <= 3; ++i) {
    next->SendData(heartbeats, http2::Message(""));
    while (next->stream(heartbeats).data.size() < i * http2::Message("").size())
      ASSERT_TRUE(next->Pump());
    EXPECT_EQ(next->stream(heartbeats).status(), "none");
  }
}

TEST_P(TaskNetworkTest, QuestionsAreAnswered) {
  End a(GetParam(), kA, addresses_), b(GetParam(), kB, addresses_);
  b.Serve();
  const auto patience = std::chrono::seconds(30);
  const auto answers = a.network().Ask({kB}, TaskQuestion::kDevices, "!", patience);
  ASSERT_TRUE(answers.at(kB).ok()) << answers.at(kB).status();
  EXPECT_EQ(*answers.at(kB), StrCat(kA, " asks ", kB, "!"));
  EXPECT_EQ(a.network().Ask({kB}, TaskQuestion::kReset, "what", patience).at(kB).status(),
            absl::NotFoundError("what"));
}

TEST_P(TaskNetworkTest, WhatIsThrownEndsTheConnectionAndNothingElse) {
  End a(GetParam(), kA, addresses_), b(GetParam(), kB, addresses_);
  a.Serve();
  b.Serve();
  b.WhenTold([] { throw std::runtime_error("no memory, say"); });
  ASSERT_TRUE(a.network().Send(kB, EndSession{"x"}).ok());
  EXPECT_EQ(a.WaitForLoss(kB).code(), absl::StatusCode::kUnavailable);
  const auto patience = std::chrono::seconds(30);
  const auto answer = a.network().Ask({kB}, TaskQuestion::kDevices, "!", patience).at(kB);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInternal);
  b.WhenTold(nullptr);
  ASSERT_TRUE(a.network().Send(kB, EndSession{"again"}).ok());
  EXPECT_EQ(std::get<EndSession>(b.Receive(1).at(0).second).session, "again");
}

TEST_P(TaskNetworkTest, QuestionsAreShort) {
  End a(GetParam(), kA, addresses_), b(GetParam(), kB, addresses_);
  b.Serve();
  for (const bool is_long : {true, false}) {
    const std::string question((1 << 20) + (is_long ? 1 : 0), 'x');
    const auto answers =
        a.network().Ask({kB}, TaskQuestion::kDevices, question, std::chrono::seconds(30));
    EXPECT_EQ(answers.at(kB).status().code(),
              is_long ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk);
  }
}

// Whoever is told something may be gone afterwards.
TEST_P(TaskNetworkTest, StopWaitsForWhatIsBeingTold) {
  End a(GetParam(), kA, addresses_), b(GetParam(), kB, addresses_);
  a.Serve();
  b.Serve();
  std::atomic<bool> is_begun = false, is_over = false;
  b.WhenTold([&] {
    is_begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // time to stop too early
    is_over = true;
  });
  ASSERT_TRUE(a.network().Send(kB, EndSession{"x"}).ok());
  ASSERT_TRUE(Eventually([&] { return is_begun.load(); }));
  b.network().Stop();
  EXPECT_TRUE(is_over);
}

TEST_P(TaskNetworkTest, WhoIsNotThereAnswersNothing) {
  End a(GetParam(), kA, addresses_), b(GetParam(), kB, addresses_);
  const auto patience = std::chrono::milliseconds(300);
  EXPECT_EQ(a.network().Ask({kB}, TaskQuestion::kReset, "", patience).at(kB).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  // Nobody waits for one that only says what it has.
  EXPECT_EQ(a.network()
                .Ask({kB}, TaskQuestion::kDevices, "", std::chrono::seconds(30))
                .at(kB)
                .status()
                .code(),
            absl::StatusCode::kUnavailable);
}

TEST_P(TaskNetworkTest, UnknownTasksAreRefusedAtOnce) {
  End a(GetParam(), kA, addresses_);
  EXPECT_EQ(a.network().Send("/job:moon/replica:0/task:0", EndSession{"x"}).code(),
            absl::StatusCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Over, TaskNetworkTest,
                         testing::Values(Transport::kGrpc, Transport::kAutomatic, Transport::kUcx),
                         [](const auto& info) {
                           return info.param == Transport::kGrpc  ? "Grpc"
                                  : info.param == Transport::kUcx ? "UcxWithTcp"
                                                                  : "Automatic";
                         });

}  // namespace
}  // namespace carillon
