#include "graph/ops/array_rules.h"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace carillon {
namespace {

using Sizes = std::vector<int64_t>;

std::string Reshaped(const Shape& from, const Sizes& to) {
  const StatusOr<Shape> shape = ResolveReshape(from, to);
  return shape.ok() ? shape->ToString() : "refused";
}

TEST(ResolveReshape, TheOpenSizeTakesTheRest) {
  EXPECT_EQ(Reshaped({2, 3}, {6}), "[6]");
  EXPECT_EQ(Reshaped({2, 3}, {-1}), "[6]");
  EXPECT_EQ(Reshaped({2, 3}, {3, -1, 1}), "[3,2,1]");
  EXPECT_EQ(Reshaped({}, {-1}), "[1]");
  EXPECT_EQ(Reshaped({1}, {}), "[]");
  EXPECT_EQ(Reshaped({2, 3}, {4, -1}), "refused");
  EXPECT_EQ(Reshaped({2, 3}, {-1, -1}), "refused");
  EXPECT_EQ(Reshaped({2, 3}, {-2, 3}), "refused");
  EXPECT_EQ(Reshaped({2, 3}, {7}), "refused");
  EXPECT_EQ(Reshaped({2, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 6}), "refused");
}

// As TensorFlow 2.21 has it.
TEST(ResolveReshape, OfNothing) {
  EXPECT_EQ(Reshaped({0, 3}, {2, -1}), "[2,0]");
  EXPECT_EQ(Reshaped({0, 3}, {0, -1}), "[0,3]");
  EXPECT_EQ(Reshaped({2, 0, 3}, {0, -1}), "[0,6]");
  EXPECT_EQ(Reshaped({0, 3}, {0, 2, -1}), "[0,2,1]");
  EXPECT_EQ(Reshaped({0, 0}, {0, -1}), "[0,1]");
  EXPECT_EQ(Reshaped({2, 3}, {0, -1}), "refused");
}

TEST(ResolveReshape, HostileSizes) {
  const int64_t big = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Reshaped({2, 3}, {big, big}), "refused");
  EXPECT_EQ(Reshaped({2, 3}, {big, big, -1}), "refused");
  EXPECT_EQ(Reshaped({2, 3}, {std::numeric_limits<int64_t>::min()}), "refused");
  EXPECT_EQ(Reshaped({0, big, big}, {0, -1}), "refused");
}

std::string Sliced(const PartialShape& input, const Sizes& begin, const Sizes& end,
                   const Sizes& strides, const StridedSliceMasks& masks = {}) {
  const StatusOr<StridedSlicePlan> plan = PlanStridedSlice(input, begin, end, strides, masks);
  return plan.ok() ? plan->result.ToString() : "refused";
}

StridedSliceMasks Masks(int64_t begin, int64_t end, int64_t ellipsis = 0, int64_t new_axis = 0,
                        int64_t shrink = 0) {
  StridedSliceMasks masks;
  masks.begin = begin;
  masks.end = end;
  masks.ellipsis = ellipsis;
  masks.new_axis = new_axis;
  masks.shrink_axis = shrink;
  return masks;
}

TEST(PlanStridedSlice, Ranges) {
  EXPECT_EQ(Sliced({10}, {2}, {8}, {2}), "[3]");
  EXPECT_EQ(Sliced({10}, {2}, {9}, {2}), "[4]");
  EXPECT_EQ(Sliced({10}, {8}, {2}, {-3}), "[2]");
  EXPECT_EQ(Sliced({10}, {-3}, {-1}, {1}), "[2]");
  EXPECT_EQ(Sliced({10}, {5}, {2}, {1}), "[0]");
  EXPECT_EQ(Sliced({10}, {-100}, {100}, {1}), "[10]");
  EXPECT_EQ(Sliced({10}, {0}, {0}, {-1}, Masks(1, 1)), "[10]");
  EXPECT_EQ(Sliced({4, 5}, {1}, {3}, {1}), "[2,5]");  // what is not named stays whole
  EXPECT_EQ(Sliced({10}, {0}, {10}, {0}), "refused");
  EXPECT_EQ(Sliced({10}, {0, 0}, {1, 1}, {1, 1}), "refused");
}

TEST(PlanStridedSlice, IndicesNewAxesAndEllipses) {
  EXPECT_EQ(Sliced({4, 5, 6}, {1, 0}, {0, 2}, {1, 1}, Masks(0, 0, 0, 0, 1)), "[2,6]");
  EXPECT_EQ(Sliced({4, 5, 6}, {0, 1}, {0, 2}, {1, 1}, Masks(0, 0, 1)), "[4,5,1]");
  EXPECT_EQ(Sliced({4}, {0, 1}, {0, 2}, {1, 1}, Masks(0, 0, 0, 1)), "[1,1]");
  EXPECT_EQ(Sliced({4}, {-5}, {0}, {1}, Masks(0, 0, 0, 0, 1)), "refused");
  EXPECT_EQ(Sliced({4}, {4}, {0}, {1}, Masks(0, 0, 0, 0, 1)), "refused");
  EXPECT_EQ(Sliced({4}, {1}, {0}, {-1}, Masks(0, 0, 0, 0, 1)), "refused");
  EXPECT_EQ(Sliced({4, 4}, {0, 0}, {0, 0}, {1, 1}, Masks(0, 0, 3)), "refused");
  const Sizes nine(9, 0), ones(9, 1);
  EXPECT_EQ(Sliced({}, nine, nine, ones, Masks(0, 0, 0, 511)), "refused");  // too many dimensions
}

TEST(PlanStridedSlice, WithLessKnown) {
  EXPECT_EQ(Sliced({-1, 5}, {0}, {2}, {1}), "[?,5]");  // there may be fewer than two
  EXPECT_EQ(Sliced({-1, 5}, {0}, {0}, {1}, Masks(0, 0, 0, 0, 1)), "[5]");
  EXPECT_EQ(Sliced({4}, {kUnknownIndex}, {3}, {1}), "[?]");
  EXPECT_EQ(Sliced({4}, {kUnknownIndex}, {3}, {1}, Masks(1, 0)), "[3]");
  EXPECT_EQ(Sliced({4, 2}, {kUnknownIndex}, {3}, {1}, Masks(0, 0, 0, 0, 1)), "[2]");
}

TEST(DiagonalBand, SizesOfMatricesAroundIt) {
  const auto sizes = [](int64_t lower, int64_t upper, int64_t longest, int64_t rows,
                        int64_t columns) {
    const StatusOr<MatrixSizes> made =
        SizesAroundBand({.lower = lower, .upper = upper}, longest, rows, columns);
    return made.ok() ? Shape{made->rows, made->columns}.ToString() : "refused";
  };
  EXPECT_EQ(sizes(0, 0, 3, -1, -1), "[3,3]");
  EXPECT_EQ(sizes(1, 1, 2, -1, -1), "[3,3]");
  EXPECT_EQ(sizes(-3, -1, 2, 3, -1), "[3,2]");
  EXPECT_EQ(sizes(0, 0, 2, 2, 5), "[2,5]");
  EXPECT_EQ(sizes(0, 0, 2, 1, -1), "refused");
  EXPECT_EQ(sizes(0, 0, 2, 3, 3), "refused");
}

}  // namespace
}  // namespace carillon
