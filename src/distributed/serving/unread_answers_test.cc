// Clients that make the server answer and do not read what it says.
#include <gtest/gtest.h>

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
