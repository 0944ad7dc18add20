#include "carillon/tensor.h"

#include <gtest/gtest.h>
#include <limits>

#include "carillon/error.h"
#include "tensor/allocator.h"
#include "tensor/buffer.h"
#include "tensor/object.h"

namespace carillon {
namespace {

TEST(Shape, CountsElementsAndRefusesWhatIsNoShape) {
  EXPECT_EQ((Shape{2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(Shape{}.num_elements(), 1);
  EXPECT_EQ((Shape{5, 0, 7}).num_elements(), 0);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ((Shape{huge, 0, huge}).num_elements(), 0);
  EXPECT_THROW((Shape{-1}), Error);
  EXPECT_THROW((Shape{huge, 2}), Error);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
}

TEST(PartialShape, MergesWhatBothKnow) {
  PartialShape merged;
  EXPECT_TRUE((PartialShape{-1, 3}).MergeWith(PartialShape{2, -1}, &merged));
  EXPECT_EQ(merged, (PartialShape{2, 3}));
  EXPECT_FALSE((PartialShape{-1, 3}).MergeWith(PartialShape{2, 4}, &merged));
  EXPECT_FALSE((PartialShape{3}).IsCompatibleWith(PartialShape{3, 1}));
  EXPECT_TRUE(PartialShape().IsCompatibleWith(PartialShape{3, 1}));
  EXPECT_EQ((PartialShape{-1, 784}).ToString(), "[?,784]");
}

TEST(Tensor, SharesMemoryOnCopyAndNotOnClone) {
  Tensor a = Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_TRUE(a.IsUnshared());
  Tensor b = a;
  EXPECT_FALSE(a.IsUnshared());
  b.mutable_data<float>()[0] = 9;
  EXPECT_EQ(a.data<float>()[0], 9);
  Tensor c = a.Clone();
  c.mutable_data<float>()[0] = 1;
  EXPECT_EQ(a.data<float>()[0], 9);
}

TEST(Tensor, SlicesRowsWithoutCopying) {
  const Tensor a = Tensor::FromVector<int32_t>({1, 2, 3, 4, 5, 6}, {3, 2});
  const Tensor rows = a.Slice(1, 3);
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_EQ(rows.data<int32_t>(), a.data<int32_t>() + 2);
  EXPECT_EQ(a.Slice(1, 1).num_elements(), 0);
  EXPECT_THROW(a.Slice(2, 4), Error);
}

TEST(Tensor, RefusesTheWrongTypeAndSize) {
  const Tensor a = Tensor::Scalar(1.0f);
  EXPECT_THROW(a.data<double>(), Error);
  EXPECT_THROW(a.Reshaped({2}), Error);
  EXPECT_THROW(Tensor::FromVector<float>({1, 2}, {3}), Error);
  EXPECT_THROW(Tensor::FromVector<float>({1, 2}).scalar<float>(), Error);
  EXPECT_THROW(Tensor(DType::kInvalid, {}), Error);
  EXPECT_THROW(Tensor(kFloat, {int64_t{1} << 60}), Error);
}

TEST(Tensor, HoldsStrings) {
  Tensor a = Tensor::FromVector<std::string>({"", std::string(100, 'x'), "short"});
  const Tensor b = a.Clone();
  a = Tensor();
  EXPECT_EQ(b.values<std::string>()[1], std::string(100, 'x'));
  EXPECT_EQ(b.ToString(), "string[3] {\"\", \"" + std::string(100, 'x') + "\", \"short\"}");
}

TEST(SixteenBitFloats, RoundToNearestEven) {
  for (const float exact : {0.0f, -0.0f, 1.0f, -2.5f, 65504.0f, 0x1p-24f, 0x1p-14f}) {
    EXPECT_EQ(static_cast<float>(Half(exact)), exact);
  }
  EXPECT_EQ(static_cast<float>(Half(65520.0f)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(Half(1.0f + 0x1p-11f)), 1.0f);                // a tie goes to even
  EXPECT_EQ(static_cast<float>(Half(1.0f + 3 * 0x1p-11f)), 1.0f + 0x1p-9f);  // and here up
  EXPECT_EQ(static_cast<float>(Half(0x1p-26f)), 0.0f);
  EXPECT_EQ(static_cast<float>(Bfloat16(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_EQ(static_cast<float>(Bfloat16(1.0f + 3 * 0x1p-8f)), 1.0f + 0x1p-6f);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(static_cast<float>(Half(nan)), static_cast<float>(Half(nan)));
  EXPECT_NE(static_cast<float>(Bfloat16(nan)), static_cast<float>(Bfloat16(nan)));
  // Every half survives the way to float and back.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    Half half;
    half.bits = static_cast<uint16_t>(bits);
    const float wide = half;
    if (wide == wide) {
      EXPECT_EQ(Half(wide).bits, half.bits);
    }
  }
}

TEST(PoolAllocator, HandsOutFreedBlocksAgain) {
  const auto pool = MakePoolAllocator();
  void* a = pool->Allocate(1000);
  pool->Free(a, 1000);
  EXPECT_EQ(pool->Allocate(1020), a);  // the same size class
  pool->Free(a, 1020);
  EXPECT_EQ(pool->stats().reuses, 1);
  EXPECT_EQ(pool->stats().bytes_in_use, 0);
  EXPECT_GE(pool->stats().peak_bytes, 1000);
}

TEST(PoolAllocator, EverySizeFitsItsClass) {
  const auto pool = MakePoolAllocator({.pool_bytes = 0});
  for (size_t bytes = 1; bytes < 5000; ++bytes) {
    auto* block = static_cast<char*>(pool->Allocate(bytes));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % kTensorAlignment, 0u);
    std::fill_n(block, bytes, 'x');  // ASan watches
    ASSERT_GE(pool->stats().bytes_in_use, static_cast<int64_t>(bytes));
    pool->Free(block, bytes);
  }
}

TEST(PoolAllocator, KeepsToItsLimit) {
  const auto pool = MakePoolAllocator({.limit_bytes = 4096});
  EXPECT_EQ(pool->Allocate(5000), nullptr);
  EXPECT_EQ(pool->Allocate(std::numeric_limits<size_t>::max()), nullptr);
  void* a = pool->Allocate(4000);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(pool->Allocate(100), nullptr);
  pool->Free(a, 4000);
  void* b = pool->Allocate(100);
  EXPECT_NE(b, nullptr);
  pool->Free(b, 100);
}

TEST(PoolAllocator, OutlivesItsOwnerWhileATensorNeedsIt) {
  auto pool = MakePoolAllocator();
  Tensor tensor = Tensor::TryAllocate(kFloat, {100}, pool.get());
  pool.reset();
  for (float& value : tensor.mutable_values<float>()) value = 1;
  EXPECT_EQ(tensor.data<float>()[99], 1);
}

// A client may nest values in values as deeply as it likes.
TEST(Variant, NestedValuesEndOneAfterTheOther) {
  struct Holder final : VariantValue {
    explicit Holder(Tensor held) : held(std::move(held)) {}
    std::string DebugString() const override { return "holder"; }
    const Tensor held;
  };
  Tensor nested = Tensor::Scalar(Variant{});
  for (int i = 0; i < 500'000; ++i)
    nested = Tensor::Scalar(Variant{std::make_shared<Holder>(nested)});
  const std::weak_ptr<const VariantValue> outermost = nested.data<Variant>()[0].value;
  nested = Tensor();
  EXPECT_TRUE(outermost.expired());
}

TEST(Shape, HasNoFewerElementsThanItsDimensionsSay) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Shape shape{0, 3, 6148914691236517207};
  shape.RemoveDim(0);
  EXPECT_EQ(shape.num_elements(), kMost);
  EXPECT_FALSE(Tensor::TryAllocate(kFloat, shape, HostAllocator()).has_value());
  shape.set_dim(0, 1);
  EXPECT_EQ(shape.num_elements(), 6148914691236517207);
  shape.AddDim(5);
  EXPECT_EQ(shape.num_elements(), kMost);
  shape.AddDim(0);
  EXPECT_EQ(shape.num_elements(), 0);
}

}  // namespace
}  // namespace carillon
