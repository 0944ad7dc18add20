// Clients that make the server answer and do not read what it says.
#include <gtest/gtest.h>
#include <thread>

#include "distributed/serving/http2_test_util.h"
#include "distributed/serving/service_test_util.h"
#include "eventually.h"

namespace carillon {
namespace {

using namespace http2;

class UnreadAnswersTest : public ServiceTest {
 protected:
  UnreadAnswersTest() {
    service_.OnCustom([this](ServedCall& call, std::string) {
      call.Answer(PiecesOf(std::string(64 << 20, 'x')));
      is_answered_ = true;
    });
  }

  // Once this returns, nothing more can be sent to the client.
  void AskForMuch(Http2Client* client) {
    client->Greet();
    client->SendData(client->Begin("/test/Custom"), Message(""), true);
    EXPECT_TRUE(Eventually([&] { return is_answered_.load(); }));
  }

  std::atomic<bool> is_answered_ = false;
};

std::string BeginEcho(uint32_t id) {
  return Frame(kHeaders, kEndHeaders, id, CallHeaders("/test/Echo"));
}

TEST_F(UnreadAnswersTest, RefusalsAreNotKeptForEver) {
  Http2Client client(server_->port(), 64 << 10);
  AskForMuch(&client);
  // More than it takes at once, all refused: it does not know yet how many there may be.
  size_t sent = 0;
  for (uint32_t id = 3; client.is_open() && sent < size_t{64} << 20;) {
    std::string calls;
    for (; calls.size() < 1 << 20; id += 2) calls += BeginEcho(id);
    client.Send(calls);
    sent += calls.size();
  }
  EXPECT_FALSE(client.is_open());
}

// Reads all that comes, but has no windows: as far as TCP knows, nothing is the matter.
class WithheldWindowTest : public UnreadAnswersTest {
 protected:
  void Greet(Http2Client* client) {
    client->Send(kPreface);
    client->SendFrame(kSettings, 0, 0, BigEndian(kInitialWindow, 2) + BigEndian(0, 4));
    ASSERT_TRUE(client->Ping());
  }
};

TEST_F(WithheldWindowTest, HoldsAnAnswerUntilItsDeadline) {
  Http2Client client(server_->port());
  Greet(&client);
  const uint32_t id = client.Begin("/test/Custom", Header("grpc-timeout", "500m"));
  client.SendData(id, Message(""), true);
  ASSERT_TRUE(client.AwaitEnd(id));
  EXPECT_TRUE(client.stream(id).reset.has_value());
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  EXPECT_EQ(service_.broken_off(), 1);
  EXPECT_TRUE(client.Ping());
}

TEST_F(WithheldWindowTest, HoldsAStreamUntilItsDeadline) {
  Http2Client client(server_->port());
  Greet(&client);
  const uint32_t id = client.Begin("/test/Stream", Header("grpc-timeout", "500m"));
  client.SendData(id, Message("an answer that is not the last"));
  ASSERT_TRUE(client.AwaitEnd(id));
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  EXPECT_EQ(service_.broken_off(), 1);
}

TEST_F(WithheldWindowTest, IsNotWaitedForForEver) {
  StartServer({.longest_standstill = std::chrono::seconds(1)});
  Http2Client client(server_->port()), stream(server_->port()), idle(server_->port());
  for (Http2Client* one : {&client, &stream}) Greet(one);
  idle.Greet();
  EXPECT_EQ(idle.Call("/test/Echo", "x").status(), "0");
  const uint32_t open = idle.Begin("/test/Held");
  client.SendData(client.Begin("/test/Custom"), Message(""), true);
  stream.SendData(stream.Begin("/test/Stream"), Message("x"));
  for (Http2Client* one : {&client, &stream}) EXPECT_TRUE(one->AwaitClosed());
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 1; }));
  // Who is owed nothing may be silent.
  EXPECT_EQ(idle.Call("/test/Echo", "x").status(), "0");
  EXPECT_FALSE(idle.stream(open).is_ended);
}

// A little now and then is enough.
TEST_F(WithheldWindowTest, IsWaitedForAsLongAsItOpens) {
  StartServer({.longest_standstill = std::chrono::seconds(4)});
  Http2Client client(server_->port());
  Greet(&client);
  const uint32_t id = client.Begin("/test/Stream");
  constexpr size_t kSteps = 60;
  client.SendData(id, Message(std::string(kSteps, 'x')));
  for (size_t i = 0; i < kSteps; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    client.Send(Frame(kWindowUpdate, 0, id, BigEndian(1, 4)));
    ASSERT_TRUE(client.Ping()) << i;
  }
  EXPECT_EQ(client.stream(id).data.size(), kSteps);
}

TEST_F(UnreadAnswersTest, HoldUpTheMessagesThatWouldBeAnswered) {
  constexpr size_t kMessage = 16 << 10, kMost = 32 << 20;
  const std::string message = Message(std::string(kMessage, 'x'));
  Http2Client client(server_->port());
  client.Send(kPreface);
  client.SendFrame(kSettings, 0, 0, BigEndian(kInitialWindow, 2) + BigEndian(0, 4));
  const uint32_t id = client.Begin("/test/Stream");
  ASSERT_TRUE(client.Ping());
  size_t sent = 0;
  while (client.room(id) >= static_cast<int64_t>(message.size()) && sent < kMost) {
    sent += client.SendData(id, message);
    ASSERT_TRUE(client.Ping());
  }
  EXPECT_LT(sent, kMost);
  // It reads: all comes, and the rest, too.
  client.Send(Frame(kWindowUpdate, 0, 0, BigEndian(1 << 30, 4)) +
              Frame(kWindowUpdate, 0, id, BigEndian(1 << 30, 4)));
  for (int i = 0; i < 1000; ++i) sent += client.SendData(id, message, i == 999);
  ASSERT_TRUE(client.AwaitEnd(id));
  EXPECT_EQ(client.stream(id).status(), "0");
  EXPECT_EQ(client.stream(id).data.size(), sent);
}

}  // namespace
}  // namespace carillon
