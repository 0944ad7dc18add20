#include "kernels/tensor_list.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "kernels/tensor_array.h"

namespace carillon {
namespace {

void Push(TensorList& list, float value, Allocator* allocator = HostAllocator()) {
  (*list.MutableElements(allocator, 1))->push_back(Tensor::Scalar(value));
}

TEST(TensorList, CopiesShareTheElementsUntilOneChanges) {
  TensorList a(kFloat, Shape{});
  Push(a, 1);
  const TensorList b = a;
  EXPECT_EQ(&a.elements(), &b.elements());
  Push(a, 2);
  EXPECT_EQ(a.size(), 2);
  EXPECT_EQ(b.size(), 1);
  EXPECT_EQ(a[0].raw_data(), b[0].raw_data()) << "the tensors themselves are shared";
}

TEST(TensorList, ChangesInPlaceWhenNobodyElseHasTheElements) {
  TensorList list(kFloat, Shape{});
  ASSERT_TRUE(list.MutableElements(HostAllocator(), 8).ok());
  const std::vector<Tensor>* before = &list.elements();
  for (int i = 0; i < 8; ++i) {
    Tensor value =
        *VariantOf(std::move(list), HostAllocator());  // as it goes from kernel to kernel
    list = **ListIn(value.data<Variant>()[0]);
    value = Tensor();
    Push(list, static_cast<float>(i));
    EXPECT_EQ(&list.elements(), before);
  }
  EXPECT_EQ(list.size(), 8);
}

TEST(TensorList, WhatHoldsNothingIsZeros) {
  TensorList list(kFloat, PartialShape());
  ASSERT_TRUE(list.Resize(2, HostAllocator()).ok());
  EXPECT_FALSE(list.Read(0, PartialShape(), HostAllocator()).ok());
  EXPECT_EQ(list.Read(0, Shape{2}, HostAllocator())->data<float>()[1], 0);
  EXPECT_EQ(list.Resize(-1, HostAllocator()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(list.Resize(int64_t{1} << 40, HostAllocator()).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(TensorList, CountsItsElements) {
  const auto limited = MakePoolAllocator({.limit_bytes = 1 << 20});
  {
    TensorList list(kFloat, Shape{});
    EXPECT_EQ(list.Resize(1 << 20, limited.get()).code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(list.size(), 0);
    ASSERT_TRUE(list.Resize(1000, limited.get()).ok());
    const int64_t one = limited->stats().bytes_in_use;
    EXPECT_GE(one, int64_t{1000 * sizeof(Tensor)});
    // Copies count from when they are no longer the same.
    std::vector<TensorList> copies;
    for (int i = 0; i < 100; ++i) copies.push_back(list);
    EXPECT_EQ(limited->stats().bytes_in_use, one);
    int changed = 0;
    for (TensorList& copy : copies) {
      if (!copy.MutableElements(limited.get()).ok()) break;
      ++changed;
    }
    EXPECT_GT(changed, 5);
    EXPECT_LT(changed, 20);
  }
  EXPECT_EQ(limited->stats().bytes_in_use, 0);
}

TEST(TensorList, CountsEmptyListsToo) {
  const auto limited = MakePoolAllocator({.limit_bytes = 1 << 20});
  std::vector<Tensor> values;
  StatusOr<Tensor> value = Tensor();
  while ((value = VariantOf(TensorList(kFloat, Shape{}), limited.get())).ok())
    values.push_back(*std::move(value));
  EXPECT_EQ(value.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(values.size(), 1000u);
  EXPECT_LT(values.size(), 10000u);
  values.clear();
  EXPECT_EQ(limited->stats().bytes_in_use, 0);
}

TEST(TensorList, ReadsShapes) {
  EXPECT_FALSE(ElementShapeFrom(Tensor::Scalar<int32_t>(-1))->has_rank());
  EXPECT_EQ(*ElementShapeFrom(Tensor::FromVector<int64_t>({2, -1})), (PartialShape{2, -1}));
  EXPECT_FALSE(ElementShapeFrom(Tensor::Scalar<int32_t>(3)).ok());
  EXPECT_FALSE(ElementShapeFrom(Tensor::FromVector<int32_t>({-2})).ok());
  EXPECT_FALSE(ElementShapeFrom(Tensor::Full<int32_t>({100}, 1)).ok());
}

TEST(TensorArray, GradientsAddUpInPlaceOnlyWhereTheyMay) {
  const auto array = *TensorArray::Make({.name = "a", .dtype = kFloat}, 1);
  ASSERT_TRUE(array->Write(0, Tensor::Full<float>({2}, 9), HostAllocator()).ok());
  const auto gradients = *array->Gradients("g", {});
  EXPECT_EQ(*array->Gradients("g", {}), gradients);
  EXPECT_NE(*array->Gradients("other", {}), gradients);
  const Tensor held = Tensor::Full<float>({2}, 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(gradients->Write(0, held, HostAllocator()).ok());
  EXPECT_EQ(gradients->Read(0, HostAllocator())->data<float>()[0], 3);
  EXPECT_EQ(held.data<float>()[0], 1) << "somebody else's";
}

TEST(TensorArray, RefusesSizesThatNoStepNeeds) {
  EXPECT_EQ(TensorArray::Make({.dtype = kFloat}, int64_t{1} << 31).status().code(),
            absl::StatusCode::kResourceExhausted);
  const auto array = *TensorArray::Make({.dtype = kFloat, .dynamic_size = true}, 0);
  EXPECT_EQ(array->Write((int64_t{1} << 31) - 1, Tensor::Scalar(1.0f), HostAllocator()).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(TensorArray, CountsItsPlaces) {
  const auto limited = MakePoolAllocator({.limit_bytes = 1 << 20});
  {
    const TensorArrayOptions options{.name = "a", .dtype = kFloat, .dynamic_size = true};
    EXPECT_EQ(TensorArray::Make(options, 1 << 20, limited.get()).status().code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(limited->stats().bytes_in_use, 0);
    const auto array = *TensorArray::Make(options, 1000, limited.get());
    const int64_t used = limited->stats().bytes_in_use;
    EXPECT_GT(used, 1000 * 100);
    EXPECT_EQ(array->Write(1 << 20, Tensor::Scalar(1.0f), limited.get()).code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(*array->Size(), 1000);
    EXPECT_EQ(limited->stats().bytes_in_use, used);
    int sources = 0;
    while (array->Gradients(StrCat("source", sources), {}, limited.get()).ok()) ++sources;
    EXPECT_GT(sources, 1);
    EXPECT_LT(sources, 10);
    array->Close();
    EXPECT_LT(limited->stats().bytes_in_use, used);
  }
  EXPECT_EQ(limited->stats().bytes_in_use, 0);
}

}  // namespace
}  // namespace carillon
