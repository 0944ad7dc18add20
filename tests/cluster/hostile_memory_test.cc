// What clients can make a server hold that send messages and never end them.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "carillon/carillon.h"
#include "carillon/server.h"
#include "distributed/cluster/step_messages.h"
#include "distributed/serving/http2_test_util.h"
#include "eventually.h"
#include "graph/graph_def.h"
#include "own_process.h"
#include "raw_client.h"

namespace carillon {
namespace {

// A client that announces a message and does not send all of it.
class HalfSentMessage {
 public:
  HalfSentMessage(int port, uint32_t announced) : client_(port) {
    client_.Greet();
    call_ = client_.Begin("/tensorflow.MasterService/RunStep");
    client_.SendData(call_, std::string(1, '\0') + http2::BigEndian(announced, 4));
  }
  // As many bytes of it as the server takes; how many those were.
  int64_t Send(size_t bytes) {
    const std::string some(std::min<size_t>(bytes, 1 << 20), 'x');
    size_t sent = 0;
    while (sent < bytes) {
      const std::string_view next = std::string_view(some).substr(0, bytes - sent);
      const size_t taken = client_.SendData(call_, next);
      sent += taken;
      if (taken < next.size()) break;
    }
    return static_cast<int64_t>(sent);
  }

 private:
  Http2Client client_;
  uint32_t call_ = 0;
};

// What has come of messages that never end is bounded, too, and gone with their senders. Who works
// meanwhile does not notice.
TEST(HalfSentMessages, TakeNoMoreThanTheLimit) {
  constexpr int64_t kMiB = 1 << 20;
#if defined(__SANITIZE_THREAD__)
  constexpr int64_t kMost = 2000;  // all memory is watched in several times its size
#elif defined(__SANITIZE_ADDRESS__)
  constexpr int64_t kMost = 700;  // a quarter of a GiB that was freed is kept
#else
  constexpr int64_t kMost = 300;
#endif
  const Server server({.memory_limit_bytes = 64 * kMiB});
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1}), sum = Sum(x);
  Session session(server.target(), g);
  const Feeds feeds{{x, Tensor::Full<float>({1 << 18}, 1.0f)}};
  session.Run(sum, feeds);
  const int64_t before = ResidentBytes();
  ResetPeakResidentBytes();
  std::atomic<bool> is_over{false};
  std::atomic<int> runs{0};
  std::thread other([&] {
    for (; !is_over; ++runs) EXPECT_EQ(session.Run(sum, feeds).scalar<float>(), 1 << 18);
  });
  {
    std::vector<std::unique_ptr<HalfSentMessage>> senders;
    int64_t sent = 0;
    for (int i = 0; i < 8; ++i) {
      senders.push_back(std::make_unique<HalfSentMessage>(server.port(), 120 * kMiB));
      sent += senders.back()->Send(100 * kMiB);
    }
    EXPECT_GT(sent, 600 * kMiB);
    EXPECT_LT(PeakResidentBytes() - before, kMost * kMiB);
  }
  is_over = true;
  other.join();
  EXPECT_GT(runs, 0);
}

TEST(HalfSentMessages, OfStrangersAreNotRead) {
  const Server server({.security = {.token = "the-token-of-this-job"}});
  HalfSentMessage stranger(server.port(), 1 << 30);
  EXPECT_LT(stranger.Send(256 << 20), 64 << 20);  // not more than the window of one connection
}

TEST(HalfSentMessages, AreRefusedAtOnceWhenTheyCanNeverHaveRoom) {
  const Server server({.memory_limit_bytes = 1 << 20});
  HalfSentMessage sender(server.port(), 1 << 30);
  EXPECT_LT(sender.Send(256 << 20), 64 << 20);  // not more than the window of one connection
}

// A large feed comes straight into its tensor, which goes with a client that ends before it is
// whole, as its session does.
TEST(HalfSentMessages, LeaveNothingOfTheirFeeds) {
  const Server server;
  constexpr int64_t kBytes = 8 << 20;
  for (const bool ends : {true, false}) {
    RawClient maker(server.port());
    const StatusOr<std::string> session = maker.CreateSession(
        GraphOf(NodeText("x", "Placeholder", {}, Attr("dtype", "type: DT_FLOAT"))));
    ASSERT_TRUE(session.ok()) << session.status();
    StepRequest request{.session_handle = *session, .fetches = {"x:0"}};
    request.feeds.emplace_back("x:0", Tensor::Full<float>({kBytes / 4}, 1.5f));
    const std::string message = http2::Message(WriteStepRequest(request).Flatten());
    auto client = std::make_unique<Http2Client>(server.port());
    client->Greet();
    ASSERT_TRUE(client->Ping());
    const uint32_t call = client->Begin("/tensorflow.MasterService/RunStep");
    client->SendData(call, std::string_view(message).substr(0, kBytes / 2));
    EXPECT_TRUE(Eventually([&] { return server.bytes_in_use() >= kBytes; }));
    if (ends) {
      client.reset();
      EXPECT_TRUE(Eventually([&] { return server.num_sessions() == 0; }));
      EXPECT_TRUE(Eventually([&] { return server.bytes_in_use() == 0; })) << server.bytes_in_use();
      continue;
    }
    client->SendData(call, std::string_view(message).substr(kBytes / 2), true);
    ASSERT_TRUE(client->AwaitEnd(call));
    EXPECT_EQ(client->stream(call).status(), "0");
    EXPECT_GT(client->stream(call).data.size(), kBytes);
    EXPECT_EQ(server.num_sessions(), 1);
  }
}

// A value is in the answer as often as it is fetched.
TEST(LargeAnswers, OfManyFetchesAreRefused) {
  const Server server({.memory_limit_bytes = 64 << 20});
  RawClient client(server.port());
  const StatusOr<std::string> session = client.CreateSession(
      GraphOf(NodeText("x", "Placeholder", {}, Attr("dtype", "type: DT_STRING")) +
              NodeText("y", "Identity", {"x"}, Attr("T", "type: DT_STRING"))));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto run = [&](int fetches, bool in_body) {
    tensorflow::RunStepRequest request;
    request.set_session_handle(*session);
    request.set_store_errors_in_response_body(in_body);
    for (int i = 0; i < fetches; ++i) request.add_fetch("y:0");
    auto* const feed = request.add_feed();
    feed->set_name("x:0");
    feed->mutable_tensor()->set_dtype(tensorflow::DT_STRING);
    feed->mutable_tensor()->add_string_val(std::string(1 << 20, 'x'));
    tensorflow::RunStepResponse reply;
    const Status status = client.Master("RunStep", request, &reply);
    if (!in_body || !status.ok()) return status;
    return Status(static_cast<absl::StatusCode>(reply.status_code()), reply.status_error_message());
  };
  EXPECT_EQ(run(10, false), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(run(200, false)));
  EXPECT_EQ(run(10, true), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(run(200, true)));
  // What was sent counts no longer.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(10, false), absl::OkStatus());
}

TEST(LargeAnswers, OfGraphsWithConstantsAreRefused) {
  const Server server({.memory_limit_bytes = 64 << 20});
  RawClient client(server.port());
  for (const int megabytes : {1, 20}) {
    tensorflow::GraphDef graph =
        GraphOf(NodeText("large", "Const", {}, Attr("dtype", "type: DT_UINT8")) +
                NodeText("i", "Placeholder", {}, Attr("dtype", "type: DT_INT32")) +
                NodeText("y", "Gather", {"large", "i"},
                         Attr("Tparams", "type: DT_UINT8") + Attr("Tindices", "type: DT_INT32")));
    tensorflow::TensorProto* const value =
        (*graph.mutable_node(0)->mutable_attr())["value"].mutable_tensor();
    value->set_dtype(tensorflow::DT_UINT8);
    value->mutable_tensor_shape()->add_dim()->set_size(megabytes << 20);
    value->set_tensor_content(std::string(static_cast<size_t>(megabytes) << 20, 'x'));
    const StatusOr<std::string> session = client.CreateSession(graph);
    ASSERT_TRUE(session.ok()) << session.status();
    tensorflow::RunStepRequest request;
    request.set_session_handle(*session);
    request.add_fetch("y:0");
    request.mutable_options()->set_output_partition_graphs(true);
    auto* const feed = request.add_feed();
    feed->set_name("i:0");
    feed->mutable_tensor()->set_dtype(tensorflow::DT_INT32);
    feed->mutable_tensor()->add_int_val(0);
    tensorflow::RunStepResponse reply;
    const Status status = client.Master("RunStep", request, &reply);
    EXPECT_EQ(status.code(),
              megabytes == 1 ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted)
        << status;
    request.mutable_options()->set_output_partition_graphs(false);
    EXPECT_TRUE(client.Master("RunStep", request, &reply).ok()) << "the values alone have room";
    EXPECT_TRUE(client.CloseSession(*session).ok());
  }
}

// A record of each kernel that ran, with the names of all that it read.
TEST(LargeAnswers, OfTracesAreRefused) {
  constexpr int64_t kLimit = 64 << 20;
  const Server server({.memory_limit_bytes = kLimit});
  RawClient client(server.port());
  Graph g;
  const Output result = WhileLoop(
      g, {Const(g, 0)}, [](const LoopVariables& v) { return Less(v[0], 3000); },
      [](const LoopVariables& v) {
        const Output zero = Mul(v[0], 0);
        return LoopVariables{Add(AddN(std::vector<Output>(1000, zero)), Add(v[0], 1))};
      })[0];
  tensorflow::GraphDef graph;
  ExportGraphDef(g.nodes(), &graph);
  const StatusOr<std::string> session = client.CreateSession(graph);
  ASSERT_TRUE(session.ok()) << session.status();
  const auto run = [&](tensorflow::RunOptions::TraceLevel level) {
    tensorflow::RunStepRequest request;
    request.set_session_handle(*session);
    request.add_fetch(result.name());
    request.mutable_options()->set_trace_level(level);
    tensorflow::RunStepResponse reply;
    return client.Master("RunStep", request, &reply);
  };
  EXPECT_EQ(run(tensorflow::RunOptions::NO_TRACE), absl::OkStatus());
  const int64_t before = ResidentBytes();
  ResetPeakResidentBytes();
  const Status status = run(tensorflow::RunOptions::FULL_TRACE);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_LT(PeakResidentBytes() - before, 4 * kLimit);
}

}  // namespace
}  // namespace carillon
