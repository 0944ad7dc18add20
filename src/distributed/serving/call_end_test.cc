// Handlers are told of the end of their calls, once, and let go of then.
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>

#include "distributed/serving/http2_test_util.h"
#include "distributed/serving/service_test_util.h"
#include "eventually.h"

namespace carillon {
namespace {

using namespace http2;

class CallEndTest : public testing::Test {
 protected:
  CallEndTest() { service_.AddTo(&server_); }

  TestService service_;
  RpcServer server_{RpcServerOptions{}};
};

TEST_F(CallEndTest, ACallThatTheServerResetsIsBrokenOff) {
  server_.Start();
  Http2Client client(server_.port());
  client.Greet();
  const uint32_t id = client.Begin("/test/Held");
  EXPECT_TRUE(Eventually([&] { return service_.held().size() == 1; }));
  client.SendFrame(kWindowUpdate, 0, id, BigEndian(INT32_MAX, 4));  // more than a window can be
  ASSERT_TRUE(client.AwaitEnd(id));
  ASSERT_TRUE(client.stream(id).reset.has_value());
  // Though nothing else happens on the connection.
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  EXPECT_EQ(service_.held().front()->told_broken_off, 1);
}

TEST_F(CallEndTest, AHandlerGoesWhenTheEndOfItsAnswerWasHeldUp) {
  constexpr size_t kWindow = 65535;  // unless somebody says otherwise
  service_.OnCustom([](ServedCall& call, std::string) {
    call.Answer(PiecesOf(std::string(kWindow + 1000, 'x')));
  });
  server_.Start();
  Http2Client client(server_.port());
  client.Send(kPreface);
  client.SendFrame(kSettings, 0, 0, "");
  const uint32_t id = client.Begin("/test/Custom");
  client.SendData(id, Message(""), true);
  while (client.stream(id).data.size() < kWindow) ASSERT_TRUE(client.Pump());
  EXPECT_EQ(service_.alive(), 1);
  client.Send(Frame(kWindowUpdate, 0, 0, BigEndian(kWindow, 4)) +
              Frame(kWindowUpdate, 0, id, BigEndian(kWindow, 4)));
  ASSERT_TRUE(client.AwaitEnd(id));
  EXPECT_EQ(client.stream(id).status(), "0");
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  EXPECT_EQ(service_.broken_off(), 0);
}

// Who breaks a call off may hold locks that handlers need when they go.
TEST_F(CallEndTest, WhoBreaksACallOffLetsNoHandlerGo) {
  std::atomic<bool> is_answered = false, is_loop_busy = false, may_loop_go_on = false;
  service_.OnCustom([&](ServedCall& call, std::string) {
    call.Answer(PiecesOf(std::string(64 << 20, 'x')));
    is_answered = true;
  });
  std::mutex mutex;
  std::vector<std::shared_ptr<ServedCall>> calls;  // under mutex
  std::atomic<std::thread::id> gone_by;
  struct Handler final : CallHandler {
    explicit Handler(std::function<void()> on_end) : on_end(std::move(on_end)) {}
    ~Handler() override { on_end(); }
    void OnMessage(ReceivedMessage) override {}
    const std::function<void()> on_end;
  };
  server_.AddMethod("/test/Mine", [&](std::shared_ptr<ServedCall> call) {
    std::lock_guard lock(mutex);
    calls.push_back(std::move(call));
    return std::make_shared<Handler>([&, is_first = calls.size() == 1] {
      if (is_first) gone_by = std::this_thread::get_id();
    });
  });
  server_.AddMethod("/test/Busy", [&](const std::shared_ptr<ServedCall>&) {
    is_loop_busy = true;
    Eventually([&] { return may_loop_go_on.load(); });
    return nullptr;
  });
  server_.Start();
  Http2Client client(server_.port(), 64 << 10);
  client.Greet();
  // The way to the client is full, and the end of a call waits there.
  client.SendData(client.Begin("/test/Custom"), Message(""), true);
  ASSERT_TRUE(Eventually([&] { return is_answered.load(); }));
  const uint32_t finished = client.Begin("/test/Mine");
  client.Begin("/test/Mine");
  ASSERT_TRUE(Eventually([&] {
    std::lock_guard lock(mutex);
    return calls.size() == 2;
  }));
  for (int i = 0; i < 100; ++i) calls[0]->AskForMessage();  // sends, until nothing goes any more
  std::thread([&] { calls[0]->Finish(absl::OkStatus()); }).join();
  // Now it becomes free, while the server's thread does not look.
  client.Begin("/test/Busy");
  ASSERT_TRUE(Eventually([&] { return is_loop_busy.load(); }));
  for (size_t read = 0; read < 1 << 20; read = client.stream(1).data.size())
    ASSERT_TRUE(client.Pump());
  std::thread([&] { calls[1]->AskForMessage(); }).join();  // makes room for the end
  calls[1]->BreakOff(absl::CancelledError("enough"));
  may_loop_go_on = true;
  ASSERT_TRUE(client.AwaitEnd(finished));
  EXPECT_TRUE(Eventually([&] { return gone_by.load() != std::thread::id(); }));
  EXPECT_NE(gone_by.load(), std::this_thread::get_id());
}

// Both calls begin in one turn: the first is broken off as its handler is made, and its end leaves
// as the second one's is.
TEST_F(CallEndTest, ACallThatIsBrokenOffAsItBeginsIsToldOnce) {
  std::atomic<bool> is_answered = false, is_over = false;
  service_.OnCustom([&](ServedCall& call, std::string) {
    call.Answer(PiecesOf(std::string(64 << 20, 'x')));
    is_answered = true;
  });
  std::atomic<int> told = 0, gone = 0;
  struct Handler final : CallHandler {
    Handler(std::atomic<int>* told, std::atomic<int>* gone) : told(*told), gone(*gone) {}
    ~Handler() override { ++gone; }
    void OnMessage(ReceivedMessage) override {}
    void OnBrokenOff(By) override { ++told; }
    std::atomic<int>&told, &gone;
  };
  Http2Client client(server_.port(), 64 << 10);
  constexpr uint32_t kFirst = 3, kSecond = 5;
  server_.AddMethod("/test/First", [&](const std::shared_ptr<ServedCall>& call) {
    for (int i = 0; i < 100; ++i) call->AskForMessage();  // sends, until nothing goes any more
    call->BreakOff(absl::CancelledError("not you"));
    return std::make_shared<Handler>(&told, &gone);
  });
  server_.AddMethod("/test/Second", [&](const std::shared_ptr<ServedCall>& call) {
    for (int i = 0; i < 1000 && !client.stream(kFirst).is_ended; ++i) {
      client.Pump();
      call->AskForMessage();  // sends what there is
    }
    call->Finish(absl::OkStatus());
    is_over = true;
    return nullptr;
  });
  server_.Start();
  client.Greet();
  client.SendData(client.Begin("/test/Custom"), Message(""), true);
  ASSERT_TRUE(Eventually([&] { return is_answered.load(); }));
  client.Send(Frame(kHeaders, kEndHeaders, kFirst, CallHeaders("/test/First")) +
              Frame(kHeaders, kEndHeaders, kSecond, CallHeaders("/test/Second")));
  ASSERT_TRUE(Eventually([&] { return is_over && gone == 1; }));
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace carillon
