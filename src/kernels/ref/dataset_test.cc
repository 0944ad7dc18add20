// Iterators that work on threads of their own, driven directly.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

// Counts to `count`, then ends; with `block` it waits there until it is cancelled.
class Counter final : public Dataset {
 public:
  Counter(int64_t count, bool block)
      : Dataset({{DType::kInt64}, {Shape{}}}), count_(count), block_(block) {}

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(const IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator final : public IteratorOf<Counter> {
   public:
    using IteratorOf::IteratorOf;
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      *end = next_ >= dataset().count_;
      if (!*end) {
        element->assign(1, Tensor::Scalar(next_++));
        return absl::OkStatus();
      }
      if (!dataset().block_) return absl::OkStatus();
      std::mutex mutex;
      std::condition_variable never;
      std::unique_lock lock(mutex);
      return WaitUnlessCancelled(lock, never, context.cancellation, [] { return false; });
    }

   private:
    int64_t next_ = 0;
  };
  const int64_t count_;
  const bool block_;
};

// Squares, failing for `bad`; even numbers take longer.
class Square final : public CallableFunction {
 public:
  explicit Square(int64_t bad = -1) : bad_(bad) {}
  Status Call(std::span<const Tensor> args, Cancellation*, std::vector<Tensor>* results) override {
    const int64_t x = args[0].scalar<int64_t>();
    const int running = ++running_;
    for (int most = most_; running > most && !most_.compare_exchange_weak(most, running);) {
    }
    if (x % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --running_;
    if (x == bad_) return InvalidArgument("no square of ", x);
    results->assign(1, Tensor::Scalar(x * x));
    return absl::OkStatus();
  }
  int most() const { return most_; }

 private:
  const int64_t bad_;
  std::atomic<int> running_{0}, most_{0};
};

class Iterators : public testing::Test {
 protected:
  IteratorContext Context() { return {HostAllocator(), &cancellation_, &functions_}; }
  StopSignal cancellation_;
  IteratorFunctions functions_;
};

TEST_F(Iterators, PrefetchKeepsTheOrder) {
  const auto counter = std::make_shared<Counter>(100, false);
  const auto prefetch = MakePrefetchIterator(*counter->MakeIterator(Context()), 3);
  Element element;
  bool end = false;
  for (int64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(prefetch->GetNext(Context(), &element, &end).ok());
    ASSERT_FALSE(end);
    EXPECT_EQ(element[0].scalar<int64_t>(), i);
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(prefetch->GetNext(Context(), &element, &end).ok());
    EXPECT_TRUE(end);
  }
}

// Hangs when it fails.
TEST_F(Iterators, PrefetchEndsWhileItsInputWaits) {
  const auto counter = std::make_shared<Counter>(2, true);
  auto prefetch = MakePrefetchIterator(*counter->MakeIterator(Context()), 5);
  Element element;
  bool end = false;
  ASSERT_TRUE(prefetch->GetNext(Context(), &element, &end).ok());
  prefetch.reset();
}

TEST_F(Iterators, WaitingEndsWithTheStep) {
  const auto counter = std::make_shared<Counter>(0, true);
  const auto prefetch = MakePrefetchIterator(*counter->MakeIterator(Context()), 5);
  std::thread other([this] { cancellation_.Stop(); });
  Element element;
  bool end = false;
  EXPECT_EQ(prefetch->GetNext(Context(), &element, &end).code(), absl::StatusCode::kCancelled);
  other.join();
}

TEST_F(Iterators, ParallelMapKeepsTheOrder) {
  const auto square = std::make_shared<Square>();
  const DatasetPtr dataset = MakeParallelMap(
      std::make_shared<Counter>(40, false), CapturedFunction(square, {}), 4,
      /*deterministic=*/true, /*keeps_cardinality=*/false, {{DType::kInt64}, {Shape{}}});
  const auto iterator = *dataset->MakeIterator(Context());
  Element element;
  bool end = false;
  for (int64_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
    ASSERT_FALSE(end);
    EXPECT_EQ(element[0].scalar<int64_t>(), i * i);
  }
  ASSERT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
  EXPECT_TRUE(end);
  EXPECT_LE(square->most(), 4);
}

TEST_F(Iterators, ParallelMapGivesEverythingInAnyOrder) {
  const DatasetPtr dataset = MakeParallelMap(
      std::make_shared<Counter>(40, false), CapturedFunction(std::make_shared<Square>(), {}), 4,
      /*deterministic=*/false, /*keeps_cardinality=*/false, {{DType::kInt64}, {Shape{}}});
  const auto iterator = *dataset->MakeIterator(Context());
  Element element;
  int64_t sum = 0, count = 0;
  for (bool end = false;;) {
    ASSERT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
    if (end) break;
    sum += element[0].scalar<int64_t>();
    ++count;
  }
  EXPECT_EQ(count, 40);
  EXPECT_EQ(sum, 39 * 40 * 79 / 6);
}

TEST_F(Iterators, AnErrorIsOneElement) {
  const DatasetPtr dataset = MakeParallelMap(
      std::make_shared<Counter>(5, false), CapturedFunction(std::make_shared<Square>(2), {}), 2,
      /*deterministic=*/true, /*keeps_cardinality=*/false, {{DType::kInt64}, {Shape{}}});
  const auto iterator = *dataset->MakeIterator(Context());
  Element element;
  bool end = false;
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(iterator->GetNext(Context(), &element, &end).ok(), i != 2);
}

TEST_F(Iterators, ParallelMapEndsWhileItsInputWaits) {
  const DatasetPtr dataset = MakeParallelMap(
      std::make_shared<Counter>(1, true), CapturedFunction(std::make_shared<Square>(), {}), 3,
      /*deterministic=*/true, /*keeps_cardinality=*/false, {{DType::kInt64}, {Shape{}}});
  auto iterator = *dataset->MakeIterator(Context());
  Element element;
  bool end = false;
  EXPECT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
  iterator.reset();
}

}  // namespace
}  // namespace carillon
