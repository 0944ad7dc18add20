// Iterators that work on threads of their own, driven directly.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "base/thread_budget.h"
#include "kernels/kernel_tester.h"
#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

// Counts to `count`, then ends; with `block` it waits there until it is cancelled.
class Counter final : public GraphDataset {
 public:
  Counter(int64_t count, bool block)
      : GraphDataset({{DType::kInt64}, {Shape{}}}), count_(count), block_(block) {}

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

TEST_F(Iterators, PrefetchKeepsTheOrderWithAndWithoutAThread) {
  for (const bool has_thread : {true, false}) {
    std::vector<BudgetedThreads> others;
    while (!has_thread && (others.empty() || others.back().count() > 0))
      others.emplace_back(&ThreadBudget::OfDataSets(), 100);
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

// Declares one component, and gives `components` to the second element, one to the others.
class Uneven final : public GraphDataset {
 public:
  explicit Uneven(size_t components)
      : GraphDataset({{DType::kInt64}, {Shape{}}}), components_(components) {}
  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(const IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator final : public IteratorOf<Uneven> {
   public:
    using IteratorOf::IteratorOf;
    Status GetNext(const IteratorContext&, Element* element, bool*) override {
      element->assign(next_++ == 1 ? dataset().components_ : 1, Tensor::Scalar<int64_t>(0));
      return absl::OkStatus();
    }

   private:
    int64_t next_ = 0;
  };
  const size_t components_;
};

TEST_F(Iterators, BatchesAreMadeOfWhatTheInputDeclares) {
  for (const size_t components : {0u, 1u, 2u}) {
    const Tensor size = Tensor::Scalar<int64_t>(2), none(DType::kInt64, Shape{0});
    for (const bool padded : {false, true}) {
      const auto input = std::make_shared<Uneven>(components);
      AttrMap attrs = {{"output_shapes", std::vector<PartialShape>{PartialShape()}}};
      attrs[padded ? "Toutput_types" : "output_types"] = std::vector<DType>{DType::kInt64};
      std::vector<LaidOut> inputs = {Tensor::Scalar(Variant{input}), size};
      if (padded) {
        attrs["N"] = int64_t{1};
        inputs.emplace_back(none);
        inputs.emplace_back(Tensor::Scalar<int64_t>(0));
      }
      const DatasetPtr batches =
          *DatasetOf(KernelTester(padded ? "PaddedBatchDataset" : "BatchDataset", attrs, inputs)
                         .RunPlain(inputs)[0]);
      Element element;
      bool end = false;
      const auto iterator = *batches->MakeIterator(Context());
      EXPECT_EQ(iterator->GetNext(Context(), &element, &end).code(),
                components == 1 ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument);
    }
  }
}

class LimitedIterators : public Iterators {
 protected:
  IteratorContext Context() { return {limited_.get(), &cancellation_, &functions_}; }
  static constexpr int64_t kLimit = 64 << 10;

  int64_t used() const { return limited_->stats().bytes_in_use; }
  bool is_full() const { return used() > kLimit - 200; }

  // Takes one element after the other, none of them before the threads of `iterator` have filled
  // the memory, until there is an error.
  Status ReadUntilRefused(DatasetIterator& iterator) {
    Element element;
    bool end = false;
    Status status = iterator.GetNext(Context(), &element, &end);
    while (status.ok() && !is_full()) std::this_thread::yield();
    while (status.ok()) {
      // Perhaps they have not been refused anything yet.
      for (int i = 0; i < 1000 && !is_full(); ++i) std::this_thread::yield();
      status = iterator.GetNext(Context(), &element, &end);
    }
    return status;
  }

  // The data set of an op whose inputs are `input` and `more`.
  static DatasetPtr Make(const std::string& op, AttrMap attrs, DatasetPtr input,
                         std::vector<Tensor> more) {
    attrs["output_types"] = std::vector<DType>{DType::kInt64};
    attrs["output_shapes"] = std::vector<PartialShape>{Shape{}};
    std::vector<LaidOut> inputs = {Tensor::Scalar(Variant{std::move(input)})};
    for (Tensor& value : more) inputs.emplace_back(std::move(value));
    return *DatasetOf(KernelTester(op, std::move(attrs), inputs).RunPlain(inputs)[0]);
  }

  std::shared_ptr<Allocator> limited_ = MakePoolAllocator({.limit_bytes = kLimit});
};

// Gives what it gets.
class Same final : public CallableFunction {
 public:
  Status Call(std::span<const Tensor> args, Cancellation*, std::vector<Tensor>* results) override {
    results->assign(args.begin(), args.end());
    return absl::OkStatus();
  }
};

TEST_F(LimitedIterators, PrefetchReadsAheadWithinTheLimit) {
  const auto counter = std::make_shared<Counter>(int64_t{1} << 40, false);
  auto prefetch = MakePrefetchIterator(*counter->MakeIterator(Context()), 1 << 20);
  EXPECT_EQ(ReadUntilRefused(*prefetch).code(), absl::StatusCode::kResourceExhausted);
  Element element;
  bool end = false;
  EXPECT_TRUE(prefetch->GetNext(Context(), &element, &end).ok()) << "there is room again";
  prefetch.reset();
  EXPECT_EQ(used(), 0);
}

TEST_F(LimitedIterators, ParallelMapReadsAheadWithinTheLimit) {
  const DatasetPtr dataset = MakeParallelMap(
      std::make_shared<Counter>(int64_t{1} << 40, false),
      CapturedFunction(std::make_shared<Same>(), {}), 1 << 20,
      /*deterministic=*/true, /*keeps_cardinality=*/false, {{DType::kInt64}, {Shape{}}});
  auto iterator = *dataset->MakeIterator(Context());
  EXPECT_EQ(ReadUntilRefused(*iterator).code(), absl::StatusCode::kResourceExhausted);
  iterator.reset();
  EXPECT_EQ(used(), 0);
}

TEST_F(LimitedIterators, ShuffleGivesItsBufferBackWhenItHasNoMemory) {
  const DatasetPtr dataset = Make(
      "ShuffleDataset", {}, std::make_shared<Counter>(int64_t{1} << 40, false),
      {Tensor::Scalar(int64_t{1} << 40), Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(2)});
  auto iterator = *dataset->MakeIterator(Context());
  Element element;
  bool end = false;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(iterator->GetNext(Context(), &element, &end).code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(used(), 0);
  }
  iterator.reset();
  const DatasetPtr small =
      Make("ShuffleDataset", {}, std::make_shared<Counter>(100, false),
           {Tensor::Scalar<int64_t>(10), Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(2)});
  iterator = *small->MakeIterator(Context());
  int64_t sum = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
    ASSERT_FALSE(end);
    sum += element[0].scalar<int64_t>();
  }
  EXPECT_EQ(sum, 99 * 50);
  ASSERT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
  EXPECT_TRUE(end);
  EXPECT_EQ(used(), 0);
}

TEST_F(LimitedIterators, ACacheWithoutMemoryKeepsNothing) {
  constexpr int64_t kCount = 1000;
  const DatasetPtr dataset = Make("CacheDataset", {}, std::make_shared<Counter>(kCount, false),
                                  {Tensor::Scalar(std::string())});
  for (int walk = 0; walk < 2; ++walk) {
    const auto iterator = *dataset->MakeIterator(Context());
    Element element;
    bool end = false;
    int64_t given = 0, refused = 0;
    for (;;) {
      const Status status = iterator->GetNext(Context(), &element, &end);
      if (status.ok() && end) break;
      ++(status.ok() ? given : refused);
      if (status.ok()) continue;
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_EQ(used(), 0);
    }
    EXPECT_EQ(refused, 1);
    EXPECT_EQ(given, kCount - 1) << "the rest comes, and is not kept";
    EXPECT_EQ(used(), 0);
  }
}

TEST_F(LimitedIterators, ACacheIsCountedAsLongAsItLives) {
  DatasetPtr dataset = Make("CacheDataset", {}, std::make_shared<Counter>(100, false),
                            {Tensor::Scalar(std::string())});
  for (int walk = 0; walk < 2; ++walk) {
    const auto iterator = *dataset->MakeIterator(Context());
    Element element;
    bool end = false;
    for (int64_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
      EXPECT_EQ(element[0].scalar<int64_t>(), i);
    }
    ASSERT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
    EXPECT_TRUE(end);
  }
  EXPECT_GT(used(), 100 * static_cast<int64_t>(sizeof(Tensor)));
  dataset.reset();
  EXPECT_EQ(used(), 0);
}

// Each walk may find nothing, and the next one something.
TEST_F(LimitedIterators, ShuffleForgetsEmptyEpochs) {
  if (!WorkScope::Counts()) GTEST_SKIP() << "the sanitizer owns operator new";
  AttrMap attrs;
  attrs["reshuffle_each_iteration"] = true;
  const DatasetPtr dataset =
      Make("ShuffleAndRepeatDataset", attrs, std::make_shared<Counter>(0, false),
           {Tensor::Scalar<int64_t>(10), Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(2),
            Tensor::Scalar<int64_t>(100'000)});
  const auto iterator = *dataset->MakeIterator(Context());
  const WorkScope scope(limited_.get(), nullptr);
  Element element;
  bool end = false;
  EXPECT_EQ(iterator->GetNext(Context(), &element, &end), absl::OkStatus());
  EXPECT_TRUE(end);
}

TEST_F(LimitedIterators, StepsThatAreCancelledSkipNothing) {
  StopSignal over;
  over.Stop();
  IteratorContext cancelled = Context();
  cancelled.cancellation = &over;
  Element element;
  bool end = false;
  const DatasetPtr skip =
      Make("SkipDataset", {}, std::make_shared<Counter>(10, false), {Tensor::Scalar<int64_t>(3)});
  auto iterator = *skip->MakeIterator(Context());
  EXPECT_EQ(iterator->GetNext(cancelled, &element, &end).code(), absl::StatusCode::kCancelled);
  ASSERT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
  EXPECT_EQ(element[0].scalar<int64_t>(), 3);

  // The first batch is lost. The cache does not keep the others as if they were all.
  const DatasetPtr cache = Make(
      "CacheDataset", {},
      Make("BatchDataset", {}, std::make_shared<Counter>(4, false), {Tensor::Scalar<int64_t>(2)}),
      {Tensor::Scalar(std::string())});
  iterator = *cache->MakeIterator(Context());
  EXPECT_EQ(iterator->GetNext(cancelled, &element, &end).code(), absl::StatusCode::kCancelled);
  while (!end) ASSERT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
  iterator = *cache->MakeIterator(Context());
  ASSERT_TRUE(iterator->GetNext(Context(), &element, &end).ok());
  EXPECT_EQ(element[0].data<int64_t>()[0], 0);
}

TEST_F(LimitedIterators, ADataSetThatIsPassedOnStaysAsItIs) {
  const DatasetPtr range =
      Make("TakeDataset", {}, std::make_shared<Counter>(10, false), {Tensor::Scalar<int64_t>(3)});
  const int depth = range->extent().depth;
  const DatasetPtr passed = Make("ModelDataset", {}, range, {});
  EXPECT_EQ(passed, range);
  EXPECT_EQ(range->extent().depth, depth);
}

TEST_F(LimitedIterators, BuffersAreCountedInSteps) {
  BufferCharge charge(limited_.get());
  std::vector<Element> elements;
  Status status;
  for (; status.ok(); elements.emplace_back(2)) status = charge.Add(Element(2));
  elements.pop_back();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(used(), (64 << 10) - 1000);
  EXPECT_GT(elements.size() * 2 * sizeof(Tensor), 30000u);
  while (elements.size() > 1) {
    charge.Remove(elements.back());
    elements.pop_back();
  }
  EXPECT_LT(used(), 10000);
  EXPECT_TRUE(charge.Add(Element(2)).ok());
  charge.Remove(elements.back());
  charge.RemoveAll();
  EXPECT_EQ(used(), 0);
}

// operator new asks whether the work is still wanted, also when it is to wait.
TEST(StopSignal, MayBeAskedByWhoRegisters) {
  StopSignal stop;
  std::vector<uint64_t> tokens(2000);
  {
    const WorkScope scope(nullptr, &stop);
    for (uint64_t& token : tokens) ASSERT_TRUE(stop.Register(&token, [] {}));
  }
  for (const uint64_t token : tokens) EXPECT_TRUE(stop.Deregister(token));
  stop.Stop();
  EXPECT_TRUE(stop.IsCancelled());
}

// Destructors stop: nothing may be thrown there, whatever the callbacks take.
TEST(StopSignal, CallsBackOnNobodysAccount) {
  if (!WorkScope::Counts()) GTEST_SKIP() << "the sanitizer owns operator new";
  StopSignal over, stop;
  over.Stop();
  uint64_t token = 0;
  bool called = false;
  const auto callback = [&] {
    const std::vector<char> much(1 << 20);
    called = true;
  };
  ASSERT_TRUE(stop.Register(&token, callback));
  const WorkScope scope(nullptr, &over);
  stop.Stop();
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace carillon
