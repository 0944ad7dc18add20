// Messages that are offered to their handlers while they come.
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "distributed/serving/http2_test_util.h"
#include "distributed/serving/service_test_util.h"
#include "eventually.h"
#include "tensor/buffer.h"

namespace carillon {
namespace {

using http2::Message;

class MessagePartsTest : public testing::Test {
 protected:
  using OnPart = std::function<void(ServedCall& call, ReceivedMessage* part)>;

  // Answers a message with how many parts of it were offered, and then its bytes.
  class Handler final : public CallHandler {
   public:
    Handler(MessagePartsTest* test, std::shared_ptr<ServedCall> call)
        : test_(*test), call_(std::move(call)) {
      ++test_.alive_;
    }
    ~Handler() override { --test_.alive_; }

    void OnPart(ReceivedMessage* part) override {
      ++parts_;
      test_.on_part_(*call_, part);
    }
    void OnMessage(ReceivedMessage message) override {
      test_.contents_ = message.contents();
      MessagePieces answer;
      answer.AddFields(std::to_string(parts_) + ";" + message.ToString());
      parts_ = 0;
      call_->Send(std::move(answer));
      call_->AskForMessage();
    }
    void OnLastMessage() override { call_->Finish(absl::OkStatus()); }
    void OnBrokenOff(By by) override {
      ++(by == By::kClient ? test_.by_client_ : test_.by_server_);
    }

   private:
    MessagePartsTest& test_;
    const std::shared_ptr<ServedCall> call_;
    int parts_ = 0;
  };

  void SetUp() override {
    server_.AddMethod("/test/Parts", [this](std::shared_ptr<ServedCall> call) {
      return std::make_shared<Handler>(this, std::move(call));
    });
    server_.Start();
    client_.emplace(server_.port());
    client_->Greet();
    EXPECT_TRUE(client_->Ping());
  }
  void TearDown() override {
    client_.reset();
    EXPECT_TRUE(Eventually([&] { return alive_ == 0; }));
  }

  OnPart on_part_ = [](ServedCall&, ReceivedMessage*) {};
  std::vector<Tensor> contents_;  // of the last message
  std::atomic<int> alive_{0};
  std::atomic<int> by_client_{0}, by_server_{0};  // calls that were broken off
  RpcServer server_{RpcServerOptions{}};
  std::optional<Http2Client> client_;
};

Tensor MemoryFor(size_t bytes) { return Tensor(DType::kUint8, Shape{static_cast<int64_t>(bytes)}); }

TEST_F(MessagePartsTest, TheRestComesToItsPlace) {
  const std::string bytes = RandomBytes(3'000'000);
  for (const size_t frame : {size_t{1000}, size_t{16'384}, size_t{1} << 20}) {
    Tensor place;
    on_part_ = [&](ServedCall&, ReceivedMessage* part) {
      if (place.has_value()) return;
      place = MemoryFor(2'000'000);
      EXPECT_TRUE(part->Place(700, place));
    };
    const uint32_t id = client_->Begin("/test/Parts");
    client_->SendData(id, Message(bytes), true, frame);
    ASSERT_TRUE(client_->AwaitEnd(id));
    EXPECT_EQ(client_->stream(id).status(), "0");
    const std::string& answer = client_->stream(id).data;
    EXPECT_TRUE(answer.ends_with(";" + bytes)) << frame;
    ASSERT_EQ(contents_.size(), 1);
    EXPECT_EQ(contents_[0].raw_data(), place.raw_data());
    EXPECT_EQ(std::memcmp(place.raw_data(), bytes.data() + 700, place.num_bytes()), 0);
  }
}

// It is not asked again and again about a message that it has no place for, nor about small ones.
TEST_F(MessagePartsTest, AreOfferedNowAndThen) {
  const std::string large = RandomBytes(3'000'000), small = RandomBytes(200'000);
  const uint32_t id = client_->Begin("/test/Parts");
  client_->SendData(id, Message(small) + Message(large) + Message(small), true, 10'000);
  ASSERT_TRUE(client_->AwaitEnd(id));
  const std::string_view answers = client_->stream(id).data;
  EXPECT_EQ(answers.substr(5, 2), "0;");
  const size_t second = 5 + 2 + small.size() + 5;
  const std::string parts(answers.substr(second, answers.find(';', second) - second));
  EXPECT_GE(std::stoi(parts), 1);
  EXPECT_LE(std::stoi(parts), 20);
}

TEST_F(MessagePartsTest, ACallMayEndWhileAPartIsOffered) {
  const std::string bytes = RandomBytes(3'000'000);
  on_part_ = [&](ServedCall& call, ReceivedMessage* part) {
    part->Place(100, MemoryFor(2'000'000));
    // By another thread, and while the part is lent.
    std::thread([&] { call.Finish(absl::AbortedError("enough")); }).join();
  };
  const uint32_t id = client_->Begin("/test/Parts");
  client_->SendData(id, Message(bytes).substr(0, 1'000'000));
  ASSERT_TRUE(client_->AwaitEnd(id));
  EXPECT_EQ(client_->stream(id).status(), "10");
  on_part_ = [](ServedCall&, ReceivedMessage*) {};
  const uint32_t next = client_->Begin("/test/Parts");
  client_->SendData(next, Message(bytes), true);
  ASSERT_TRUE(client_->AwaitEnd(next));
  EXPECT_TRUE(client_->stream(next).data.ends_with(";" + bytes));
}

TEST_F(MessagePartsTest, AClientMayGoInTheMiddleOfAPlace) {
  Tensor place;
  on_part_ = [&](ServedCall&, ReceivedMessage* part) {
    place = MemoryFor(2'000'000);
    EXPECT_TRUE(part->Place(100, place));
  };
  const uint32_t id = client_->Begin("/test/Parts");
  client_->SendData(id, Message(RandomBytes(3'000'000)).substr(0, 500'000));
  ASSERT_TRUE(client_->Ping());
  client_->SendFrame(http2::kReset, 0, id, http2::BigEndian(8, 4));
  EXPECT_TRUE(Eventually([&] { return alive_ == 0; }));
  EXPECT_EQ(by_client_, 1);
  EXPECT_EQ(by_server_, 0);
  EXPECT_TRUE(place.buffer()->IsUnshared());  // nobody else holds it
  on_part_ = [](ServedCall&, ReceivedMessage*) {};
  const uint32_t next = client_->Begin("/test/Parts");
  client_->SendData(next, Message("hello"), true);
  ASSERT_TRUE(client_->AwaitEnd(next));
  EXPECT_EQ(client_->stream(next).data, Message("0;hello"));
}

TEST_F(MessagePartsTest, ADeadlineMayPassInTheMiddleOfAPlace) {
  on_part_ = [&](ServedCall&, ReceivedMessage* part) { part->Place(100, MemoryFor(2'000'000)); };
  const uint32_t id = client_->Begin("/test/Parts", http2::Header("grpc-timeout", "200m"));
  client_->SendData(id, Message(RandomBytes(3'000'000)).substr(0, 500'000));
  ASSERT_TRUE(client_->AwaitEnd(id));
  EXPECT_EQ(client_->stream(id).status(), "4");
  EXPECT_TRUE(Eventually([&] { return alive_ == 0; }));
  EXPECT_EQ(by_server_, 1);
  EXPECT_EQ(by_client_, 0);
}

}  // namespace
}  // namespace carillon
