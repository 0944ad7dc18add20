#include "distributed/transport/ucx_transport.h"

#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <random>

namespace carillon {
namespace {

class Receiver {
 public:
  Receiver() {
    UcxOptions options;
    options.allocator = std::shared_ptr<Allocator>(HostAllocator(), [](Allocator*) {});
    auto made = UcxTransport::Make(options, [this](uint64_t ticket, StatusOr<ReceivedFrame> frame) {
      std::lock_guard lock(mutex_);
      EXPECT_TRUE(frame.ok()) << frame.status();
      std::string bytes = frame->bytes;
      if (frame->content.has_value()) {
        bytes.append(static_cast<const char*>(frame->content.raw_data()),
                     frame->content.num_bytes());
      }
      frames_.emplace_back(ticket, std::move(bytes));
      changed_.notify_all();
    });
    EXPECT_TRUE(made.ok()) << made.status();
    if (made.ok()) transport_ = *std::move(made);
  }
  UcxTransport& transport() { return *transport_; }
  std::vector<std::pair<uint64_t, std::string>> Receive(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return frames_.size() >= count; }));
    return std::exchange(frames_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<uint64_t, std::string>> frames_;
  std::unique_ptr<UcxTransport> transport_;
};

class UcxTransportTest : public testing::TestWithParam<bool> {};  // whether memory is read directly

TEST_P(UcxTransportTest, FramesOfAllSizesArriveInOrder) {
  Receiver a, b;
  EXPECT_EQ(b.transport().Accept(17, GetParam() ? a.transport().proof() : ""), GetParam());
  auto channel = a.transport().Connect(b.transport().address(), 17, GetParam());
  ASSERT_TRUE(channel.ok()) << channel.status();
  std::mt19937 random(1);
  std::vector<std::string> sent;
  for (const size_t size :
       {1u, 100u, 5000u, 70'000u, 3u, 5'000'000u, 0u, 300'000u, 8u, 20'000u, 2u}) {
    Tensor tensor(DType::kUint8, Shape{static_cast<int64_t>(size)});
    for (uint8_t& byte : tensor.mutable_values<uint8_t>()) byte = static_cast<uint8_t>(random());
    MessagePieces frame;
    frame.AddInt(3, 7);
    frame.AddTensor(1, tensor);
    if (size % 3 == 0) frame.AddString(2, "after it");
    sent.push_back(frame.Flatten());
    (*channel)->Send(std::move(frame));
  }
  const auto received = b.Receive(sent.size());
  ASSERT_EQ(received.size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(received[i].first, 17u);
    EXPECT_TRUE(received[i].second == sent[i]) << i;  // too long to print
  }
}

INSTANTIATE_TEST_SUITE_P(Directly, UcxTransportTest, testing::Bool());

TEST(UcxTransport, WhatIsReadTooLateIsAnError) {
  // The receiver is held up in its first frame until the sender has closed the channel.
  std::mutex mutex;
  std::condition_variable changed;
  bool is_closed = false;
  std::vector<Status> received;
  UcxOptions options;
  options.allocator = std::shared_ptr<Allocator>(HostAllocator(), [](Allocator*) {});
  auto receiver = UcxTransport::Make(options, [&](uint64_t, StatusOr<ReceivedFrame> frame) {
    std::unique_lock lock(mutex);
    received.push_back(frame.status());
    changed.notify_all();
    changed.wait(lock, [&] { return is_closed; });
  });
  ASSERT_TRUE(receiver.ok()) << receiver.status();
  Receiver sender;
  ASSERT_TRUE((*receiver)->Accept(5, sender.transport().proof()));
  auto channel = sender.transport().Connect((*receiver)->address(), 5, /*can_read=*/true);
  ASSERT_TRUE(channel.ok()) << channel.status();
  for (int i = 0; i < 2; ++i) {
    MessagePieces frame;
    frame.AddTensor(1, Tensor(DType::kUint8, Shape{1 << 20}));
    (*channel)->Send(std::move(frame));
  }
  const auto wait_for = [&](size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(60),
                            [&] { return received.size() >= count; });
  };
  ASSERT_TRUE(wait_for(1));
  channel->reset();
  {
    std::lock_guard lock(mutex);
    is_closed = true;
  }
  changed.notify_all();
  ASSERT_TRUE(wait_for(2));
  EXPECT_TRUE(received[0].ok()) << received[0];
  EXPECT_EQ(received[1].code(), absl::StatusCode::kUnavailable) << received[1];
  (*receiver)->Stop();
}

TEST(UcxTransport, FramesWithoutATicketAreDropped) {
  Receiver a, b;
  auto stranger = a.transport().Connect(b.transport().address(), 1, false);
  auto known = a.transport().Connect(b.transport().address(), 2, false);
  ASSERT_TRUE(stranger.ok() && known.ok());
  b.transport().Accept(2, "");
  MessagePieces frame;
  frame.AddInt(1, 5);
  (*stranger)->Send(frame);
  (*known)->Send(frame);
  const auto received = b.Receive(1);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].first, 2u);
}

TEST(UcxTransport, AnAddressThatIsNoneIsAnError) {
  Receiver a;
  EXPECT_FALSE(a.transport().Connect("", 1, false).ok());
}

}  // namespace
}  // namespace carillon
