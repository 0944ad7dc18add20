#include "distributed/serving/listener.h"

#include <atomic>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "distributed/serving/http2_test_util.h"
#include "eventually.h"

namespace carillon {
namespace {

TEST(ListenerTest, ConnectionsAreSetUpToNoticeTheirEnd) {
  auto listener = Listener::Open("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok());
  std::atomic<int> taken = -1;
  (*listener)->Start([&](int connection, bool) { taken = connection; });
  const Http2Client client((*listener)->port());
  ASSERT_TRUE(Eventually([&] { return taken >= 0; }));
  const auto option = [&](int level, int name) {
    int value = 0;
    socklen_t size = sizeof(value);
    EXPECT_EQ(getsockopt(taken, level, name, &value, &size), 0);
    return value;
  };
  EXPECT_NE(option(IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_NE(option(SOL_SOCKET, SO_KEEPALIVE), 0);
  // Without it the system would try again for a quarter of an hour when a machine is gone, and for
  // ever when a client does not read.
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 60'000);
  close(taken);
}

}  // namespace
}  // namespace carillon
