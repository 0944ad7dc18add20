#include "tensor/limited_allocator.h"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace carillon {
namespace {

constexpr int64_t kWhole = 64 << 20;
constexpr size_t kBlock = 16 << 10;

using AllocatorPtr = std::shared_ptr<Allocator>;

// What somebody holds of an allocator; given back in the end.
class Holder {
 public:
  explicit Holder(AllocatorPtr allocator) : allocator_(std::move(allocator)) {}
  ~Holder() { GiveBack(); }

  bool Take() {
    void* const block = allocator_->Allocate(kBlock);
    if (block == nullptr) return false;
    blocks_.push_back(block);
    return true;
  }
  // Until there is no more; how much it holds then.
  int64_t TakeAll() {
    while (Take()) {
    }
    return bytes();
  }
  int64_t bytes() const { return static_cast<int64_t>(blocks_.size() * kBlock); }
  void GiveBack() {
    for (void* block : blocks_) allocator_->Free(block, kBlock);
    blocks_.clear();
  }

 private:
  const AllocatorPtr allocator_;
  std::vector<void*> blocks_;
};

TEST(LimitedAllocator, EachLeavesSomeOfWhatItFinds) {
  const AllocatorPtr whole = MakePoolAllocator({.limit_bytes = kWhole});
  std::vector<std::unique_ptr<Holder>> holders;
  int64_t found = kWhole;
  for (const double share : {0.75, 0.56, 0.42}) {
    holders.push_back(std::make_unique<Holder>(MakeLimitedAllocator(whole, -1)));
    const auto taken = static_cast<double>(holders.back()->TakeAll());
    EXPECT_NEAR(taken, share * static_cast<double>(found), 0.02 * static_cast<double>(found));
    found -= holders.back()->bytes();
  }
  EXPECT_EQ(whole->room().left, found);
  EXPECT_GE(found, kWhole / 16) << "the rest is for small ones";
  // Who has much gets nothing, also by the way of charges; who has nothing does.
  EXPECT_FALSE(holders.front()->Take());
  constexpr int64_t kLittle = 256 << 10;
  std::vector<AllocatorPtr> newcomers;
  for (int64_t taken = 0; taken + kLittle <= found; taken += kLittle) {
    newcomers.push_back(MakeLimitedAllocator(whole, -1));
    EXPECT_TRUE(newcomers.back()->Charge(kLittle));
    EXPECT_FALSE(newcomers.back()->Charge(1));
  }
  EXPECT_GE(newcomers.size(), 16u);
  for (const AllocatorPtr& newcomer : newcomers) newcomer->Discharge(kLittle);
  // What comes back is there for all.
  holders.front()->GiveBack();
  EXPECT_TRUE(holders[1]->Take());
}

TEST(LimitedAllocator, ALimitOfItsOwnHoldsBesides) {
  const AllocatorPtr whole = MakePoolAllocator({.limit_bytes = kWhole});
  Holder modest(MakeLimitedAllocator(whole, kWhole / 4)),
      greedy(MakeLimitedAllocator(whole, kWhole));
  EXPECT_EQ(modest.TakeAll(), kWhole / 4);
  EXPECT_GT(greedy.TakeAll(), kWhole / 4);
  EXPECT_LT(greedy.bytes(), kWhole / 16 * 9);
}

TEST(LimitedAllocator, MayBeToldToTakeAll) {
  const AllocatorPtr whole = MakePoolAllocator({.limit_bytes = kWhole});
  EXPECT_EQ(Holder(MakeLimitedAllocator(whole, 0)).TakeAll(), kWhole);
}

TEST(LimitedAllocator, WithoutALimitThereIsNothingToShare) {
  Holder holder(MakeLimitedAllocator(MakePoolAllocator(), -1));
  for (int64_t i = 0; i < 8192; ++i) ASSERT_TRUE(holder.Take());
}

TEST(LimitedAllocator, AsksOthersForWhatTheyCanDoWithout) {
  Holder* idle = nullptr;
  const AllocatorPtr whole = MakePoolAllocator({.limit_bytes = kWhole}, [&] { idle->GiveBack(); });
  Holder other(MakeLimitedAllocator(whole, -1));
  idle = &other;
  for (int64_t i = 0; i < kWhole / 2; i += kBlock) ASSERT_TRUE(other.Take());
  Holder holder(MakeLimitedAllocator(whole, -1));
  for (int64_t i = 0; i < kWhole / 2; i += kBlock) ASSERT_TRUE(holder.Take());
  EXPECT_EQ(other.bytes(), 0);
}

// What others keep idle does not help against a limit of its own.
TEST(LimitedAllocator, AsksNobodyWhereItsOwnLimitIsReached) {
  int asked = 0, asked_itself = 0;
  const AllocatorPtr whole = MakePoolAllocator({.limit_bytes = kWhole}, [&] { ++asked; });
  const AllocatorPtr share = MakeLimitedAllocator(whole, kWhole / 4, [&] { ++asked_itself; });
  Holder holder(share);
  EXPECT_EQ(holder.TakeAll(), kWhole / 4);
  EXPECT_FALSE(share->Charge(1));
  EXPECT_EQ(asked_itself, 2);
  EXPECT_EQ(asked, 0);
}

TEST(LimitedAllocator, RefusesAnyNumber) {
  for (const int64_t limit : {int64_t{-1}, kWhole}) {
    const AllocatorPtr share =
        MakeLimitedAllocator(MakePoolAllocator({.limit_bytes = kWhole}), limit);
    ASSERT_TRUE(share->Charge(kBlock));
    EXPECT_FALSE(share->Charge(std::numeric_limits<int64_t>::max()));
    EXPECT_EQ(share->Allocate(std::numeric_limits<int64_t>::max()), nullptr);
    EXPECT_EQ(share->stats().bytes_in_use, static_cast<int64_t>(kBlock));
    share->Discharge(kBlock);
  }
}

// The parent has counted the memory already.
TEST(LimitedAllocator, WhatIsCountedInAShareIsNotTakenOnceMore) {
  const AllocatorPtr whole = MakePoolAllocator({.limit_bytes = kWhole});
  const AllocatorPtr share = MakeLimitedAllocator(whole, -1);
  constexpr int64_t kBytes = kWhole / 2, kFloats = kBytes / 4;
  Tensor tensor = Tensor::TryAllocate(kFloat, Shape{kFloats}, whole.get());
  ASSERT_TRUE(tensor.has_value());
  const int64_t left = whole->room().left;
  {
    const Tensor counted = CountInShare(share, std::move(tensor));
    ASSERT_TRUE(counted.has_value());
    EXPECT_EQ(share->stats().bytes_in_use, kBytes);
    EXPECT_EQ(whole->room().left, left);
    EXPECT_TRUE(Holder(share).Take()) << "what it holds and what is left are fair";
  }
  EXPECT_EQ(whole->room().left, kWhole);
}

}  // namespace
}  // namespace carillon
