#include "distributed/transport/ucx_transport.h"

#include <condition_variable>
#include <cstring>
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
    auto made = UcxTransport::Make(options, [this](uint64_t ticket, StatusOr<Tensor> frame) {
      std::lock_guard lock(mutex_);
      frames_.emplace_back(ticket, frame.ok() ? *std::move(frame) : Tensor());
      changed_.notify_all();
    });
    EXPECT_TRUE(made.ok()) << made.status();
    if (made.ok()) transport_ = *std::move(made);
  }
  UcxTransport& transport() { return *transport_; }
  std::vector<std::pair<uint64_t, Tensor>> Receive(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return frames_.size() >= count; }));
    return std::exchange(frames_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<uint64_t, Tensor>> frames_;
  std::unique_ptr<UcxTransport> transport_;
};

TEST(UcxTransport, FramesOfAllSizesArriveInOrder) {
  Receiver a, b;
  auto channel = a.transport().Connect(b.transport().address(), 17);
  ASSERT_TRUE(channel.ok()) << channel.status();
  std::mt19937 random(1);
  std::vector<std::string> sent;
  for (const size_t size : {1u, 100u, 5000u, 70'000u, 3u, 5'000'000u, 0u, 300'000u, 8u}) {
    Tensor tensor(DType::kUint8, Shape{static_cast<int64_t>(size)});
    for (uint8_t& byte : tensor.mutable_values<uint8_t>()) byte = static_cast<uint8_t>(random());
    MessagePieces frame;
    frame.AddInt(3, 7);
    frame.AddTensor(1, tensor);
    frame.AddString(2, "after it");
    sent.push_back(frame.Flatten());
    (*channel)->Send(std::move(frame));
  }
  const auto received = b.Receive(sent.size());
  ASSERT_EQ(received.size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(received[i].first, 17u);
    ASSERT_TRUE(received[i].second.has_value());
    const auto bytes = received[i].second.values<uint8_t>();
    ASSERT_EQ(bytes.size(), sent[i].size()) << i;
    EXPECT_EQ(std::memcmp(bytes.data(), sent[i].data(), sent[i].size()), 0) << i;
  }
}

TEST(UcxTransport, AnAddressThatIsNoneIsAnError) {
  Receiver a;
  EXPECT_FALSE(a.transport().Connect("", 1).ok());
}

}  // namespace
}  // namespace carillon
