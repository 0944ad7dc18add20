// What clients say of their calls is kept as long as these last, and a few bytes may stand for
// much.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace carillon
