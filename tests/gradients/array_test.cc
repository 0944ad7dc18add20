#include "carillon/ops/array.h"

#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/gradients.h"
#include "carillon/op_builder.h"
#include "carillon/ops/math.h"
#include "gradient_checker.h"

namespace carillon {
namespace {

class ArrayGradients : public ::testing::Test {
 protected:
  // A placeholder that says nothing of its shape, or all.
  Output Value(const Shape& shape) {
    return Placeholder(g_, kDouble, known_ ? PartialShape(shape) : PartialShape());
  }
  // Checks the gradient of what `make` makes of an x of this shape, with and without its shape
  // known.
  template <typename Make>
  void Check(const Shape& shape, Make make) {
    for (const bool known : {true, false}) {
      known_ = known;
      const Output x = Value(shape);
      CheckGradients({Square(make(x))}, {x}, {RandomTensor(kDouble, shape, 3)});
    }
  }
  // The same of two.
  template <typename Make>
  void Check(const Shape& a, const Shape& b, Make make) {
    for (const bool known : {true, false}) {
      known_ = known;
      const Output x = Value(a), y = Value(b);
      CheckGradients({Square(make(x, y))}, {x, y},
                     {RandomTensor(kDouble, a, 3), RandomTensor(kDouble, b, 4)});
    }
  }
  static Tensor Matrix(const std::vector<int32_t>& values, const Shape& shape) {
    return Tensor::FromVector(values, shape);
  }
  // The gradient of rows is slices: they have to add up where rows repeat.
  Output Doubled(const Output& x) { return x * 2.0; }

  Graph g_;
  bool known_ = true;
};

TEST_F(ArrayGradients, ValuesAndShapes) {
  Check({2, 3}, [](const Output& x) { return Identity(x); });
  Check({2, 3}, [](const Output& x) { return IdentityN({x, x})[1]; });
  Check({2, 3}, [](const Output& x) { return EnsureShape(x, {-1, 3}); });
  Check({2, 3}, [](const Output& x) { return CheckNumerics(x, "finite"); });
  Check({2, 3}, [](const Output& x) { return PlaceholderWithDefault(x, {-1, -1}); });
  Check({2, 3}, [](const Output& x) { return Reshape(x, {3, -1}); });
  Check({2, 3}, [](const Output& x) { return ExpandDims(x, 1); });
  Check({2, 1, 3, 1}, [](const Output& x) { return Squeeze(x, {1}); });
  Check({2, 3, 4}, [](const Output& x) { return Transpose(x, {2, 0, 1}); });
  Check({2, 3, 4}, [](const Output& x) { return Transpose(x, {-1, 0, -2}); });
  Check({2, 3, 4}, [](const Output& x) { return Transpose(x); });
  Check({}, [this](const Output& x) { return Fill(g_, {2, 2}, x); });
}

// Rounding to float hides small steps.
TEST_F(ArrayGradients, Casts) {
  const Output x = Value({3});
  CheckGradients({Square(Cast(Cast(x, kFloat), kDouble))}, {x}, {RandomTensor(kDouble, {3}, 3)},
                 {.step = 1e-2, .tolerance = 1e-3});
}

TEST_F(ArrayGradients, Joins) {
  Check({2, 3}, {2, 1}, [](const Output& x, const Output& y) { return Concat({x, y, x}, 1); });
  Check({2, 3}, {4, 3}, [](const Output& x, const Output& y) { return Concat({x, y}, -2); });
  Check({2, 3}, {2, 3}, [](const Output& x, const Output& y) { return Pack({x, y, x}, 1); });
  Check({2, 3}, [](const Output& x) { return Unpack(x, 3, -1)[1]; });
  Check({2, 6}, [](const Output& x) { return Split(1, x, 3)[2]; });
  Check({2, 6}, [](const Output& x) { return SplitV(x, {1, -1, 2}, 1, 3)[1]; });
  Check({5, 2}, [](const Output& x) {
    const auto parts = DynamicPartition(x, {1, 0, 1, 1, 0}, 2);
    return Concat({parts[1], parts[0] * 3.0}, 0);
  });
  Check({2, 3}, {3}, [this](const Output& x, const Output& y) {
    return DynamicStitch({Const(g_, {2, 0}), Const(g_, 1)}, {x, y});
  });
}

TEST_F(ArrayGradients, Slices) {
  Check({4, 5}, [](const Output& x) { return Slice(x, {1, 2}, {2, -1}); });
  Check({4, 5}, [](const Output& x) { return StridedSlice(x, {3, 0}, {0, 5}, {-2, 3}); });
  Check({4, 5}, [](const Output& x) {
    return StridedSlice(
        x, {0, 1, 0}, {0, 2, 0}, {1, 1, 1},
        {.begin_mask = 1, .end_mask = 1, .new_axis_mask = 4, .shrink_axis_mask = 2});
  });
  Check({2, 3}, [](const Output& x) { return StridedSliceGrad({4, 3}, {0}, {4}, {2}, x); });
  Check({4, 3}, {2, 1}, [](const Output& x, const Output& y) {
    return TensorStridedSliceUpdate(x, {1}, {3}, {1}, y);
  });
}

TEST_F(ArrayGradients, Gathers) {
  Check({4, 3}, [this](const Output& x) { return Gather(Doubled(x), {3, 1, 3}); });
  Check({4, 3}, [](const Output& x) { return Gather(x, {2, 0, 2}, 1); });
  Check({2, 3, 4}, [](const Output& x) { return Gather(x, Matrix({3, 0, 0, 1}, {2, 2}), -1); });
  Check({2, 3, 4}, [](const Output& x) { return Gather(x, Matrix({2, 0, 0, 1}, {2, 2}), 1, 1); });
  Check({2, 3, 4}, [](const Output& x) {
    return Gather(x, Matrix({1, 0, 1, 1, 0, 2}, {2, 3}), 2, 2);
  });
  Check({4, 3}, [this](const Output& x) {
    return GatherNd(Doubled(x), Matrix({3, 3, 1}, {3, 1}));
  });
  Check({4, 3}, [](const Output& x) { return GatherNd(x, Matrix({3, 2, 1, 0}, {2, 2})); });
}

TEST_F(ArrayGradients, GathersAlongAnAxisThatOnlyTheStepKnows) {
  const Output x = Value({2, 3}), axis = Placeholder(g_, kInt32, Shape{});
  const Output y = Gather(x, Matrix({1, 1, 2, 2}, {2, 2}), axis, 1);
  CheckGradients({Square(y)}, {x}, {RandomTensor(kDouble, {2, 3}, 3)},
                 {.feeds = {{axis, Tensor::Scalar<int32_t>(1)}}});
}

TEST_F(ArrayGradients, Scatters) {
  Check({3, 2}, [](const Output& x) { return ScatterNd(Matrix({3, 0, 3}, {3, 1}), x, {5, 2}); });
  Check({4, 2}, {2, 2}, [](const Output& x, const Output& y) {
    return TensorScatterUpdate(x, Matrix({3, 0}, {2, 1}), y);
  });
  Check({4, 2}, {2, 2}, [](const Output& x, const Output& y) {
    return TensorScatterAdd(x, Matrix({3, 3}, {2, 1}), y);
  });
  Check({4, 2}, {2, 2}, [](const Output& x, const Output& y) {
    return TensorScatterSub(x, Matrix({3, 3}, {2, 1}), y);
  });
  Check({3}, {}, [](const Output& x, const Output& y) {
    return SparseToDense(Matrix({0, 1, 1, 0, 1, 2}, {3, 2}), {2, 3}, x, y);
  });
  Check({2}, {}, [](const Output& x, const Output& y) { return SparseToDense({1, 3}, {5}, x, y); });
  Check({}, {}, [](const Output& x, const Output& y) { return SparseToDense({1, 3}, {5}, x, y); });
}

TEST_F(ArrayGradients, Choices) {
  const Tensor rows = Tensor::FromVector<bool>({true, false});
  const Tensor each = Tensor::FromVector<bool>({true, false, true, false, false, true}, {2, 3});
  Check({2, 3}, {2, 3}, [&](const Output& x, const Output& y) { return Select(rows, x, y); });
  Check({2, 3}, {2, 3}, [&](const Output& x, const Output& y) { return Select(each, x, y); });
  Check({3}, {2, 1}, [&](const Output& x, const Output& y) { return SelectV2(each, x, y); });
  Check({}, {2, 3}, [&](const Output& x, const Output& y) { return SelectV2(true, x, y); });
}

TEST_F(ArrayGradients, RepetitionsAndBorders) {
  Check({2, 3}, [](const Output& x) { return Tile(x, {2, 3}); });
  Check({2, 1, 2, 1, 2}, [](const Output& x) { return Tile(x, {1, 2, 1, 3, 2}); });
  Check({2, 1}, [](const Output& x) { return BroadcastTo(x, {3, 2, 4}); });
  const Tensor paddings = Matrix({1, 2, 0, 1}, {2, 2});
  Check({2, 3}, [&](const Output& x) { return Pad(x, paddings); });
  Check({2, 3}, [&](const Output& x) { return PadV2(x, paddings, 0.5); });
  for (const char* mode : {"REFLECT", "SYMMETRIC"}) {
    Check({4, 3}, [&](const Output& x) { return MirrorPad(x, paddings, mode); });
    Check({7, 4}, [&](const Output& x) { return MirrorPadGrad(x, paddings, mode); });
  }
}

TEST_F(ArrayGradients, Reorderings) {
  Check({2, 3}, [](const Output& x) { return Reverse(x, {1}); });
  Check({2, 3}, [](const Output& x) { return ReverseSequence(x, {2, 3}, 1); });
  Check({2, 3}, [](const Output& x) { return Roll(x, {1, -2}, {0, 1}); });
}

TEST_F(ArrayGradients, Matrices) {
  Check({2, 2}, [](const Output& x) { return Diag(x); });
  Check({2, 3, 2, 3}, [](const Output& x) { return DiagPart(x); });
  Check({2, 3}, [](const Output& x) { return MatrixDiag(x); });
  Check({2, 3, 4}, [](const Output& x) { return MatrixDiagPart(x); });
  Check({2, 3, 4}, {2, 3}, [](const Output& x, const Output& y) { return MatrixSetDiag(x, y); });
  Check({2, 3, 4}, [](const Output& x) { return MatrixBandPart(x, 1, 0); });
  for (const char* align : {"RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"}) {
    Check({3, 3}, [&](const Output& x) { return MatrixDiagV3(x, {-1, 1}, -1, -1, 0.5, align); });
    Check({3, 4}, [&](const Output& x) { return MatrixDiagPartV3(x, {-2, 1}, 0.5, align); });
    Check({3, 4}, {2, 3}, [&](const Output& x, const Output& y) {
      return MatrixSetDiagV3(x, y, {-1, 0}, align);
    });
  }
}

// The older form aligns to the left on both sides.
TEST_F(ArrayGradients, BandsOfTheOlderForm) {
  Check({3, 2}, [](const Output& x) -> Output {
    return OpBuilder("MatrixDiagV2").Arg(x).Arg({-1, 1}).Arg(2).Arg(3).Arg(0.5);
  });
  Check({3, 4}, [](const Output& x) -> Output {
    return OpBuilder("MatrixDiagPartV2").Arg(x).Arg({1, 3}).Arg(0.5);
  });
  Check({3, 4}, {2, 3}, [](const Output& x, const Output& y) -> Output {
    return OpBuilder("MatrixSetDiagV2").Arg(x).Arg(y).Arg({1, 2});
  });
}

TEST_F(ArrayGradients, Blocks) {
  const Tensor borders = Matrix({1, 0, 0, 1}, {2, 2});
  Check({1, 3, 3, 2}, [&](const Output& x) { return SpaceToBatch(x, borders, 2); });
  Check({4, 2, 2, 2}, [&](const Output& x) { return BatchToSpace(x, borders, 2); });
  Check({2, 3, 5}, [&](const Output& x) { return SpaceToBatchND(x, {2, 3}, borders); });
  Check({6, 2, 2}, [&](const Output& x) { return BatchToSpaceND(x, {2, 3}, borders); });
  Check({1, 4, 2, 3}, [](const Output& x) { return SpaceToDepth(x, 2); });
  Check({1, 2, 1, 8}, [](const Output& x) { return DepthToSpace(x, 2); });
}

TEST_F(ArrayGradients, RowsOfTheFirstDimensionAreSlices) {
  const Output x = Value({4, 3});
  EXPECT_TRUE(Gradients({Gather(x, {3, 1})}, {x})[0].is_slices());
  EXPECT_TRUE(Gradients({Identity(Gather(Identity(x), {3, 1}))}, {x})[0].is_slices());
  EXPECT_FALSE(Gradients({Gather(x, {2, 1}, 1)}, {x})[0].is_slices());
}

TEST_F(ArrayGradients, NothingFlowsWhereNothingShould) {
  const Output x = Value({4});
  EXPECT_TRUE(Gradients({StopGradient(x) * 2.0}, {x})[0].empty());
  EXPECT_TRUE(Gradients({Cast(Cast(x, kInt32), kDouble)}, {x})[0].empty());
  EXPECT_TRUE(Gradients({Cast(ShapeOf(x), kDouble)}, {x})[0].empty());
  EXPECT_TRUE(Gradients({ZerosLike(x)}, {x})[0].empty());
  try {
    Gradients({PreventGradient(x, "not here")}, {x});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("not here"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace carillon
