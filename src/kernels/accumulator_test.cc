#include "kernels/accumulator.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "kernels/test_cancellation.h"

namespace carillon {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

template <typename T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.num_elements()};
}

struct Outcome {
  std::atomic<bool> over{false};
  Status status;
  AccumulatedGradient gradient;
  Floats values() const { return ValuesOf<float>(gradient.values); }
  Longs indices() const { return ValuesOf<int64_t>(gradient.indices); }
};

std::shared_ptr<Outcome> Take(Accumulator& accumulator, int64_t required,
                              Cancellation* cancellation = nullptr) {
  auto outcome = std::make_shared<Outcome>();
  accumulator.Take(required, HostAllocator(), cancellation,
                   [outcome](const Status& status, AccumulatedGradient gradient) {
                     EXPECT_FALSE(outcome->over) << "told twice";
                     outcome->status = status;
                     outcome->gradient = std::move(gradient);
                     outcome->over = true;
                   });
  return outcome;
}

Status Apply(Accumulator& accumulator, int64_t step, const Floats& values) {
  return accumulator.Apply(step, {.values = Tensor::FromVector(values)}, HostAllocator());
}

std::shared_ptr<Accumulator> Dense(PartialShape shape = {2}, bool mean = true) {
  return MakeDenseAccumulator({.name = "a", .dtype = kFloat, .shape = shape, .mean = mean});
}

TEST(DenseAccumulator, HandsOutTheMeanOfAllThatAreInAndBeginsAnew) {
  const auto a = Dense();
  const auto waits = Take(*a, 2);
  ASSERT_TRUE(Apply(*a, 0, {1, 2}).ok());
  EXPECT_FALSE(waits->over);
  ASSERT_TRUE(Apply(*a, 0, {3, 6}).ok());
  EXPECT_EQ(waits->values(), (Floats{2, 4}));
  EXPECT_EQ(a->NumAccumulated(), 0);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Apply(*a, 1, {4, 8}).ok());
  EXPECT_EQ(Take(*a, 1)->values(), (Floats{4, 8})) << "divided by as many as there were";
}

TEST(DenseAccumulator, DropsWhatIsStale) {
  const auto a = Dense();
  ASSERT_TRUE(Apply(*a, 0, {1, 1}).ok());
  Take(*a, 1);
  EXPECT_TRUE(Apply(*a, 0, {1, 1}).ok());
  EXPECT_TRUE(Apply(*a, 0, {1, 2, 3, 4}).ok()) << "not even looked at";
  EXPECT_EQ(a->NumAccumulated(), 0);
  a->SetGlobalStep(5);
  EXPECT_TRUE(Apply(*a, 4, {1, 1}).ok());
  EXPECT_EQ(a->NumAccumulated(), 0);
  EXPECT_TRUE(Apply(*a, 9, {1, 1}).ok());
  EXPECT_EQ(a->NumAccumulated(), 1);
}

TEST(DenseAccumulator, ChecksShapes) {
  const auto a = Dense({-1});
  EXPECT_EQ(a->Apply(0, {.values = Tensor::Scalar(1.0f)}, HostAllocator()).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(Apply(*a, 0, {1, 1, 1}).ok());
  EXPECT_FALSE(Apply(*a, 0, {1, 1}).ok()) << "not like the first";
  EXPECT_EQ(Take(*a, 1)->values(), (Floats{1, 1, 1}));
  EXPECT_TRUE(Apply(*a, 1, {1, 1}).ok()) << "now this is the first";
}

TEST(DenseAccumulator, SumsInPlaceWhereItMay) {
  const auto a = Dense({2}, /*mean=*/false);
  Tensor mine = Tensor::FromVector<float>({1, 2});
  const void* memory = mine.raw_data();
  ASSERT_TRUE(a->Apply(0, {.values = std::move(mine)}, HostAllocator()).ok());
  ASSERT_TRUE(Apply(*a, 0, {1, 1}).ok());
  const auto taken = Take(*a, 1);
  EXPECT_EQ(taken->gradient.values.raw_data(), memory) << "copied";
  EXPECT_EQ(taken->values(), (Floats{2, 3}));

  const Tensor held = Tensor::FromVector<float>({1, 2});
  ASSERT_TRUE(a->Apply(1, {.values = held}, HostAllocator()).ok());
  ASSERT_TRUE(Apply(*a, 1, {1, 1}).ok());
  EXPECT_EQ(Take(*a, 1)->values(), (Floats{2, 3}));
  EXPECT_EQ(ValuesOf<float>(held), (Floats{1, 2})) << "somebody else's";
}

TEST(DenseAccumulator, ServesTakersInOrderAndForgetsCancelledOnes) {
  const auto a = Dense({1});
  TestCancellation step;
  const auto first = Take(*a, 3, &step), second = Take(*a, 1);
  ASSERT_TRUE(Apply(*a, 0, {1}).ok());
  EXPECT_FALSE(second->over) << "not its turn";
  step.Cancel();
  EXPECT_EQ(first->status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(second->values(), (Floats{1}));
}

class SparseAccumulator : public ::testing::Test {
 protected:
  std::shared_ptr<Accumulator> Make(bool mean = true, PartialShape shape = {4, 2}) {
    return MakeSparseAccumulator(
        {.name = "s", .dtype = kFloat, .shape = shape, .mean = mean, .sparse = true});
  }
  // Rows of two equal elements.
  static Status Apply(Accumulator& a, const Longs& indices, const Floats& rows, int64_t step = 0) {
    Floats values;
    for (const float row : rows) values.insert(values.end(), {row, row});
    return a.Apply(step,
                   {.values = Tensor::FromVector(values, {static_cast<int64_t>(rows.size()), 2}),
                    .indices = Tensor::FromVector(indices)},
                   HostAllocator());
  }
};

TEST_F(SparseAccumulator, ARowsMeanIsOverThoseThatTouchedIt) {
  const auto a = Make();
  ASSERT_TRUE(Apply(*a, {1, 3}, {1, 3}).ok());
  ASSERT_TRUE(Apply(*a, {0, 3}, {5, 7}).ok());
  ASSERT_TRUE(Apply(*a, {2, 3}, {8, 2}).ok());
  const auto taken = Take(*a, 3);
  EXPECT_EQ(taken->indices(), (Longs{0, 1, 2, 3}));
  EXPECT_EQ(taken->values(), (Floats{5, 5, 1, 1, 8, 8, 4, 4}));
  EXPECT_EQ(ValuesOf<int64_t>(taken->gradient.shape), (Longs{4, 2}));
}

TEST_F(SparseAccumulator, MergesLikeTensorFlowWhatIsNotSorted) {
  const auto a = Make();
  ASSERT_TRUE(Apply(*a, {3, 1}, {1, 3}).ok());
  ASSERT_TRUE(Apply(*a, {2, 2}, {5, 7}).ok());
  const auto taken = Take(*a, 1);
  EXPECT_EQ(taken->indices(), (Longs{2, 2, 3, 1}));
  EXPECT_EQ(taken->values(), (Floats{5, 5, 7, 7, 1, 1, 3, 3}));
}

TEST_F(SparseAccumulator, LeavesTheGradientsAlone) {
  const auto a = Make(/*mean=*/false, PartialShape());
  const Tensor values = Tensor::FromVector<float>({1, 1}, {1, 2});
  const Tensor index = Tensor::FromVector<int64_t>({7});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(a->Apply(0, {.values = values, .indices = index}, HostAllocator()).ok());
  }
  const auto taken = Take(*a, 3);
  EXPECT_EQ(taken->values(), (Floats{3, 3}));
  EXPECT_EQ(ValuesOf<float>(values), (Floats{1, 1}));
  EXPECT_EQ(ValuesOf<int64_t>(taken->gradient.shape), (Longs{-1, 2}));
}

TEST_F(SparseAccumulator, ChecksWhatDoesNotFit) {
  const auto a = Make();
  const auto refuses = [&](const Tensor& indices, const Tensor& values, const Tensor& shape) {
    return a->Apply(0, {values, indices, shape}, HostAllocator()).code() ==
           absl::StatusCode::kInvalidArgument;
  };
  const Tensor one = Tensor::FromVector<int64_t>({1});
  const Tensor row = Tensor::Full<float>({1, 2}, 1);
  EXPECT_TRUE(refuses(Tensor::Scalar<int64_t>(1), row, Tensor()));
  EXPECT_TRUE(refuses(one, Tensor::Scalar(1.0f), Tensor()));
  EXPECT_TRUE(refuses(one, Tensor::Full<float>({2, 2}, 1), Tensor()));
  EXPECT_TRUE(refuses(one, Tensor::Full<float>({1, 3}, 1), Tensor()));
  EXPECT_TRUE(refuses(one, Tensor::Full<float>({1}, 1), Tensor()));
  EXPECT_TRUE(refuses(Tensor::FromVector<int64_t>({4}), row, Tensor()));
  EXPECT_TRUE(refuses(one, row, Tensor::FromVector<int64_t>({4, 3})));
  EXPECT_TRUE(refuses(one, row, Tensor::FromVector<int64_t>({4})));
  EXPECT_FALSE(refuses(one, row, Tensor::FromVector<int64_t>({4, 2})));
}

TEST_F(SparseAccumulator, CountsWhatItKeepsForEachRow) {
  const auto limited = MakePoolAllocator({.limit_bytes = 64 << 10});
  {
    const auto a = MakeSparseAccumulator(
        {.name = "s", .dtype = kFloat, .shape = {-1, 2}, .mean = true, .sparse = true},
        limited.get());
    Status status;
    int64_t added = 0;
    for (; status.ok(); ++added) status = Apply(*a, {added}, {1});
    --added;  // the last was refused
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_GT(added, 500);
    EXPECT_LT(added, (64 << 10) / 32);
    EXPECT_EQ(a->NumAccumulated(), added);
    const auto taken = Take(*a, 1);
    EXPECT_EQ(static_cast<int64_t>(taken->indices().size()), added) << "none is half in";
    EXPECT_TRUE(Apply(*a, {0, 1, 2}, {1, 2, 3}, 1).ok()) << "there is room again";
  }
  EXPECT_EQ(limited->stats().bytes_in_use, 0);
}

// Workers push, a chief takes, some of the takes are cancelled: no gradient is counted twice or
// lost.
TEST(DenseAccumulator, ManyThreadsWithCancellation) {
  constexpr int kWorkers = 4, kEach = 3000;
  const auto a = Dense({1}, /*mean=*/false);
  std::vector<std::thread> threads;
  std::atomic<int> working{kWorkers};
  for (int w = 0; w < kWorkers; ++w) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) EXPECT_TRUE(Apply(*a, 1 << 30, {1}).ok());
      --working;
    });
  }
  double total = 0;
  threads.emplace_back([&] {
    for (int round = 0; working > 0 || a->NumAccumulated() > 0; ++round) {
      TestCancellation step;
      const auto outcome = Take(*a, 1 + round % 5, &step);
      std::thread canceller([&] { step.Cancel(); });
      while (!outcome->over) std::this_thread::yield();
      canceller.join();
      EXPECT_EQ(step.registered(), 0u);
      if (outcome->status.ok()) total += outcome->values()[0];
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, kWorkers * kEach);
}

}  // namespace
}  // namespace carillon
