#include "kernels/summarize.h"

#include <gtest/gtest.h>
#include <limits>

namespace carillon {
namespace {

Tensor Counting(const Shape& shape) {
  Tensor tensor(DType::kFloat, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = static_cast<float>(i);
  return tensor;
}

TEST(Summarize, ShowsTheFirstElements) {
  EXPECT_EQ(SummarizeFlat(Counting({10}), 3), "0 1 2...");
  EXPECT_EQ(SummarizeFlat(Counting({3}), 3), "0 1 2");
  EXPECT_EQ(SummarizeFlat(Counting({}), 3), "0");
  EXPECT_EQ(SummarizeFlat(Counting({}), 0), "...");
  EXPECT_EQ(SummarizeFlat(Counting({0}), 3), "");
  EXPECT_EQ(SummarizeFlat(Counting({2, 3}), -1), "[0 1 2][3 4 5]");
  EXPECT_EQ(SummarizeFlat(Counting({2, 3}), 3), "[0 1 2]...");
  EXPECT_EQ(SummarizeFlat(Counting({2, 3}), 1), "[0...]...");
  EXPECT_EQ(SummarizeFlat(Counting({2, 3, 4}), 3), "[[0 1 2...]]...");
}

TEST(Summarize, ShowsBothEndsOfEachDimension) {
  EXPECT_EQ(SummarizeNested(Counting({10}), 3), "[0 1 2 ... 7 8 9]");
  EXPECT_EQ(SummarizeNested(Counting({10}), 0), "[ ...]");
  EXPECT_EQ(SummarizeNested(Counting({10}), 5), "[0 1 2 3 4 5 6 7 8 9]");
  EXPECT_EQ(SummarizeNested(Counting({2, 3}), 1), "[[0 ... 2]\n [3 ... 5]]");
  EXPECT_EQ(SummarizeNested(Counting({0}), 3), "[]");
  EXPECT_EQ(SummarizeNested(Counting({2, 0}), 3), "[\n ...]");
  EXPECT_EQ(SummarizeNested(Counting({1, 3, 1}), 1), "[[[0]\n  ...\n  [2]]]");
}

TEST(Summarize, WritesNumbersAsShortAsTheyAreExact) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(SummarizeFlat(Tensor::FromVector<float>({0.1f, 1e-10f, 123456789.f, -infinity}), -1),
            "0.1 1e-10 123456792 -inf");
  EXPECT_EQ(SummarizeFlat(Tensor::Scalar(123456789.123456789), -1), "123456789.12345679");
  EXPECT_EQ(SummarizeFlat(Tensor::Scalar(Half(0.1f)), -1), "0.0999755859");
  EXPECT_EQ(SummarizeFlat(Tensor::FromVector<int8_t>({-1, 2}), -1), "-1 2");
}

TEST(Summarize, EscapesStrings) {
  const Tensor text = Tensor::FromVector<std::string>({"a", "b\n", "gr\xc3\xb6"});
  EXPECT_EQ(SummarizeFlat(text, -1), "a b\\n gr\xc3\xb6");
  EXPECT_EQ(SummarizeNested(text, -1), "[\"a\" \"b\\n\" \"gr\xc3\xb6\"]");
}

}  // namespace
}  // namespace carillon
