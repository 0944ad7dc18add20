#include "kernels/queue.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <numeric>
#include <optional>
#include <thread>

#include "kernels/test_cancellation.h"

namespace carillon {
namespace {

using absl::StatusCode;
using Ints = std::vector<int32_t>;

// How an op on a queue ended, once it has.
struct Outcome {
  std::atomic<bool> over{false};
  Status status;
  Ints values;  // component 0 of what was taken
};

class QueueTest : public ::testing::Test {
 protected:
  static std::shared_ptr<Queue> Make(QueueOptions options, Allocator* allocator = nullptr) {
    if (options.types.empty()) options.types = {kInt32};
    if (options.shapes.empty()) options.shapes.assign(options.types.size(), Shape{});
    options.name = "q";
    EXPECT_EQ(options.Check(), absl::OkStatus());
    return std::make_shared<Queue>(options, allocator);
  }
  static std::vector<QueueTuple> Tuples(const Ints& values) {
    std::vector<QueueTuple> tuples;
    for (const int32_t value : values) tuples.push_back({Tensor::Scalar(value)});
    return tuples;
  }
  static Queue::Done Note(const std::shared_ptr<Outcome>& outcome) {
    return [outcome](const Status& status) {
      EXPECT_FALSE(outcome->over) << "told twice";
      outcome->status = status;
      outcome->over = true;
    };
  }
  std::shared_ptr<Outcome> Enqueue(Queue& queue, const Ints& values,
                                   Cancellation* cancellation = nullptr) {
    auto outcome = std::make_shared<Outcome>();
    queue.Enqueue(Tuples(values), cancellation, Note(outcome));
    return outcome;
  }
  std::shared_ptr<Outcome> Close(Queue& queue, bool cancel_pending = false) {
    auto outcome = std::make_shared<Outcome>();
    queue.Close(cancel_pending, nullptr, Note(outcome));
    return outcome;
  }
  std::shared_ptr<Outcome> Dequeue(Queue& queue, int64_t n, Cancellation* cancellation = nullptr,
                                   bool allow_fewer = false) {
    auto outcome = std::make_shared<Outcome>();
    queue.Dequeue(n, allow_fewer, cancellation,
                  [outcome](const Status& status, std::vector<QueueTuple> tuples) {
                    EXPECT_FALSE(outcome->over) << "told twice";
                    outcome->status = status;
                    for (const QueueTuple& tuple : tuples)
                      outcome->values.push_back(tuple[0].scalar<int32_t>());
                    outcome->over = true;
                  });
    return outcome;
  }
};

TEST_F(QueueTest, GivesElementsInOrderAndWaitsForMissingOnes) {
  const auto queue = Make({});
  const auto first = Dequeue(*queue, 2), second = Dequeue(*queue, 1);
  EXPECT_FALSE(first->over);
  Enqueue(*queue, {1});
  EXPECT_FALSE(first->over);
  EXPECT_EQ(queue->Size(), 0) << "the first that waits has it";
  Enqueue(*queue, {2, 3, 4});
  EXPECT_EQ(first->values, (Ints{1, 2}));
  EXPECT_EQ(second->values, (Ints{3}));
  EXPECT_EQ(queue->Size(), 1);
}

TEST_F(QueueTest, EnqueuesWaitForRoomInTheirOrder) {
  const auto queue = Make({.capacity = 2});
  const auto many = Enqueue(*queue, {1, 2, 3, 4}), one = Enqueue(*queue, {5});
  EXPECT_FALSE(many->over);
  EXPECT_EQ(queue->Size(), 2);
  EXPECT_EQ(Dequeue(*queue, 1)->values, (Ints{1}));
  EXPECT_EQ(Dequeue(*queue, 4)->values, (Ints{2, 3, 4, 5})) << "more than fit at once";
  EXPECT_TRUE(many->status.ok() && many->over);
  EXPECT_TRUE(one->status.ok() && one->over);
}

TEST_F(QueueTest, CloseLetsThoseInWhoCameBefore) {
  const auto queue = Make({.capacity = 1});
  const auto in = Enqueue(*queue, {1, 2});
  const auto close = Close(*queue);
  const auto late = Enqueue(*queue, {3});
  EXPECT_FALSE(close->over);
  EXPECT_FALSE(queue->IsClosed());
  EXPECT_EQ(Dequeue(*queue, 1)->values, (Ints{1}));
  EXPECT_TRUE(in->over && close->over && late->over);
  EXPECT_TRUE(queue->IsClosed());
  EXPECT_EQ(late->status.code(), StatusCode::kCancelled);
  EXPECT_EQ(Close(*queue)->status.code(), StatusCode::kCancelled) << "already";
  EXPECT_EQ(Dequeue(*queue, 1)->values, (Ints{2}));
  const Status end = Dequeue(*queue, 1)->status;
  EXPECT_EQ(end.code(), StatusCode::kOutOfRange);
  EXPECT_NE(end.message().find("is closed and has insufficient elements (requested 1, current "
                               "size 0)"),
            std::string::npos)
      << end;
}

TEST_F(QueueTest, CloseCanCancelThoseWhoWaitToEnqueue) {
  const auto queue = Make({.capacity = 2});
  const auto waits = Enqueue(*queue, {1, 2, 3});
  EXPECT_EQ(Close(*queue, true)->status, absl::OkStatus());
  EXPECT_EQ(waits->status.code(), StatusCode::kCancelled);
  EXPECT_EQ(queue->Size(), 2) << "what was in stays";
  EXPECT_EQ(Close(*queue, true)->status, absl::OkStatus()) << "again is fine";
}

TEST_F(QueueTest, WhatADequeueTookComesBackWhenTheQueueCloses) {
  const auto queue = Make({});
  const auto many = Dequeue(*queue, 3), fewer = Dequeue(*queue, 5, nullptr, true);
  Enqueue(*queue, {1, 2});
  Close(*queue);
  EXPECT_EQ(many->status.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(fewer->values, (Ints{1, 2}));
  EXPECT_EQ(Dequeue(*queue, 5, nullptr, true)->status.code(), StatusCode::kOutOfRange);
}

TEST_F(QueueTest, WhatADequeueTookComesBackWhenItIsCancelled) {
  const auto queue = Make({});
  TestCancellation step;
  const auto cancelled = Dequeue(*queue, 3, &step), next = Dequeue(*queue, 1);
  Enqueue(*queue, {1, 2});
  step.Cancel();
  EXPECT_EQ(cancelled->status.code(), StatusCode::kCancelled);
  EXPECT_EQ(next->values, (Ints{1}));
  EXPECT_EQ(queue->Size(), 1);
  EXPECT_EQ(Dequeue(*queue, 9, &step)->status.code(), StatusCode::kCancelled) << "from the start";
}

TEST_F(QueueTest, NothingStaysRegisteredWithAStep) {
  const auto queue = Make({.capacity = 1});
  TestCancellation step;
  const auto take = Dequeue(*queue, 1, &step);
  EXPECT_EQ(step.registered(), 1u);
  Enqueue(*queue, {1, 2}, &step);
  EXPECT_TRUE(take->over);
  Enqueue(*queue, {3}, &step);
  EXPECT_EQ(step.registered(), 1u);
  step.Cancel();
  EXPECT_EQ(step.registered(), 0u);
  EXPECT_EQ(Dequeue(*queue, 1)->values, (Ints{2}));
  EXPECT_EQ(queue->Size(), 0) << "the enqueue that was cancelled is gone";
}

TEST_F(QueueTest, ShufflingLeavesElementsBehindUntilClosed) {
  const auto queue =
      Make({.kind = QueueKind::kRandomShuffle, .min_after_dequeue = 2, .seed = 7, .seed2 = 11});
  Ints values(10);
  std::iota(values.begin(), values.end(), 0);
  Enqueue(*queue, values);
  Ints taken = Dequeue(*queue, 3)->values;
  EXPECT_EQ(taken, (Ints{3, 8, 9})) << "TensorFlow's choice with these seeds";
  const auto rest = Dequeue(*queue, 7);
  EXPECT_FALSE(rest->over);
  EXPECT_EQ(queue->Size(), 2);
  Close(*queue);
  EXPECT_EQ(rest->values.size(), 7u);
  taken.insert(taken.end(), rest->values.begin(), rest->values.end());
  std::ranges::sort(taken);
  EXPECT_EQ(taken, values);
}

TEST_F(QueueTest, SmallestPriorityFirst) {
  const auto queue = Make({.kind = QueueKind::kPriority, .types = {kInt64, kInt32}});
  std::vector<QueueTuple> tuples;
  for (const int64_t priority : {3, -1, 2}) {
    tuples.push_back({Tensor::Scalar(priority), Tensor::Scalar(static_cast<int32_t>(priority))});
  }
  queue->Enqueue(std::move(tuples), nullptr, [](const Status&) {});
  std::vector<int64_t> order;
  queue->Dequeue(3, false, nullptr, [&](const Status&, std::vector<QueueTuple> taken) {
    for (const QueueTuple& tuple : taken) order.push_back(tuple[0].scalar<int64_t>());
  });
  EXPECT_EQ(order, (std::vector<int64_t>{-1, 2, 3}));
}

TEST_F(QueueTest, ChecksComponents) {
  const auto queue = Make({.types = {kInt32, kFloat}, .shapes = {Shape{}, Shape{2}}});
  const Tensor number = Tensor::Scalar<int32_t>(1), pair = Tensor::Full<float>({2}, 0);
  EXPECT_EQ(queue->CheckTuple({number, pair}, false), absl::OkStatus());
  EXPECT_FALSE(queue->CheckTuple({number}, false).ok());
  EXPECT_FALSE(queue->CheckTuple({pair, pair}, false).ok());
  EXPECT_FALSE(queue->CheckTuple({number, number}, false).ok());
  EXPECT_FALSE(queue->CheckTuple({number, Tensor::Full<float>({3}, 0)}, false).ok());
  const Tensor numbers = Tensor::Full<int32_t>({3}, 1);
  EXPECT_EQ(queue->CheckTuple({numbers, Tensor::Full<float>({3, 2}, 0)}, true), absl::OkStatus());
  EXPECT_FALSE(queue->CheckTuple({numbers, Tensor::Full<float>({4, 2}, 0)}, true).ok());
  EXPECT_FALSE(queue->CheckTuple({number, Tensor::Full<float>({3, 2}, 0)}, true).ok());
}

TEST_F(QueueTest, CountsElementsAndRefusesThoseThatDoNotFit) {
  constexpr int64_t kLimit = 64 << 10;
  for (const QueueKind kind :
       {QueueKind::kFifo, QueueKind::kRandomShuffle, QueueKind::kPaddingFifo}) {
    const auto limited = MakePoolAllocator({.limit_bytes = kLimit});
    const auto used = [&] { return limited->stats().bytes_in_use; };
    const auto queue = Make({.kind = kind, .seed = 1}, limited.get());
    std::shared_ptr<Outcome> last;
    int64_t in = 0;
    while ((last = Enqueue(*queue, {1}))->status.ok()) ++in;
    EXPECT_EQ(last->status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(queue->Size(), in);
    EXPECT_GT(in, kLimit / 400);
    EXPECT_LT(in, kLimit / static_cast<int64_t>(sizeof(QueueTuple)));
    // What leaves makes room for others, but not for more.
    ASSERT_EQ(Dequeue(*queue, 2)->values.size(), 2u);
    EXPECT_EQ(Enqueue(*queue, {1, 2, 3})->status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(queue->Size(), in - 2) << "none of them is in";
    EXPECT_TRUE(Enqueue(*queue, {1, 2})->status.ok());
    while (queue->Size() > 10) Dequeue(*queue, 5);
    Dequeue(*queue, queue->Size());
    EXPECT_EQ(used(), 0);
  }
}

TEST_F(QueueTest, CountsWhatWaits) {
  const auto limited = MakePoolAllocator({.limit_bytes = 64 << 10});
  const auto used = [&] { return limited->stats().bytes_in_use; };
  const auto queue = Make({.capacity = 2}, limited.get());
  TestCancellation step;
  const auto waits = Enqueue(*queue, Ints(50), &step);
  EXPECT_FALSE(waits->over);
  EXPECT_GT(used(), 50 * static_cast<int64_t>(sizeof(QueueTuple)));
  EXPECT_EQ(Enqueue(*queue, Ints(200))->status.code(), StatusCode::kResourceExhausted);
  step.Cancel();
  EXPECT_LT(used(), 3 * 400) << "two are in";
  EXPECT_EQ(Enqueue(*queue, Ints(5), &step)->status.code(), StatusCode::kCancelled);
  const auto closed = Enqueue(*queue, Ints(50));
  Close(*queue, true);
  EXPECT_EQ(closed->status.code(), StatusCode::kCancelled);
  EXPECT_EQ(Enqueue(*queue, Ints(50))->status.code(), StatusCode::kCancelled);
  EXPECT_EQ(Dequeue(*queue, 2)->values.size(), 2u);
  EXPECT_EQ(used(), 0);
}

TEST_F(QueueTest, ADequeueThatHasNoMemoryGivesBackWhatItTook) {
  constexpr int64_t kLimit = 64 << 10;
  const auto limited = MakePoolAllocator({.limit_bytes = kLimit});
  const auto queue = Make({}, limited.get());
  const auto hopeless = Dequeue(*queue, 1 << 30);
  int in = 0;
  while (!hopeless->over && in < 1000) {
    ASSERT_TRUE(Enqueue(*queue, {in})->status.ok() || hopeless->over);
    ++in;
  }
  EXPECT_EQ(hopeless->status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(queue->Size(), in);
  EXPECT_EQ(Dequeue(*queue, 3)->values, (Ints{0, 1, 2}));
  TestCancellation step;
  const auto cancelled = Dequeue(*queue, 1 << 20, &step);
  if (!cancelled->over) step.Cancel();
  EXPECT_EQ(queue->Size(), in - 3);
  while (queue->Size() > 0) Dequeue(*queue, 1);
  EXPECT_EQ(limited->stats().bytes_in_use, 0);
}

// Several threads put in and take out while some steps are cancelled in the middle: nothing is lost
// and nothing comes twice, but for elements of an enqueue that was cancelled.
TEST_F(QueueTest, ManyThreadsWithCancellation) {
  constexpr int kProducers = 3, kConsumers = 3, kEach = 2000, kBatch = 5;
  const auto queue = Make({.capacity = 7});
  std::vector<std::thread> threads;
  std::atomic<int> producing{kProducers};
  for (int p = 0; p < kProducers; ++p) {
    threads.emplace_back([&, p] {
      for (int i = 0; i < kEach; i += kBatch) {
        Ints values(kBatch);
        std::iota(values.begin(), values.end(), p * kEach + i);
        const auto outcome = Enqueue(*queue, values);
        while (!outcome->over) std::this_thread::yield();
        EXPECT_EQ(outcome->status, absl::OkStatus());
      }
      if (--producing == 0) Close(*queue);
    });
  }
  std::vector<Ints> taken(kConsumers);
  for (int c = 0; c < kConsumers; ++c) {
    threads.emplace_back([&, c] {
      for (int round = 0;; ++round) {
        TestCancellation step;
        const auto outcome = Dequeue(*queue, 1 + round % 11, &step, /*allow_fewer=*/true);
        std::thread canceller;
        if (round % 3 == 0) canceller = std::thread([&] { step.Cancel(); });
        while (!outcome->over) std::this_thread::yield();
        if (canceller.joinable()) canceller.join();
        EXPECT_EQ(step.registered(), 0u);
        Ints& mine = taken[static_cast<size_t>(c)];
        mine.insert(mine.end(), outcome->values.begin(), outcome->values.end());
        if (outcome->status.code() == StatusCode::kOutOfRange) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Ints all;
  for (const Ints& part : taken) all.insert(all.end(), part.begin(), part.end());
  std::ranges::sort(all);
  Ints expected(kProducers * kEach);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace carillon
