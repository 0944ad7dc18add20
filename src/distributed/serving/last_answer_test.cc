// A server that stops, and the answers that are still on their way.
#include <gtest/gtest.h>
#include <thread>

#include "distributed/serving/http2_test_util.h"
#include "distributed/serving/service_test_util.h"

namespace carillon {
namespace {

using namespace http2;

using LastAnswerTest = ServiceTest;

// Whatever comes from a client whose connection is closed ends it at once, and with it what the
// system has not sent yet.
TEST_F(LastAnswerTest, ComesToAClientThatGoesOnTalking) {
  Http2Client client(server_->port(), 64 << 10);
  client.Greet();
  const uint32_t id = client.Begin("/test/Held");
  const std::string large(3 << 20, 'x');
  AwaitHeld()->call->Answer(PiecesOf(large));
  std::thread stopper([&] { server_->Stop(std::chrono::seconds(60)); });
  while (!client.stream(id).is_ended && client.Pump()) client.SendFrame(kPing, 0, 0, "12345678");
  EXPECT_EQ(client.stream(id).status(), "0");
  EXPECT_EQ(client.stream(id).data.size(), Message(large).size());
  stopper.join();
}

}  // namespace
}  // namespace carillon
