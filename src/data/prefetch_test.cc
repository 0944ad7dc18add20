#include "data/prefetch.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>

namespace carillon {
namespace {

using Numbers = Prefetcher<std::unique_ptr<int>>;  // items may be move-only

StatusOr<std::optional<std::unique_ptr<int>>> Number(int value) {
  return std::optional<std::unique_ptr<int>>(std::make_unique<int>(value));
}

TEST(PrefetchTest, KeepsTheOrderAndEnds) {
  int made = 0;
  Numbers numbers(3, [&made]() -> StatusOr<std::optional<std::unique_ptr<int>>> {
    if (made == 1000) return std::optional<std::unique_ptr<int>>();
    return Number(made++);
  });
  for (int i = 0; i < 1000; ++i) {
    auto item = numbers.Next();
    ASSERT_TRUE(item.ok());
    ASSERT_TRUE(item->has_value());
    EXPECT_EQ(***item, i);
  }
  EXPECT_FALSE((*numbers.Next()).has_value());
  EXPECT_FALSE((*numbers.Next()).has_value());
}

TEST(PrefetchTest, AnErrorArrivesAfterTheItemsBeforeIt) {
  int made = 0;
  Numbers numbers(8, [&made]() -> StatusOr<std::optional<std::unique_ptr<int>>> {
    if (made == 3) return DataLoss("broken");
    return Number(made++);
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(**numbers.Next().value(), i);
  for (int i = 0; i < 2; ++i) {
    const Status status = numbers.Next().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(status.message(), "broken");
  }
}

TEST(PrefetchTest, WhatIsThrownIsAnError) {
  Numbers numbers(1, []() -> StatusOr<std::optional<std::unique_ptr<int>>> {
    throw std::runtime_error("thrown");
  });
  const Status status = numbers.Next().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "thrown");
}

TEST(PrefetchTest, NeverMakesMoreThanItMayHold) {
  std::atomic<int> made{0};
  std::atomic<int> taken{0};
  std::atomic<int> most_ahead{0};
  constexpr int kDepth = 2;
  Numbers numbers(kDepth, [&]() {
    const int ahead = made++ - taken;
    if (ahead > most_ahead) most_ahead = ahead;
    return Number(0);
  });
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(numbers.Next().ok());
    ++taken;
  }
  // `taken` is counted after the take, so that one more may seem to be under way.
  EXPECT_LE(most_ahead, kDepth + 1);
}

TEST(PrefetchTest, IsCancelledWhereverItIs) {
  for (int takes = 0; takes < 5; ++takes) {
    std::atomic<int> made{0};
    {
      Numbers numbers(2, [&made] { return Number(made++); });
      for (int i = 0; i < takes; ++i) ASSERT_TRUE(numbers.Next().ok());
    }
    EXPECT_LE(made, takes + 3);
  }
}

}  // namespace
}  // namespace carillon
