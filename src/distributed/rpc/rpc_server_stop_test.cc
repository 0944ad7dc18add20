// RpcServer and the clients of gRPC: calls that end early, servers that stop, and limits.
#include <atomic>
#include <future>
#include <thread>

#include "distributed/rpc/rpc_server_test_util.h"
#include "distributed/serving/rpc_server.h"
#include "eventually.h"

namespace carillon {
namespace {

using grpc::StatusCode;

class RpcServerStopTest : public RpcServerTest {};

TEST_P(RpcServerStopTest, DeadlinesBreakCallsOff) {
  const Channel channel = Connect();
  ExpectServed(channel);
  for (int i = 0; i < 5; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(40 + i));
    EXPECT_EQ(Call(channel, "/test/Held", "x", &context).status.error_code(),
              StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  for (const auto& held : service_.held()) {
    EXPECT_EQ(held->told_broken_off, 1);
    EXPECT_LT(held->call->info().deadline, CallInfo::Clock::time_point::max());
    held->call->Answer(PiecesOf("late"));
  }
  ExpectServed(channel);
}

TEST_P(RpcServerStopTest, ManyDeadlinesAreKeptInAnyOrder) {
  const Channel channel = Connect();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() +
                           (t % 2 == 0 ? std::chrono::milliseconds(100 - t * 10)
                                       : std::chrono::milliseconds(600'000)));
      const Answer answer = Call(channel, t % 2 == 0 ? "/test/Held" : "/test/Echo", "x", &context);
      EXPECT_EQ(answer.status.error_code(),
                t % 2 == 0 ? StatusCode::DEADLINE_EXCEEDED : StatusCode::OK)
          << "call " << t << ": " << answer.status.error_message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  for (const auto& held : service_.held()) EXPECT_EQ(held->told_broken_off, 1);
}

// gRPC's client resets streams whose headers it has not sent, when it has no time to.
TEST_P(RpcServerStopTest, CallsThatEndBeforeTheyBeginHurtNoOther) {
  const Channel channel = Connect();
  ExpectServed(channel);
  auto answer = std::async(std::launch::async, [&] { return Call(channel, "/test/Held", "x"); });
  const auto held = AwaitHeld();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const std::string request(100'000, 'x');
      for (int i = 0; i < 250; ++i) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(i * 8));
        Call(channel, "/test/Echo", request, &context);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  held->call->Answer(PiecesOf("there"));
  const Answer got = answer.get();
  EXPECT_TRUE(got.status.ok()) << got.status.error_message();
  EXPECT_EQ(got.reply, "there");
}

TEST_P(RpcServerStopTest, ACancelledCallIsBrokenOffOnce) {
  const Channel channel = Connect();
  for (size_t i = 0; i < 20; ++i) {
    StreamCall stream(channel, "/test/Held");
    EXPECT_TRUE(stream.Write("x"));
    const auto held = AwaitHeld(i);
    if (i % 3 == 0) held->call->Send(PiecesOf(std::string(1 << 20, 'x')));
    stream.context().TryCancel();
    EXPECT_EQ(stream.Finish().error_code(), StatusCode::CANCELLED);
    EXPECT_TRUE(Eventually([&] { return held->told_broken_off == 1; }));
    held->call->Finish(absl::OkStatus());
  }
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  EXPECT_EQ(service_.broken_off(), 20);
  ExpectServed(channel);
}

TEST_P(RpcServerStopTest, CancellingAndAnsweringAtOnceEndsWell) {
  const Channel channel = Connect();
  for (size_t i = 0; i < 100; ++i) {
    StreamCall stream(channel, "/test/Held");
    const auto held = AwaitHeld(i);
    std::thread answering([&] {
      held->call->Send(PiecesOf(std::string(100'000, 'x')));
      held->call->AskForMessage();
      if (i % 2 == 0) held->call->BreakOff(absl::AbortedError("no more"));
      held->call->Finish(absl::OkStatus());
    });
    stream.context().TryCancel();
    stream.Finish();
    answering.join();
    EXPECT_LE(held->told_broken_off, 1);
  }
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  ExpectServed(channel);
}

TEST_P(RpcServerStopTest, FinishesWhileTheClientIsStillSending) {
  const Channel channel = Connect();
  for (size_t i = 0; i < 10; ++i) {
    StreamCall stream(channel, "/test/Held");
    std::thread writer([&] {
      const std::string piece(200'000, 'x');
      while (stream.Write(piece)) {
      }
    });
    const auto held = AwaitHeld(i);
    EXPECT_TRUE(Eventually([&] { return held->num_messages == 1; }));
    held->call->Send(PiecesOf("enough"));
    held->call->Finish(absl::AlreadyExistsError("all of it"));
    EXPECT_EQ(stream.Read(), "enough");
    EXPECT_EQ(stream.Read(), std::nullopt);
    writer.join();
    const grpc::Status status = stream.Finish();
    EXPECT_EQ(status.error_code(), StatusCode::ALREADY_EXISTS);
    EXPECT_EQ(status.error_message(), "all of it");
    EXPECT_EQ(held->told_broken_off, 0);
  }
  ExpectServed(channel);
}

TEST_P(RpcServerStopTest, BreakOffTellsBothEnds) {
  const Channel channel = Connect();
  auto answer = std::async(std::launch::async, [&] { return Call(channel, "/test/Held", "x"); });
  const auto held = AwaitHeld();
  held->call->BreakOff(absl::DataLossError("gone"));
  const grpc::Status status = answer.get().status;
  EXPECT_EQ(status.error_code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(status.error_message(), "gone");
  EXPECT_TRUE(Eventually([&] { return held->told_broken_off == 1; }));
}

TEST_P(RpcServerStopTest, StopLetsCallsEndAndTakesNoMore) {
  const Channel channel = Connect();
  ExpectServed(channel);
  auto answer = std::async(std::launch::async, [&] { return Call(channel, "/test/Held", "x"); });
  const auto held = AwaitHeld();
  std::thread stopper([&] { server_->Stop(std::chrono::minutes(5)); });
  const Channel newcomer = Connect();
  EXPECT_TRUE(Eventually([&] {
    return Call(newcomer, "/test/Echo", "").status.error_code() == StatusCode::UNAVAILABLE &&
           Call(channel, "/test/Echo", "").status.error_code() == StatusCode::UNAVAILABLE;
  }));
  const std::string large = RandomBytes(10 << 20, 1);
  held->call->Answer(PiecesOf(large));
  const Answer got = answer.get();
  EXPECT_TRUE(got.status.ok()) << got.status.error_message();
  EXPECT_TRUE(got.reply == large);
  stopper.join();
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  EXPECT_EQ(service_.broken_off(), 0);
  server_->Stop(std::chrono::minutes(5));  // once more
  EXPECT_EQ(Call(channel, "/test/Echo", "").status.error_code(), StatusCode::UNAVAILABLE);
}

TEST_P(RpcServerStopTest, StopBreaksOffWhatLastsLonger) {
  const Channel channel = Connect();
  std::vector<std::future<Answer>> answers;
  for (size_t i = 0; i < 5; ++i) {
    answers.push_back(
        std::async(std::launch::async, [&] { return Call(channel, "/test/Held", "x"); }));
    AwaitHeld(i);
  }
  server_->Stop(std::chrono::milliseconds(30));
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  EXPECT_EQ(service_.broken_off(), 5);
  for (std::future<Answer>& answer : answers)
    EXPECT_EQ(answer.get().status.error_code(), StatusCode::UNAVAILABLE);
  // Nobody is there for it any more.
  for (const auto& held : service_.held()) held->call->Answer(PiecesOf("late"));
  server_.reset();
  for (const auto& held : service_.held()) held->call->Answer(PiecesOf("later"));
}

TEST_P(RpcServerStopTest, StopsAmongBusyClients) {
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> answered = 0;
    std::vector<std::thread> clients;
    for (int t = 0; t < 4; ++t) {
      clients.emplace_back([&] {
        const Channel channel = Connect();
        for (;;) {
          const Answer answer = Call(channel, "/test/Echo", std::string(10'000, 'x'));
          if (!answer.status.ok()) break;
          ++answered;
        }
      });
    }
    EXPECT_TRUE(Eventually([&] { return answered > 100; }));
    server_->Stop(std::chrono::seconds(10));
    for (std::thread& client : clients) client.join();
    EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
    StartServer();
  }
}

TEST_P(RpcServerStopTest, AStoppedServerMayNeverHaveStarted) {
  RpcServerOptions options;
  options.credentials = ServerCredentials();
  RpcServer server(options);
  server.Stop(std::chrono::seconds(1));
  server.Stop(std::chrono::seconds(1));
}

TEST_P(RpcServerStopTest, AnAnswerThatNoMessageHoldsIsAnError) {
  service_.OnCustom([](ServedCall& call, const std::string&) {
    const Tensor part = Tensor::Full<float>({16 << 20}, 1.0f);
    MessagePieces answer;
    while (answer.size() <= size_t{UINT32_MAX}) answer.AddTensor(1, part);  // all the same memory
    call.Answer(std::move(answer));
  });
  const Answer answer = Call(Connect(), "/test/Custom", "");
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(answer.status.error_message().find("fetch less"), std::string::npos)
      << answer.status.error_message();
}

TEST_P(RpcServerStopTest, AMessageThatIsTooLargeIsRefusedAndOthersGoOn) {
  StartServer({.message_memory_bytes = 1 << 20});
  const Channel channel = Connect(), packing = Connect(GRPC_COMPRESS_GZIP);
  std::atomic<bool> is_over = false;
  std::thread good([&] {
    const Channel own = Connect();
    while (!is_over) {
      ExpectServed(own);
      ExpectServed(channel);
    }
  });
  for (int i = 0; i < 5; ++i) {
    const Answer answer = Call(channel, "/test/Echo", std::string(2 << 20, 'x'));
    EXPECT_EQ(answer.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_NE(answer.status.error_message().find("2097152 bytes is too large"), std::string::npos)
        << answer.status.error_message();
    // Small on its way, and large when it is unpacked.
    EXPECT_EQ(Call(packing, "/test/Echo", std::string(16 << 20, 'x')).status.error_code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(Call(channel, "/test/Echo", std::string(500'000, 'x')).status.ok());
  }
  is_over = true;
  good.join();
}

INSTANTIATE_TEST_SUITE_P(All, RpcServerStopTest, testing::Bool(), PlainOrTls);

}  // namespace
}  // namespace carillon
