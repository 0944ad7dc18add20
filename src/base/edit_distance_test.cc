#include "base/edit_distance.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(EditDistance, CountsLettersPutInLeftOutAndChanged) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("steps", "step"), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("matmul", "MatMul"), 0u);
}

}  // namespace
}  // namespace carillon
