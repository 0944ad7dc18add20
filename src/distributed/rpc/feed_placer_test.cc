#include "distributed/rpc/feed_placer.h"

#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <gtest/gtest.h>
#include <random>

#include "proto/master.pb.h"
#include "tensor/tensor_proto.h"

namespace carillon {
namespace {

using Kind = FeedPlacer::Kind;

Tensor Filled(size_t floats, float first) {
  Tensor tensor(DType::kFloat, Shape{static_cast<int64_t>(floats)});
  for (size_t i = 0; i < floats; ++i)
    tensor.mutable_data<float>()[i] = first + static_cast<float>(i);
  return tensor;
}

bool IsSame(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.raw_data(), b.raw_data(), a.num_bytes()) == 0;
}

constexpr size_t kLarge = 300'000;  // floats

class FeedPlacerTest : public testing::Test {
 protected:
  std::shared_ptr<Allocator> AllocatorOf(const std::string& handle) {
    handles_.push_back(handle);
    return allocator_;
  }
  auto Allocators() {
    return [this](const std::string& handle) { return AllocatorOf(handle); };
  }

  // Has the request come in pieces of random sizes, offered between them.
  ReceivedMessage Receive(Kind kind, const std::string& bytes, uint32_t seed) {
    ReceivedMessage message(std::make_shared<MessageMemory>(0), bytes.size(),
                            ReceivedMessage::Packing::kNone);
    std::mt19937 random(seed);
    FeedPlacer placer(kind);
    for (size_t at = 0; at < bytes.size();) {
      at += message.Take(std::string_view(bytes).substr(at, 1 + random() % 100'000));
      placer.Place(&message, Allocators());
    }
    EXPECT_TRUE(message.is_whole());
    EXPECT_TRUE(message.ToString() == bytes) << seed;
    return message;
  }

  StepRequest ReadStep(const ReceivedMessage& message, bool expect_ok = true) {
    StepRequest request;
    ReceivedMessage::Stream stream(message);
    CodedInput in(&stream);
    in.PushLimit(static_cast<int>(message.size()));
    const Status status = ReadStepRequest(&in, message.contents(), Allocators(), &request);
    EXPECT_EQ(status.ok(), expect_ok) << status;
    return request;
  }

  const std::shared_ptr<Allocator> allocator_ = MakePoolAllocator();
  std::vector<std::string> handles_;
};

TEST_F(FeedPlacerTest, LargeFeedsComeToTheirTensors) {
  StepRequest request{.session_handle = "the session"};
  request.feeds.emplace_back("small:0", Filled(10, 0));
  request.feeds.emplace_back("first:0", Filled(kLarge, 1));
  request.feeds.emplace_back("words:0", Tensor::FromVector<std::string>({"a", "bc"}));
  request.feeds.emplace_back("second:0", Filled(2 * kLarge, 2));
  request.fetches = {"y:0"};
  const std::string bytes = WriteStepRequest(request).Flatten();
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const ReceivedMessage message = Receive(Kind::kStep, bytes, seed);
    const std::vector<Tensor> contents = message.contents();
    ASSERT_EQ(contents.size(), 2) << seed;
    EXPECT_EQ(handles_, std::vector<std::string>{"the session"});
    const StepRequest got = ReadStep(message);
    handles_.clear();
    ASSERT_EQ(got.feeds.size(), 4);
    EXPECT_EQ(got.feeds[1].second.raw_data(), contents[0].raw_data());
    EXPECT_EQ(got.feeds[3].second.raw_data(), contents[1].raw_data());
    for (const int i : {0, 1, 3}) EXPECT_TRUE(IsSame(got.feeds[i].second, request.feeds[i].second));
    EXPECT_EQ(got.feeds[2].second.values<std::string>()[1], "bc");
    EXPECT_EQ(got.fetches, request.fetches);
  }
}

TEST_F(FeedPlacerTest, SoDoThoseOfCallables) {
  CallableRequest request{.session_handle = "the session", .handle = 7};
  request.feeds = {Filled(kLarge, 1), Filled(3, 5), Filled(kLarge, 2)};
  const ReceivedMessage message =
      Receive(Kind::kCallable, WriteCallableRequest(request).Flatten(), 1);
  EXPECT_EQ(message.contents().size(), 2);
  CallableRequest got;
  ReceivedMessage::Stream stream(message);
  CodedInput in(&stream);
  in.PushLimit(static_cast<int>(message.size()));
  ASSERT_TRUE(ReadCallableRequest(&in, message.contents(), Allocators(), &got).ok());
  EXPECT_EQ(got.handle, 7);
  for (const int i : {0, 1, 2}) EXPECT_TRUE(IsSame(got.feeds[i], request.feeds[i]));
  EXPECT_EQ(got.feeds[2].raw_data(), message.contents()[1].raw_data());
}

TEST_F(FeedPlacerTest, ATensorLivesOnWithoutTheMessage) {
  StepRequest request{.session_handle = "s"}, got;
  request.feeds.emplace_back("x:0", Filled(kLarge, 1));
  {
    const ReceivedMessage message = Receive(Kind::kStep, WriteStepRequest(request).Flatten(), 1);
    got = ReadStep(message);
  }
  EXPECT_TRUE(IsSame(got.feeds[0].second, request.feeds[0].second));
  EXPECT_GE(allocator_->stats().bytes_in_use, kLarge * sizeof(float));
  got.feeds.clear();
  EXPECT_EQ(allocator_->stats().bytes_in_use, 0);
}

// What is not raw content as serializers write it is copied by who reads the request.
TEST_F(FeedPlacerTest, OtherFormsAreLeftAlone) {
  tensorflow::RunStepRequest request;
  request.set_session_handle("s");
  tensorflow::NamedTensorProto* const feed = request.add_feed();
  feed->set_name("x:0");
  feed->mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  feed->mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(kLarge);
  for (size_t i = 0; i < kLarge; ++i) feed->mutable_tensor()->add_float_val(1);
  ReceivedMessage typed = Receive(Kind::kStep, request.SerializeAsString(), 1);
  EXPECT_TRUE(typed.contents().empty());
  EXPECT_EQ(ReadStep(typed).feeds[0].second.num_elements(), kLarge);

  StepRequest bools{.session_handle = "s"};
  bools.feeds.emplace_back("x:0", Tensor(DType::kBool, Shape{1 << 20}));
  std::fill_n(static_cast<char*>(bools.feeds[0].second.mutable_raw_data()), 1 << 20, 1);
  typed = Receive(Kind::kStep, WriteStepRequest(bools).Flatten(), 1);
  EXPECT_TRUE(typed.contents().empty());
  EXPECT_TRUE(ReadStep(typed).feeds[0].second.data<bool>()[1000]);

  StepRequest many{.session_handle = "s"};
  for (int i = 0; i < 2000; ++i) many.feeds.emplace_back("x:0", Tensor::Scalar(1.0f));
  many.feeds.emplace_back("large:0", Filled(kLarge, 1));
  typed = Receive(Kind::kStep, WriteStepRequest(many).Flatten(), 1);
  EXPECT_TRUE(typed.contents().empty());
  EXPECT_EQ(ReadStep(typed).feeds.size(), 2001);
}

TEST_F(FeedPlacerTest, WhatIsAnnouncedTakesNoMemory) {
  StepRequest request{.session_handle = "s"};
  request.feeds.emplace_back("x:0", Filled(50 * kLarge, 1));
  const std::string bytes = WriteStepRequest(request).Flatten();
  ReceivedMessage message(std::make_shared<MessageMemory>(0), bytes.size(),
                          ReceivedMessage::Packing::kNone);
  FeedPlacer placer(Kind::kStep);
  message.Take(std::string_view(bytes).substr(0, 20'000));
  placer.Place(&message, Allocators());
  EXPECT_EQ(allocator_->stats().bytes_in_use, 0);
  message.Take(std::string_view(bytes).substr(20'000, bytes.size() / 50));
  placer.Place(&message, Allocators());
  EXPECT_GE(allocator_->stats().bytes_in_use, 50 * kLarge * sizeof(float));
  message = {};
  EXPECT_EQ(allocator_->stats().bytes_in_use, 0);
}

TEST_F(FeedPlacerTest, WithoutRoomTheReaderSaysSo) {
  const std::shared_ptr<Allocator> small = MakePoolAllocator({.limit_bytes = 1000});
  StepRequest request{.session_handle = "s"};
  request.feeds.emplace_back("x:0", Filled(kLarge, 1));
  const std::string bytes = WriteStepRequest(request).Flatten();
  ReceivedMessage message(std::make_shared<MessageMemory>(0), bytes.size(),
                          ReceivedMessage::Packing::kNone);
  const auto allocators = [&](const std::string&) { return small; };
  FeedPlacer placer(Kind::kStep);
  message.Take(std::string_view(bytes).substr(0, 500'000));
  placer.Place(&message, allocators);
  EXPECT_TRUE(message.contents().empty());
  message.Take(std::string_view(bytes).substr(500'000));
  StepRequest got;
  ReceivedMessage::Stream stream(message);
  CodedInput in(&stream);
  in.PushLimit(static_cast<int>(message.size()));
  EXPECT_EQ(ReadStepRequest(&in, message.contents(), allocators, &got).code(),
            absl::StatusCode::kResourceExhausted);
}

// Whatever comes, the message is the same with places and without.
TEST_F(FeedPlacerTest, SurvivesDamage) {
  StepRequest request{.session_handle = "s"};
  request.feeds.emplace_back("x:0", Filled(kLarge, 1));
  request.feeds.emplace_back("y:0", Filled(kLarge, 1));
  const std::string bytes = WriteStepRequest(request).Flatten();
  const size_t second = kLarge * sizeof(float);
  std::mt19937 random(3);
  for (uint32_t round = 0; round < 300; ++round) {
    std::string damaged = bytes;
    for (int k = 0; k < 2; ++k)
      damaged[random() % 60 + (random() % 2) * second] = static_cast<char>(random() & 255);
    const ReceivedMessage message = Receive(Kind::kStep, damaged, round);
    StepRequest placed, copied;
    ReceivedMessage::Stream stream(message);
    CodedInput in(&stream),
        plain(reinterpret_cast<const uint8_t*>(damaged.data()), static_cast<int>(damaged.size()));
    in.PushLimit(static_cast<int>(damaged.size()));
    plain.PushLimit(static_cast<int>(damaged.size()));
    const Status first = ReadStepRequest(&in, message.contents(), Allocators(), &placed);
    ASSERT_EQ(first.code(), ReadStepRequest(&plain, {}, Allocators(), &copied).code()) << round;
    ASSERT_EQ(placed.feeds.size(), copied.feeds.size());
    for (size_t i = 0; first.ok() && i < placed.feeds.size(); ++i) {
      const Tensor &a = placed.feeds[i].second, &b = copied.feeds[i].second;
      ASSERT_TRUE(a.dtype() == b.dtype() && (!IsPlainData(a.dtype()) || IsSame(a, b))) << round;
    }
  }
}

}  // namespace
}  // namespace carillon
