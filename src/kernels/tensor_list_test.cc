#include "kernels/tensor_list.h"

#include <gtest/gtest.h>

#include "kernels/tensor_array.h"

namespace carillon {
namespace {

TEST(TensorList, CopiesShareTheElementsUntilOneChanges) {
  TensorList a(kFloat, Shape{});
  a.mutable_elements().push_back(Tensor::Scalar(1.0f));
  const TensorList b = a;
  EXPECT_EQ(&a.elements(), &b.elements());
  a.mutable_elements().push_back(Tensor::Scalar(2.0f));
  EXPECT_EQ(a.size(), 2);
  EXPECT_EQ(b.size(), 1);
  EXPECT_EQ(a[0].raw_data(), b[0].raw_data()) << "the tensors themselves are shared";
}

TEST(TensorList, ChangesInPlaceWhenNobodyElseHasTheElements) {
  TensorList list(kFloat, Shape{});
  list.mutable_elements().reserve(8);
  const std::vector<Tensor>* before = &list.elements();
  for (int i = 0; i < 8; ++i) {
    Tensor value = VariantOf(std::move(list));  // as it goes from kernel to kernel
    list = **ListIn(value.data<Variant>()[0]);
    value = Tensor();
    list.mutable_elements().push_back(Tensor::Scalar(static_cast<float>(i)));
    EXPECT_EQ(&list.elements(), before);
  }
  EXPECT_EQ(list.size(), 8);
}

TEST(TensorList, WhatHoldsNothingIsZeros) {
  TensorList list(kFloat, PartialShape());
  ASSERT_TRUE(list.Resize(2).ok());
  EXPECT_FALSE(list.Read(0, PartialShape(), HostAllocator()).ok());
  EXPECT_EQ(list.Read(0, Shape{2}, HostAllocator())->data<float>()[1], 0);
  EXPECT_EQ(list.Resize(-1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(list.Resize(int64_t{1} << 40).code(), absl::StatusCode::kResourceExhausted);
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

}  // namespace
}  // namespace carillon
