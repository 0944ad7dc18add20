// RpcServer and the clients of gRPC: calls, and who may make them.
#include "distributed/serving/rpc_server.h"

#include <algorithm>
#include <random>
#include <thread>

#include "distributed/rpc/rpc_server_test_util.h"
#include "eventually.h"

namespace carillon {
namespace {

using grpc::StatusCode;

TEST_P(RpcServerTest, AnswersRequestsOfAllSizes) {
  const Channel channel = Connect();
  for (const size_t size : {0, 1, 5, 100, (16 << 10) - 6, (16 << 10) - 5, (16 << 10) - 1, 16 << 10,
                            (16 << 10) + 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 64 << 20}) {
    const std::string request = RandomBytes(size, 1);
    const Answer answer = Call(channel, "/test/Echo", request);
    ASSERT_TRUE(answer.status.ok()) << size << " " << answer.status.error_message();
    EXPECT_TRUE(answer.reply == request) << size;
  }
  EXPECT_EQ(service_.broken_off(), 0);
}

TEST_P(RpcServerTest, AnswersManyThreadsOfOneChannelAndOfMany) {
  const Channel shared = Connect();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const Channel own = Connect();
      std::mt19937 random(t);
      for (int i = 0; i < 50; ++i) {
        const std::string request =
            RandomBytes(random() % (random() % 10 == 0 ? 1'000'000 : 20'000), random());
        const Answer answer = Call(i % 2 == 0 ? own : shared, "/test/Echo", request);
        ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
        ASSERT_TRUE(answer.reply == request);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(service_.made(), 400);
  EXPECT_EQ(service_.broken_off(), 0);
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
}

TEST_P(RpcServerTest, StreamsGoBothWaysAtOnce) {
  const Channel channel = Connect();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      StreamCall stream(channel, "/test/Stream");
      constexpr int kMessages = 200;
      const auto message = [&](int i) {
        return RandomBytes(i % 20 == 0 ? 300'000 : static_cast<size_t>(i) * 10, t * 1000 + i);
      };
      std::thread writer([&] {
        for (int i = 0; i < kMessages; ++i) ASSERT_TRUE(stream.Write(message(i)));
        stream.WritesDone();
      });
      for (int i = 0; i < kMessages; ++i) {
        const std::optional<std::string> got = stream.Read();
        EXPECT_TRUE(got.has_value() && *got == message(i)) << i;
      }
      writer.join();
      EXPECT_FALSE(stream.Read().has_value());
      EXPECT_TRUE(stream.Finish().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(RpcServerTest, MessagesWaitUntilTheyAreAskedFor) {
  const Channel channel = Connect();
  StreamCall stream(channel, "/test/Held");
  constexpr int kMessages = 300;
  std::thread writer([&] {
    for (int i = 0; i < kMessages; ++i)
      ASSERT_TRUE(stream.Write(RandomBytes(100'000, static_cast<uint32_t>(i))));
    stream.WritesDone();
  });
  const auto held = AwaitHeld();
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(Eventually([&] { return held->num_messages == i + 1; })) << i;
    if (i % 50 == 0) ExpectServed(channel);
    EXPECT_EQ(held->num_messages, i + 1);
    held->call->AskForMessage();
  }
  EXPECT_TRUE(Eventually([&] { return held->told_last.load(); }));
  const std::vector<std::string> messages = held->messages();
  for (int i = 0; i < kMessages; ++i)
    EXPECT_TRUE(messages[static_cast<size_t>(i)] == RandomBytes(100'000, static_cast<uint32_t>(i)));
  held->call->Finish(absl::OkStatus());
  writer.join();
  EXPECT_TRUE(stream.Finish().ok());
}

TEST_P(RpcServerTest, MetadataGoesBothWays) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  Metadata seen;
  bool is_here = false, has_certificate = false;
  std::vector<std::string> names;
  service_.OnCustom([&](ServedCall& call, const std::string&) {
    seen = call.info().metadata;
    is_here = call.info().caller->is_on_this_machine;
    has_certificate = call.info().caller->has_certificate;
    names = call.info().caller->names;
    EXPECT_EQ(call.info().method, "/test/Custom");
    EXPECT_EQ(call.info().deadline, CallInfo::Clock::time_point::max());
    EXPECT_TRUE(call.info().caller->address.starts_with("127.0.0.1:"));
    call.SendMetadata({{"answer", "42"}, {"answer-bin", bytes}, {"answer", "43"}});
    call.SendMetadata({{"late", "1"}});  // too late
    call.Answer(PiecesOf("done"));
  });
  grpc::ClientContext context;
  context.AddMetadata("key", "a value; with, signs=");
  context.AddMetadata("key-bin", bytes);
  context.AddMetadata("key-bin", "a");
  context.AddMetadata("key-bin", "ab");
  context.AddMetadata("empty", "");
  context.AddMetadata("empty-bin", "");
  const Answer answer = Call(Connect(), "/test/Custom", "", &context);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  service_.OnCustom(nullptr);  // it is over: what it has seen may be read
  const auto count = [&](const std::string& key, const std::string& value) {
    return std::count(seen.begin(), seen.end(), std::pair(key, value));
  };
  EXPECT_EQ(count("key", "a value; with, signs="), 1);
  for (const std::string& value : {bytes, std::string("a"), std::string("ab")})
    EXPECT_EQ(count("key-bin", value), 1);
  EXPECT_EQ(count("empty", ""), 1);
  EXPECT_EQ(count("empty-bin", ""), 1);
  const auto& back = context.GetServerInitialMetadata();
  EXPECT_EQ(back.count("answer"), 2);
  ASSERT_EQ(back.count("answer-bin"), 1);
  const grpc::string_ref value = back.find("answer-bin")->second;
  EXPECT_EQ(std::string(value.data(), value.size()), bytes);
  EXPECT_EQ(back.count("late"), 0);
  EXPECT_TRUE(is_here);
  EXPECT_EQ(has_certificate, GetParam());
  EXPECT_EQ(std::count(names.begin(), names.end(), "worker-0.carillon"), GetParam() ? 1 : 0);
}

TEST_P(RpcServerTest, StatusesComeWithTheirMessages) {
  const Channel channel = Connect();
  const std::vector<std::string> messages = {
      "", "plain", "100 % of it\nand more", "Grüße, 世界 🔔", std::string(5000, 'x'), "%41%"};
  for (const std::string& message : messages) {
    for (int code = 1; code <= 16; ++code) {
      for (const int messages_before : {0, 1, 3}) {
        service_.OnCustom([&](ServedCall& call, const std::string&) {
          for (int i = 0; i < messages_before; ++i) call.Send(PiecesOf("before"));
          call.Finish(Status(static_cast<absl::StatusCode>(code), message));
          call.Finish(absl::OkStatus());  // it is over
          call.Send(PiecesOf("after"));
        });
        StreamCall stream(channel, "/test/Custom");
        stream.WritesDone();
        for (int i = 0; i < messages_before; ++i) EXPECT_EQ(stream.Read(), "before");
        EXPECT_EQ(stream.Read(), std::nullopt);
        const grpc::Status status = stream.Finish();
        EXPECT_EQ(status.error_code(), code);
        EXPECT_EQ(status.error_message(), message);
        if (code % 5 != 1) break;
      }
    }
  }
}

TEST_P(RpcServerTest, VeryLongMessagesOfStatusesAreCut) {
  const Channel channel = Connect();
  for (const std::string& piece : {std::string("x"), std::string("%"), std::string("世")}) {
    std::string message;
    while (message.size() < 100'000) message += piece;
    for (const bool is_after_message : {false, true}) {
      service_.OnCustom([&](ServedCall& call, const std::string&) {
        if (is_after_message) call.Send(PiecesOf("before"));
        call.Finish(absl::InternalError(message));
      });
      const Answer answer = Call(channel, "/test/Custom", "");
      EXPECT_EQ(answer.status.error_code(), StatusCode::INTERNAL);
      EXPECT_TRUE(answer.status.error_message().starts_with(piece));
      EXPECT_TRUE(answer.status.error_message().ends_with("(cut)"));
    }
  }
}

TEST_P(RpcServerTest, AnUnknownMethodIsNotImplemented) {
  const Channel channel = Connect();
  for (const char* method : {"/test/Nothing", "/", "/test/Echo/", "/test/echo", "/other/Echo"}) {
    const Answer answer = Call(channel, method, std::string(200'000, 'x'));
    EXPECT_EQ(answer.status.error_code(), StatusCode::UNIMPLEMENTED) << method;
    EXPECT_NE(answer.status.error_message().find(method), std::string::npos);
  }
  ExpectServed(channel);
  EXPECT_EQ(service_.made(), 1);
}

TEST_P(RpcServerTest, PackedRequestsAreRead) {
  for (const auto packing : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    const Channel channel = Connect(packing);
    for (const size_t size : {0, 1, 1000, 5'000'000}) {
      const std::string request(size, 'x');
      const Answer answer = Call(channel, "/test/Echo", request);
      ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
      EXPECT_TRUE(answer.reply == request) << size;
    }
    StreamCall stream(channel, "/test/Stream");
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(stream.Write(std::string(static_cast<size_t>(i) * 1000, 'y')));
      EXPECT_EQ(stream.Read(), std::string(static_cast<size_t>(i) * 1000, 'y'));
    }
    stream.WritesDone();
    EXPECT_TRUE(stream.Finish().ok());
  }
}

TEST_P(RpcServerTest, AClientThatReadsNothingHoldsNobodyUp) {
  const Channel channel = Connect(), other = Connect();
  StreamCall stream(channel, "/test/Held");
  const auto held = AwaitHeld();
  const std::string large = RandomBytes(4 << 20, 1);
  for (int i = 0; i < 16; ++i) held->call->Send(PiecesOf(large));
  for (int i = 0; i < 20; ++i) {
    ExpectServed(channel);  // of the same connection
    ExpectServed(other);
  }
  held->call->Finish(absl::OkStatus());
  stream.WritesDone();
  // Now it reads.
  for (int i = 0; i < 16; ++i) {
    const std::optional<std::string> got = stream.Read();
    EXPECT_TRUE(got.has_value() && *got == large) << i;
  }
  EXPECT_EQ(stream.Read(), std::nullopt);
  EXPECT_TRUE(stream.Finish().ok());
}

INSTANTIATE_TEST_SUITE_P(All, RpcServerTest, testing::Bool(), PlainOrTls);

class TlsServerTest : public RpcServerTest {
 protected:
  Channel ConnectPlainly() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(),
                                     arguments);
  }
};

TEST_P(TlsServerTest, APlainClientIsToldWhy) {
  const Channel plain = ConnectPlainly(), good = Connect();
  for (const size_t size : {0, 1000, 1'000'000}) {
    const Answer answer = Call(plain, "/test/Echo", std::string(size, 'x'));
    EXPECT_EQ(answer.status.error_code(), StatusCode::UNAUTHENTICATED);
    EXPECT_NE(answer.status.error_message().find("this server takes only TLS"), std::string::npos);
    ExpectServed(good);
  }
  EXPECT_EQ(service_.made(), 3);
}

TEST_P(TlsServerTest, APlainClientOfThisMachineMayBeLetIn) {
  StartServer({.plain_clients = true});
  ExpectServed(ConnectPlainly());
  ExpectServed(Connect());
}

INSTANTIATE_TEST_SUITE_P(All, TlsServerTest, testing::Values(true), PlainOrTls);

class PlainServerTest : public RpcServerTest {};

TEST_P(PlainServerTest, AClientOfTlsIsTurnedAwayAndOthersGoOn) {
  grpc::SslCredentialsOptions options;
  const Channel tls = grpc::CreateChannel(server_->address(), grpc::SslCredentials(options));
  EXPECT_EQ(Call(tls, "/test/Echo", "").status.error_code(), StatusCode::UNAVAILABLE);
  ExpectServed(Connect());
}

INSTANTIATE_TEST_SUITE_P(All, PlainServerTest, testing::Values(false), PlainOrTls);

}  // namespace
}  // namespace carillon