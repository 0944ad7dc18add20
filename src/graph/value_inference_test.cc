// Shapes that follow from shapes before any step runs.
#include "graph/value_inference.h"

#include <functional>
#include <gtest/gtest.h>
#include <limits>

#include "carillon/op_builder.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/ops/array_shapes.h"

namespace carillon {
namespace {

class ValueInference : public ::testing::Test {
 protected:
  // The elements of `value` as far as they are known; "nothing" when not even their number is.
  static std::string Known(const Output& value) {
    const auto& known = value.node()->output(value.index()).partial_value;
    return known.has_value() ? known->ToString() : "nothing";
  }
  Output SizeAt(const Output& sizes, int i) {
    return StridedSlice(sizes, {i}, {i + 1}, {1}, {.shrink_axis_mask = 1});
  }

  Graph g_;
  const Output x_ = Placeholder(g_, kFloat, {4, -1, 6});
  const Output sizes_ = ShapeOf(x_);
};

TEST_F(ValueInference, FollowsSizesThroughTheOpsThatRearrangeThem) {
  EXPECT_EQ(Known(sizes_), "[4,?,6]");
  EXPECT_EQ(Known(ShapeOf(x_, kInt64)), "[4,?,6]");
  EXPECT_EQ(Known(SizeAt(sizes_, 2)), "[6]");
  EXPECT_EQ(Known(StridedSlice(sizes_, {0}, {0}, {-1}, {.begin_mask = 1, .end_mask = 1})),
            "[6,?,4]");
  EXPECT_EQ(Known(Slice(sizes_, {1}, {2})), "[?,6]");
  EXPECT_EQ(Known(Gather(sizes_, {2, 0})), "[6,4]");
  EXPECT_EQ(Known(Pack({SizeAt(sizes_, 0), SizeAt(sizes_, 1), Const(g_, 9)})), "[4,?,9]");
  EXPECT_EQ(Known(Concat({sizes_, Const(g_, {2, 3})}, 0)), "[4,?,6,2,3]");
  EXPECT_EQ(Known(Cast(sizes_, kInt64)), "[4,?,6]");
  EXPECT_EQ(Known(Identity(Reshape(SizeAt(sizes_, 0), {1}))), "[4]");
  EXPECT_EQ(Known(ExpandDims(SizeAt(sizes_, 2), 0)), "[6]");
  EXPECT_EQ(Known(Unpack(sizes_, 3)[2]), "[6]");
  EXPECT_EQ(Known(ShapeN({x_, x_})[1]), "[4,?,6]");
  EXPECT_EQ(Known(Rank(x_)), "[3]");
}

TEST_F(ValueInference, Computes) {
  const Output four = SizeAt(sizes_, 0), open = SizeAt(sizes_, 1), six = SizeAt(sizes_, 2);
  EXPECT_EQ(Known(sizes_ + 1), "[5,?,7]");
  EXPECT_EQ(Known(sizes_ * sizes_), "[16,?,36]");
  EXPECT_EQ(Known(six - four), "[2]");
  EXPECT_EQ(Known(FloorDiv(six, four)), "[1]");
  EXPECT_EQ(Known(FloorMod(six, four)), "[2]");
  EXPECT_EQ(Known(Maximum(four, six)), "[6]");
  EXPECT_EQ(Known(Minimum(sizes_, 5)), "[4,?,5]");
  EXPECT_EQ(Known(Prod(Gather(sizes_, {0, 2}), 0)), "[24]");
  EXPECT_EQ(Known(Prod(sizes_, 0)), "[?]");
  EXPECT_EQ(Known(Size(x_)), "[?]");
  EXPECT_EQ(Known(open * 0), "[0]");
  EXPECT_EQ(Known(Fill(g_, {3}, six)), "[6,6,6]");
  EXPECT_EQ(Known(Range(g_, 1, six, 2)), "[1,3,5]");
  EXPECT_EQ(Known(BroadcastArgs(sizes_, {5, 1, 1, 1})), "[5,4,?,6]");
}

TEST_F(ValueInference, KnowsNothingOfWhatItCannotHold) {
  EXPECT_EQ(Known(SizeAt(sizes_, 0) - 5), "[?]");                       // negative
  EXPECT_EQ(Known(Const(g_, {7, -3})), "[7,?]");                        // likewise
  EXPECT_EQ(Known(Cast(sizes_, kFloat)), "nothing");                    // not an integer
  EXPECT_EQ(Known(Const(g_, {1, 2, 3, 4, 5, 6, 7, 8, 9})), "nothing");  // too many
  EXPECT_EQ(Known(Reshape(sizes_, {3, 1})), "nothing");                 // a matrix
  const Output big = Const(g_, 2000000000);
  EXPECT_EQ(Known(big + big), "[?]");  // wraps around in the step
  EXPECT_EQ(Known(Cast(big, kInt64) * Cast(big, kInt64)), "[4000000000000000000]");
  const Output unknown = Placeholder(g_, kInt32, {2});
  EXPECT_EQ(Known(unknown + 1), "[?,?]");
  EXPECT_EQ(Known(FloorDiv(SizeAt(sizes_, 0), 0)), "[?]");
}

TEST_F(ValueInference, GivesShapes) {
  const Output whole = Placeholder(g_, kFloat, {4, 5, 6});
  const Output n = ShapeOf(whole);
  EXPECT_EQ(Reshape(whole, Pack({SizeAt(n, 0), Const(g_, -1)})).shape().ToString(), "[4,30]");
  EXPECT_EQ(Reshape(x_, Pack({SizeAt(sizes_, 0), Const(g_, -1)})).shape().ToString(), "[4,?]");
  EXPECT_EQ(Fill(Concat({Slice(sizes_, {0}, {1}), Const(g_, {7})}, 0), 0.0f).shape().ToString(),
            "[4,7]");
  EXPECT_EQ(Tile(whole, n).shape().ToString(), "[16,25,36]");
  EXPECT_EQ(BroadcastTo(Const(g_, 1.0f), sizes_).shape().ToString(), "[4,?,6]");
  EXPECT_EQ(OneHot(Placeholder(g_, kInt32, {2}), SizeAt(n, 1)).shape().ToString(), "[2,5]");
  EXPECT_EQ(Range(g_, 0, SizeAt(n, 2)).shape().ToString(), "[6]");
  EXPECT_EQ(Slice(whole, {1, 1, 1}, n - 1).shape().ToString(), "[3,4,5]");
}

// All that a Const node may hold is met by shape functions: none of it may crash or overflow.
TEST_F(ValueInference, SurvivesHostileConstants) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t most = std::numeric_limits<int64_t>::max();
  const Output x = Placeholder(g_, kFloat, {4, 5, 6});
  const Output many = Const(g_, Tensor::Full(Shape{100000}, int64_t{1}));
  for (const int64_t value : {least, least + 1, int64_t{-2}, int64_t{-1}, int64_t{0}, most}) {
    const Output scalar = Const(g_, Tensor::Scalar(value));
    const Output three = Const(g_, Tensor::Full(Shape{3}, value));
    const Output pairs = Const(g_, Tensor::Full(Shape{3, 2}, value));
    for (const Output& sizes : {three, many, scalar}) {
      for (const char* op : {"Reshape", "Tile", "BroadcastTo", "Transpose", "ReverseV2"}) {
        try {
          OpBuilder(op).Arg(x).Arg(sizes).Build();
        } catch (const std::exception&) {
        }
      }
      for (const Output& other : {three, many}) {
        for (const char* op : {"Slice"}) {
          try {
            OpBuilder(op).Arg(x).Arg(sizes).Arg(other).Build();
          } catch (const std::exception&) {
          }
        }
        try {
          StridedSlice(x, sizes, other, three);
        } catch (const std::exception&) {
        }
      }
      for (const auto& make : std::vector<std::function<void()>>{
               [&] { Fill(sizes, 1.0f); }, [&] { ExpandDims(x, scalar); },
               [&] {
                 Concat({x, x}, scalar);
               },
               [&] { Gather(x, {0}, scalar); },
               [&] { Range(g_, scalar, Tensor::Scalar(most), Tensor::Scalar<int64_t>(1)); },
               [&] { Pad(x, pairs); }, [&] { MirrorPadGrad(x, pairs, "REFLECT"); },
               [&] {
                 SpaceToBatchND(x, {2, 3}, Const(g_, Tensor::Full(Shape{2, 2}, value)));
               },
               [&] { BatchToSpaceND(x, Const(g_, Tensor::Full(Shape{2}, value)), pairs); },
               [&] { SplitV(x, three, 0, 3); }, [&] { Add(three, three); },
               [&] { Mul(three, three); }, [&] { Sub(three, scalar); },
               [&] { FloorDiv(three, scalar); }}) {
        try {
          make();
        } catch (const std::exception&) {
        }
      }
    }
  }
}

}  // namespace
}  // namespace carillon
