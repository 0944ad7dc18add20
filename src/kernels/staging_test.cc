#include "kernels/staging.h"

#include <gtest/gtest.h>

#include "kernels/session_tensors.h"
#include "kernels/test_cancellation.h"

namespace carillon {
namespace {

using absl::StatusCode;

struct Outcome {
  bool over = false;
  Status status;
};

class StagingTest : public ::testing::Test {
 protected:
  static constexpr int64_t kLimit = 64 << 10;

  static StageDone Note(const std::shared_ptr<Outcome>& outcome) {
    return [outcome](const Status& status, const StagedTuple&, int64_t) {
      EXPECT_FALSE(outcome->over) << "told twice";
      *outcome = {true, status};
    };
  }
  std::shared_ptr<Outcome> Put(StagingArea& area, Cancellation* cancellation = nullptr) {
    auto outcome = std::make_shared<Outcome>();
    area.Put({Tensor::Scalar(1.0f)}, cancellation, Note(outcome));
    return outcome;
  }
  std::shared_ptr<Outcome> PutPart(StagingArea& area, int64_t key, int32_t index, size_t size) {
    auto outcome = std::make_shared<Outcome>();
    area.PutParts(key, {index}, {Tensor::Scalar(1.0f)}, size, nullptr, Note(outcome));
    return outcome;
  }
  int64_t used() const { return limited_->stats().bytes_in_use; }

  std::shared_ptr<Allocator> limited_ = MakePoolAllocator({.limit_bytes = kLimit});
};

TEST_F(StagingTest, CountsTuplesAndRefusesThoseThatDoNotFit) {
  const auto area = std::make_shared<StagingArea>(StagingLimits{}, limited_.get());
  std::shared_ptr<Outcome> last;
  int64_t in = 0;
  while ((last = Put(*area))->status.ok()) ++in;
  EXPECT_EQ(last->status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(area->Size(), in);
  EXPECT_GT(in, kLimit / 400);
  EXPECT_LT(in, kLimit / static_cast<int64_t>(sizeof(Tensor)));
  area->Get({}, nullptr,
            [](const Status& status, const StagedTuple&, int64_t) { EXPECT_TRUE(status.ok()); });
  EXPECT_TRUE(Put(*area)->status.ok()) << "there is room again";
  area->Clear();
  EXPECT_EQ(used(), 0);
}

TEST_F(StagingTest, CountsIncompleteTuplesAndWhatWaits) {
  const auto area = std::make_shared<StagingArea>(StagingLimits{.capacity = 1}, limited_.get());
  EXPECT_TRUE(PutPart(*area, 1, 0, 3)->status.ok());
  const int64_t one = used();
  EXPECT_TRUE(PutPart(*area, 1, 1, 3)->status.ok());
  EXPECT_EQ(used(), one) << "the same tuple";
  EXPECT_EQ(PutPart(*area, 1, 1, 3)->status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(PutPart(*area, 1, 1, 2)->status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(used(), one);
  EXPECT_EQ(PutPart(*area, 2, 0, 1 << 20)->status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(area->IncompleteSize(), 1);
  EXPECT_TRUE(PutPart(*area, 1, 2, 3)->status.ok());
  EXPECT_EQ(area->Size(), 1);
  TestCancellation step;
  const auto waits = Put(*area, &step);
  EXPECT_FALSE(waits->over);
  EXPECT_GT(used(), one);
  step.Cancel();
  EXPECT_EQ(waits->status.code(), StatusCode::kCancelled);
  EXPECT_EQ(Put(*area, &step)->status.code(), StatusCode::kCancelled);
  EXPECT_EQ(used(), one);
  area->Get({.key = 1}, nullptr, [](const Status&, const StagedTuple&, int64_t) {});
  EXPECT_EQ(used(), 0);
}

TEST_F(StagingTest, SessionsCountTheTensorsThatTheyKeep) {
  SessionTensors tensors;
  std::vector<std::string> handles;
  StatusOr<std::string> handle = std::string();
  while ((handle = tensors.Keep("node", Tensor::Scalar(1.0f), limited_.get())).ok())
    handles.push_back(*handle);
  EXPECT_EQ(handle.status().code(), StatusCode::kResourceExhausted);
  EXPECT_GT(handles.size(), 50u);
  EXPECT_LT(handles.size(), 400u);
  EXPECT_TRUE(tensors.Remove(handles[0]).ok());
  EXPECT_FALSE(tensors.Remove(handles[0]).ok());
  EXPECT_TRUE(tensors.Keep("node", Tensor::Scalar(1.0f), limited_.get()).ok());
  for (size_t i = 1; i < handles.size(); ++i) EXPECT_TRUE(tensors.Remove(handles[i]).ok());
  EXPECT_LT(used(), 1000) << "one is left";
}

}  // namespace
}  // namespace carillon
