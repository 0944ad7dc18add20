#include "kernels/barrier.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

using absl::StatusCode;

std::shared_ptr<Barrier> Make(Allocator* allocator) {
  return std::make_shared<Barrier>("b", std::vector<DType>{kInt32, kInt32},
                                   std::vector<PartialShape>{Shape{}, Shape{}}, allocator);
}

Status Insert(Barrier& barrier, const std::vector<std::string>& keys, int64_t component) {
  return barrier.Insert(keys, std::vector<Tensor>(keys.size(), Tensor::Scalar<int32_t>(1)),
                        component);
}

TEST(Barrier, CountsKeysUntilTheirTuplesAreTaken) {
  constexpr int64_t kLimit = 64 << 10;
  const auto limited = MakePoolAllocator({.limit_bytes = kLimit});
  const auto barrier = Make(limited.get());
  std::vector<std::string> keys;
  Status status;
  while (status.ok()) {
    keys.push_back(std::string(50, 'k') + std::to_string(keys.size()));
    status = Insert(*barrier, {keys.back()}, 0);
  }
  keys.pop_back();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(barrier->IncompleteSize(), static_cast<int64_t>(keys.size()));
  EXPECT_GT(keys.size(), 30u);
  EXPECT_LT(keys.size(), 200u);
  EXPECT_EQ(Insert(*barrier, {keys[0], "new", "newer"}, 1).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(barrier->ReadySize(), 0) << "nothing is set";
  ASSERT_TRUE(Insert(*barrier, keys, 1).ok()) << "what is there takes no more";
  EXPECT_EQ(barrier->ReadySize(), static_cast<int64_t>(keys.size()));
  barrier->Take(
      barrier->ReadySize(), false, nullptr,
      [](const Status& taken, const std::vector<QueueTuple>&) { EXPECT_TRUE(taken.ok()); });
  EXPECT_EQ(limited->stats().bytes_in_use, 0);
  ASSERT_TRUE(Insert(*barrier, {"a", "b"}, 0).ok());
  ASSERT_TRUE(barrier->Close(true).ok());
  EXPECT_EQ(limited->stats().bytes_in_use, 0);
}

// Hangs when it fails.
TEST(Barrier, WhoTakesMayInsert) {
  const auto barrier = Make(nullptr);
  bool taken = false;
  barrier->Take(1, false, nullptr,
                [&](const Status& status, const std::vector<QueueTuple>& tuples) {
                  EXPECT_TRUE(status.ok());
                  ASSERT_EQ(tuples.size(), 1u);
                  EXPECT_EQ(tuples[0][1].scalar<std::string>(), "a");
                  EXPECT_TRUE(Insert(*barrier, {"b"}, 0).ok());
                  taken = true;
                });
  ASSERT_TRUE(Insert(*barrier, {"a"}, 0).ok());
  EXPECT_FALSE(taken);
  ASSERT_TRUE(Insert(*barrier, {"a"}, 1).ok());
  EXPECT_TRUE(taken);
  EXPECT_EQ(barrier->IncompleteSize(), 1);
}

}  // namespace
}  // namespace carillon
