// What clients say of their calls is kept as long as these last, and a few bytes may stand for
// much.
#include <gtest/gtest.h>

#include "captured_log.h"
#include "distributed/serving/http2_test_util.h"
#include "distributed/serving/service_test_util.h"

namespace carillon {
namespace {

using namespace http2;

using HeaderMemoryTest = ServiceTest;

TEST_F(HeaderMemoryTest, IsLimitedForAllCallsOfAConnection) {
  Http2Client client(server_->port());
  client.Greet();
  // Into the table of headers; from there it comes with every call, seven times.
  const std::string value(3900, 'x');
  const std::string to_table = "\x40\1x" + Header("", value).substr(2);
  const std::string from_table(7, '\xbe');
  const uint32_t first = client.Begin("/test/Held", to_table);
  constexpr int kCalls = 500;
  std::vector<uint32_t> calls;
  for (int i = 0; i < kCalls; ++i) calls.push_back(client.Begin("/test/Held", from_table));
  ASSERT_TRUE(client.Ping());
  size_t taken = 0;
  for (const std::shared_ptr<TestService::Held>& held : service_.held()) {
    for (const auto& [key, text] : held->call->info().metadata) taken += text.size();
  }
  EXPECT_GT(taken, 1 << 20);
  EXPECT_LT(taken, 4 << 20);
  ASSERT_TRUE(client.AwaitEnd(calls.back()));
  EXPECT_EQ(client.stream(calls.back()).status(), "8");
  EXPECT_FALSE(client.stream(first).is_ended);
  // Calls that end make room.
  for (int i = 0; i < 10; ++i)
    client.SendFrame(kReset, 0, calls[static_cast<size_t>(i)], BigEndian(8, 4));
  const int made = service_.made();
  for (int i = 0; i < 10; ++i) client.Begin("/test/Held", from_table);
  ASSERT_TRUE(client.Ping());
  EXPECT_EQ(service_.made(), made + 10);
}

// Into the table of headers, from where one byte is enough to say it again.
std::string ToTable(std::string_view name, const std::string& value) {
  return "\x40" + Header(name, value).substr(1);
}

class ExpandingHeadersTest : public HeaderMemoryTest {
 protected:
  // One call's headers or trailers, of many small bytes, end the connection.
  void ExpectClosed(Http2Client* client, const std::string& block, uint32_t id, char flags = 0) {
    client->SendFrame(kHeaders, static_cast<char>(kEndHeaders | flags), id, block);
    EXPECT_FALSE(client->Ping());
    EXPECT_TRUE(client->AwaitClosed());
    Http2Client other(server_->port());
    other.Greet();
    EXPECT_EQ(other.Call("/test/Echo", "x").status(), "0");
  }

  const std::string value_ = std::string(3900, 'x');
};

TEST_F(ExpandingHeadersTest, OfACall) {
  Http2Client client(server_->port());
  client.Greet();
  ASSERT_TRUE(client.Ping());
  ExpectClosed(&client,
               CallHeaders("/test/Echo") + ToTable("x", value_) + std::string(500'000, '\xbe'), 1);
}

TEST_F(ExpandingHeadersTest, ThatAreInvalid) {
  Http2Client client(server_->port());
  client.Greet();
  ASSERT_TRUE(client.Ping());
  ExpectClosed(
      &client,
      CallHeaders("/test/Echo") + ToTable("x", value_ + "\n") + std::string(500'000, '\xbe'), 1);
}

TEST_F(ExpandingHeadersTest, OfTrailers) {
  Http2Client client(server_->port());
  client.Greet();
  ASSERT_TRUE(client.Ping());
  const uint32_t id = client.Begin("/test/Held");
  ExpectClosed(&client, ToTable("x", value_) + std::string(500'000, '\xbe'), id, kEndStream);
  EXPECT_EQ(AwaitHeld()->told_last, false);
}

TEST_F(ExpandingHeadersTest, HoweverShortEachIs) {
  Http2Client client(server_->port());
  client.Greet();
  ASSERT_TRUE(client.Ping());
  ExpectClosed(&client, CallHeaders("/test/Echo") + ToTable("x", "") + std::string(500'000, '\xbe'),
               1);
}

// None of them is too large, but a few bytes bring thousands.
TEST_F(ExpandingHeadersTest, OfManyCalls) {
  Http2Client client(server_->port());
  client.Greet();
  ASSERT_TRUE(client.Ping());
  client.Begin("/test/Echo", ToTable("x", value_));
  const std::string block = CallHeaders("/test/Echo") + std::string(20, '\xbe');
  std::string calls;
  for (uint32_t id = 3; calls.size() < 1 << 20; id += 2)
    calls += Frame(kHeaders, kEndHeaders, id, block) + Frame(kReset, 0, id, BigEndian(8, 4));
  client.Send(calls);
  EXPECT_FALSE(client.Ping());
  EXPECT_TRUE(client.AwaitClosed());
}

// What it says is kept, too: nghttp2 makes room by the length of the frame.
TEST_F(HeaderMemoryTest, AGoAwayIsNoLongerThanItNeedsToBe) {
  Http2Client client(server_->port());
  client.Greet();
  ASSERT_TRUE(client.Ping());  // larger frames may come from here on
  client.Send(BigEndian(1 << 20, 3) + std::string("\7\0\0\0\0\0", 6));
  EXPECT_TRUE(client.AwaitClosed());
}

// What is wrong with a header hurts its call at most, and the log does not say it in the client's
// words.
TEST_F(HeaderMemoryTest, InvalidOnesAreLeftOut) {
  CapturedLog log;
  {
    Http2Client client(server_->port());
    client.Greet();
    const uint32_t id = client.Begin("/test/Echo", Header("x", "first line\nsecond line"));
    client.SendData(id, Message("hello"), true);
    ASSERT_TRUE(client.AwaitEnd(id));
    EXPECT_EQ(client.stream(id).status(), "0");
    client.SendFrame(kPing, 0, 1, "12345678");  // which is no call's
    EXPECT_TRUE(client.AwaitClosed());
  }
  server_->Stop(std::chrono::milliseconds(0));
  const std::string lines = log.End();
  EXPECT_EQ(lines.find("second line"), std::string::npos) << lines;
  EXPECT_NE(lines.find("PING: stream_id != 0"), std::string::npos) << lines;
}

}  // namespace
}  // namespace carillon
