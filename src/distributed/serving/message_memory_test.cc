// What messages take that no handler has yet: clients that have some wait, and do nothing else.
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "distributed/serving/http2_test_util.h"
#include "distributed/serving/service_test_util.h"
#include "eventually.h"

namespace carillon {
namespace {

using namespace http2;

class MessageMemoryTest : public ServiceTest {
 protected:
  void SetUp() override { StartServer({.message_memory_bytes = 4 << 20}); }

  // Begins calls of /test/Echo, a megabyte each, that are whole but for their ends.
  std::vector<uint32_t> BeginCalls(Http2Client* client, int calls) {
    client->Greet();
    EXPECT_TRUE(client->Ping());
    std::vector<uint32_t> ids;
    for (int i = 0; i < calls; ++i) {
      ids.push_back(client->Begin("/test/Echo"));
      client->SendData(ids.back(), Message(std::string(1'000'000, 'x')));
    }
    EXPECT_TRUE(client->Ping());
    return ids;
  }
};

TEST_F(MessageMemoryTest, RequestsWithoutAnEndAreRefused) {
  Http2Client client(server_->port());
  const std::vector<uint32_t> ids = BeginCalls(&client, 10);
  int refused = 0;
  for (const uint32_t id : ids) {
    if (client.stream(id).status() == "none") continue;
    EXPECT_EQ(client.stream(id).status(), "8");  // RESOURCE_EXHAUSTED
    ++refused;
  }
  EXPECT_GE(refused, 5);
  EXPECT_LE(refused, 8);
  EXPECT_TRUE(Eventually([&] { return service_.broken_off() == refused; }));
  // Those that are left can still end.
  client.SendData(ids.back(), "", true);
  ASSERT_TRUE(client.AwaitEnd(ids.back()));
  EXPECT_EQ(client.stream(ids.back()).status(), "0");
  EXPECT_EQ(client.stream(ids.back()).data.size(), 1'000'005);
}

TEST_F(MessageMemoryTest, WhoFillsItAndStopsHoldsUpNobody) {
  Http2Client full(server_->port()), other(server_->port());
  BeginCalls(&full, 4);
  other.Greet();
  ASSERT_TRUE(other.Ping());
  for (int i = 0; i < 5; ++i) {
    const Http2Client::Stream echo = other.Call("/test/Echo", std::string(2'000'000, 'y'));
    EXPECT_EQ(echo.status(), "0");
    EXPECT_EQ(echo.data.size(), 2'000'005);
  }
}

}  // namespace
}  // namespace carillon
