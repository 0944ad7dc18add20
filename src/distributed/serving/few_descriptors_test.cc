// Connections that ask for nothing, as many as there are descriptors.
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "distributed/serving/http2_test_util.h"
#include "distributed/serving/service_test_util.h"

namespace carillon {
namespace {

class FewDescriptorsTest : public ServiceTest {
 protected:
  static constexpr int kMost = 400, kReserve = 64;  // the server's reserve

  FewDescriptorsTest() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit low = before_;
    low.rlim_cur = std::min<rlim_t>(low.rlim_cur, kMost);
    setrlimit(RLIMIT_NOFILE, &low);
  }
  ~FewDescriptorsTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  static int NextDescriptor() {
    const int next = dup(STDERR_FILENO);
    close(next);
    return next;
  }
  std::unique_ptr<Http2Client> Connect() {
    auto client = std::make_unique<Http2Client>(server_->port());
    client->Greet();
    client->Ping();
    return client;
  }

  rlimit before_{};
};

TEST_F(FewDescriptorsTest, StrangersMakeRoomForOthers) {
  const std::unique_ptr<Http2Client> known = Connect();
  EXPECT_EQ(known->Call("/test/Echo", "x").status(), "0");
  std::vector<std::unique_ptr<Http2Client>> strangers;
  while (NextDescriptor() < kMost - kReserve) strangers.push_back(Connect());
  ASSERT_GT(strangers.size(), 10);
  for (int i = 0; i < 5; ++i) {
    const std::unique_ptr<Http2Client> late = Connect();
    EXPECT_EQ(late->Call("/test/Echo", "x").status(), "0");
    EXPECT_EQ(known->Call("/test/Echo", "x").status(), "0");
  }
  EXPECT_TRUE(strangers.front()->AwaitClosed());
  EXPECT_TRUE(strangers.back()->Ping());
}

}  // namespace
}  // namespace carillon
