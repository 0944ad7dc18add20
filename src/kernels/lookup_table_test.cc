#include "kernels/lookup_table.h"

#include <gtest/gtest.h>
#include <thread>

namespace carillon {
namespace {

using Strings = std::vector<std::string>;

Tensor Longs(const std::vector<int64_t>& values) { return Tensor::FromVector(values); }

std::vector<int64_t> Find(const LookupTable& table, const Tensor& keys, int64_t otherwise = -1) {
  Tensor values(kInt64, *table.ValuesShape(keys.shape()));
  EXPECT_EQ(table.Find(keys, Tensor::Scalar(otherwise), values), absl::OkStatus());
  return {values.data<int64_t>(), values.data<int64_t>() + values.num_elements()};
}

TEST(LookupTable, FindsWhatWasInsertedLast) {
  LookupTable table({.key_dtype = kString, .value_dtype = kInt64});
  ASSERT_TRUE(table.Insert(Tensor::FromVector(Strings{"a", "b", "a"}), Longs({1, 2, 3})).ok());
  EXPECT_EQ(table.Size(), 2);
  EXPECT_EQ(Find(table, Tensor::FromVector(Strings{"b", "c", "a"})),
            (std::vector<int64_t>{2, -1, 3}));
}

TEST(RowStore, GrowsWithoutCopyingText) {
  RowStore rows(kString, Shape{}, HostAllocator());
  ASSERT_TRUE(rows.Reserve(1).ok());
  const std::string text(1000, 'a');
  rows.Append(&text);
  const auto text_of = [&] { return static_cast<const std::string*>(rows.row(0))->data(); };
  const char* const before = text_of();
  ASSERT_TRUE(rows.Reserve(rows.room() + 1).ok());
  EXPECT_EQ(text_of(), before);
}

TEST(LookupTable, UsesThePlacesOfRemovedEntriesAgain) {
  LookupTable table({.key_dtype = kInt64, .value_dtype = kInt64});
  for (int64_t round = 0; round < 100; ++round) {
    ASSERT_TRUE(table.Insert(Longs({round, -1 - round}), Longs({round, 7})).ok());
    ASSERT_TRUE(table.Remove(Longs({-1 - round, 12345})).ok());
  }
  EXPECT_EQ(table.Size(), 100);
  EXPECT_EQ(Find(table, Longs({0, 99, -1})), (std::vector<int64_t>{0, 99, -1}));
  Tensor keys, values;
  ASSERT_TRUE(table.Export(HostAllocator(), &keys, &values).ok());
  EXPECT_EQ(keys.num_elements(), 100);
}

TEST(LookupTable, FailsToBeFilledWithoutATrace) {
  LookupTable table({.initialized_once = true, .key_dtype = kInt64, .value_dtype = kInt64});
  EXPECT_EQ(table.Initialize(Longs({1, 2, 1}), Longs({1, 2, 3})).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(table.Size(), 0);
  EXPECT_TRUE(table.Initialize(Longs({1, 2, 1}), Longs({1, 2, 1})).ok());
  EXPECT_EQ(table.Size(), 2);
  EXPECT_EQ(table.Insert(Longs({1}), Longs({1})).code(), absl::StatusCode::kUnimplemented);
}

TEST(LookupTable, KeysMayBeVectors) {
  LookupTable table({.key_dtype = kInt64,
                     .value_dtype = kInt64,
                     .key_shape = Shape{2},
                     .empty_key = Longs({0, 0}),
                     .deleted_key = Longs({-1, -1})});
  const auto rows = [](std::vector<int64_t> values) {
    const auto count = static_cast<int64_t>(values.size()) / 2;
    return Tensor::FromVector(values, Shape{count, 2});
  };
  ASSERT_TRUE(table.Insert(rows({1, 2, 2, 1}), Longs({12, 21})).ok());
  EXPECT_EQ(Find(table, rows({2, 1, 1, 1, 1, 2})), (std::vector<int64_t>{21, -1, 12}));
  EXPECT_FALSE(table.Insert(rows({0, 0}), Longs({1})).ok());
  EXPECT_FALSE(table.Remove(rows({-1, -1})).ok());
  EXPECT_FALSE(table.ValuesShape(Shape{3, 3}).ok());
}

TEST(LookupTable, CountsItsEntriesAndRefusesWhatDoesNotFit) {
  constexpr int64_t kLimit = 1 << 20;
  const auto limited = MakePoolAllocator({.limit_bytes = kLimit});
  const auto keys_from = [](int64_t from) {
    Strings keys;
    for (int64_t i = from; i < from + 10; ++i)
      keys.push_back(std::string(100, 'x') + std::to_string(i));
    return Tensor::FromVector(keys);
  };
  const Tensor values = Tensor::Full<int64_t>({10}, 7);
  {
    LookupTable table({.key_dtype = kString, .value_dtype = kInt64}, limited.get());
    Status status;
    int64_t entries = 0;
    for (; status.ok(); entries += 10) status = table.Insert(keys_from(entries), values);
    entries -= 10;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(table.Size(), entries) << "all or none";
    // Each key is there twice, with 120 bytes each time.
    EXPECT_GT(entries, kLimit / 1000);
    EXPECT_LT(entries, kLimit / 240);
    // No room for the new entries beside the old ones: those stay.
    Strings many(static_cast<size_t>(entries));
    for (size_t i = 0; i < many.size(); ++i) many[i] = std::string(300, 'y') + std::to_string(i);
    EXPECT_EQ(table.Import(Tensor::FromVector(many), Tensor::Full<int64_t>({entries}, 1)).code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(table.Size(), entries);
    EXPECT_EQ(Find(table, keys_from(0))[9], 7);
    // What is removed is given back, up to the rows.
    const int64_t full = limited->stats().bytes_in_use;
    for (int64_t i = 0; i < entries; i += 10) ASSERT_TRUE(table.Remove(keys_from(i)).ok());
    EXPECT_LT(limited->stats().bytes_in_use, full - entries * 200);
    EXPECT_TRUE(table.Insert(keys_from(0), values).ok());
    EXPECT_EQ(Find(table, keys_from(0))[9], 7);
    EXPECT_TRUE(table.Import(keys_from(100), values).ok());
    EXPECT_EQ(table.Size(), 10);
  }
  EXPECT_EQ(limited->stats().bytes_in_use, 0);
}

TEST(LookupTable, CountsTextThatIsReplaced) {
  const auto limited = MakePoolAllocator({.limit_bytes = 1 << 20});
  {
    LookupTable table({.key_dtype = kInt64, .value_dtype = kString}, limited.get());
    const auto put = [&](size_t size) {
      return table.Insert(Longs({1}), Tensor::FromVector(Strings{std::string(size, 'x')}));
    };
    ASSERT_TRUE(put(100000).ok());
    const int64_t once = limited->stats().bytes_in_use;
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(put(100000).ok()) << "the old value goes";
    EXPECT_EQ(limited->stats().bytes_in_use, once);
    EXPECT_EQ(put(2 << 20).code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(limited->stats().bytes_in_use, once);
    ASSERT_TRUE(put(1).ok());
    EXPECT_LE(limited->stats().bytes_in_use, once - 100000);
  }
  EXPECT_EQ(limited->stats().bytes_in_use, 0);
}

TEST(LookupTable, ManyThreads) {
  LookupTable table({.key_dtype = kInt64, .value_dtype = kInt64});
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 500; ++i) {
        const Tensor key = Longs({t * 1000 + i});
        EXPECT_TRUE(table.Insert(key, key).ok());
        EXPECT_EQ(Find(table, key)[0], t * 1000 + i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table.Size(), 2000);
}

}  // namespace
}  // namespace carillon
