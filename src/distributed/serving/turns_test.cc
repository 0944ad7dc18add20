// One thread serves all connections: who sends without a pause leaves the others their turns.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "distributed/serving/http2_test_util.h"
#include "distributed/serving/rpc_server.h"
#include "eventually.h"

namespace carillon {
namespace {

using namespace http2;

TEST(TurnsTest, AreNoLongerForThoseWhoSendMuch) {
  std::atomic<int64_t> sent = 0, sent_when_called = 0;

  RpcServer server{RpcServerOptions{}};
  server.AddMethod("/test/Look", [&](const std::shared_ptr<ServedCall>& call) {
    sent_when_called = sent.load();
    call->Finish(absl::OkStatus());
    return nullptr;
  });
  server.Start();
  // Frames of a kind that nobody knows: to read them takes longer than to send them.
  std::string frames;
  while (frames.size() < 1 << 20) frames += Frame(77, 0, 0, "");
  std::atomic<bool> is_over = false;
  std::thread much([&] {
    Http2Client client(server.port());
    client.Greet();
    while (!is_over && client.is_open()) {
      client.Send(frames);
      sent += static_cast<int64_t>(frames.size());
    }
    EXPECT_TRUE(client.is_open());
  });
  EXPECT_TRUE(Eventually([&] { return sent >= 32 << 20; }));
  Http2Client other(server.port());
  other.Greet();
  std::vector<int64_t> waits;  // in bytes of the one who sends much
  for (int i = 0; i < 51; ++i) {
    const int64_t before = sent;
    EXPECT_TRUE(other.AwaitEnd(other.Begin("/test/Look")));
    waits.push_back(sent_when_called - before);
  }
  is_over = true;
  much.join();
  // A turn is of 4 MiB, and the call comes in the middle of one; the system may hold some of us up
  // now and then.
  std::ranges::sort(waits);
  EXPECT_LT(waits[waits.size() / 2], 32 << 20);
}

}  // namespace
}  // namespace carillon
