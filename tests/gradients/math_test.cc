#include "carillon/ops/math.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "carillon/gradients.h"
#include "carillon/op_builder.h"
#include "gradient_checker.h"

namespace carillon {
namespace {

Output Value(Graph& g, const PartialShape& shape, DType dtype = kDouble) {
  return OpBuilder(g, "Placeholder").Attr("dtype", dtype).Attr("shape", shape);
}

// Checks with shapes known when the graph is built, and known only in the step: gradients differ.
void CheckBothWays(const std::function<Output(const std::vector<Output>&)>& function,
                   const std::vector<Tensor>& values) {
  for (const bool known : {true, false}) {
    Graph g;
    std::vector<Output> xs;
    for (const Tensor& value : values)
      xs.push_back(Value(g, known ? PartialShape(value.shape()) : PartialShape()));
    SCOPED_TRACE(known ? "shapes known" : "shapes not known");
    CheckGradients({function(xs)}, xs, values);
  }
}

Tensor Between(double low, double high, const Shape& shape, uint64_t seed = 1) {
  return RandomTensor(kDouble, shape, seed, low, high);
}

TEST(MathGradients, FunctionsOfOneOperand) {
  struct Case {
    const char* name;
    Output (*function)(const Input&);
    double low, high;
  };
  for (const Case& c : std::vector<Case>{
           {"Neg", Neg, -1, 1},           {"Abs", Abs, 0.1, 1},
           {"Square", Square, -1, 1},     {"Sqrt", Sqrt, 0.5, 2},
           {"Rsqrt", Rsqrt, 0.5, 2},      {"Reciprocal", Reciprocal, 0.5, 2},
           {"Inv", Inv, -2, -0.5},        {"Exp", Exp, -1, 1},
           {"Expm1", Expm1, -1, 1},       {"Log", Log, 0.5, 2},
           {"Log1p", Log1p, -0.5, 1},     {"Sigmoid", Sigmoid, -2, 2},
           {"Tanh", Tanh, -2, 2},         {"Sin", Sin, -2, 2},
           {"Cos", Cos, -2, 2},           {"Tan", Tan, -1, 1},
           {"Asin", Asin, -0.8, 0.8},     {"Acos", Acos, -0.8, 0.8},
           {"Atan", Atan, -2, 2},         {"Sinh", Sinh, -1, 1},
           {"Cosh", Cosh, -1, 1},         {"Asinh", Asinh, -1, 1},
           {"Acosh", Acosh, 1.5, 3},      {"Atanh", Atanh, -0.8, 0.8},
           {"Erf", Erf, -1, 1},           {"Erfc", Erfc, -1, 1},
           {"Erfinv", Erfinv, -0.8, 0.8}, {"Ndtri", Ndtri, 0.2, 0.8},
           {"Lgamma", Lgamma, 0.5, 3},    {"Sign", Sign, 0.1, 1},
       }) {
    SCOPED_TRACE(c.name);
    CheckBothWays([&](const auto& x) { return c.function(x[0]); },
                  {Between(c.low, c.high, Shape{2, 3})});
  }
}

TEST(MathGradients, FunctionsOfTwoOperandsThatBroadcast) {
  struct Case {
    const char* name;
    Output (*function)(const Input&, const Input&);
  };
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}}, {{}, {2, 2}}, {{1, 2, 1}, {3, 1, 2}}};
  for (const Case& c : std::vector<Case>{{"Add", Add},
                                         {"AddV2", AddV2},
                                         {"Sub", Sub},
                                         {"Mul", Mul},
                                         {"MulNoNan", MulNoNan},
                                         {"Div", Div},
                                         {"RealDiv", RealDiv},
                                         {"DivNoNan", DivNoNan},
                                         {"FloorMod", FloorMod},
                                         {"TruncateMod", TruncateMod},
                                         {"Pow", Pow},
                                         {"Maximum", Maximum},
                                         {"Minimum", Minimum},
                                         {"SquaredDifference", SquaredDifference},
                                         {"Atan2", Atan2},
                                         {"Xdivy", Xdivy},
                                         {"Xlogy", Xlogy},
                                         {"Xlog1py", Xlog1py}}) {
    for (const auto& [a, b] : shapes) {
      SCOPED_TRACE(std::string(c.name) + a.ToString() + b.ToString());
      // The first operand is between one and two times the second, so that remainders are smooth.
      CheckBothWays([&](const auto& x) { return c.function(x[0], x[1]); },
                    {Between(1.6, 1.9, a, 1), Between(1.0, 1.5, b, 2)});
    }
  }
}

TEST(MathGradients, SecondDerivatives) {
  for (Output (*function)(const Input&) : {Sqrt, Rsqrt, Tanh, Sigmoid, Reciprocal}) {
    Graph g;
    const Output x = Value(g, {4});
    const Output slope = Gradients({function(x)}, {x})[0].tensor();
    CheckGradients({slope}, {x}, {Between(0.5, 2, Shape{4})});
  }
}

TEST(MathGradients, Reductions) {
  struct Case {
    const char* name;
    Output (*function)(const Input&, const Input&, bool);
  };
  for (const Case& c : std::vector<Case>{{"Sum", Sum},
                                         {"Mean", Mean},
                                         {"Prod", Prod},
                                         {"Max", Max},
                                         {"Min", Min},
                                         {"EuclideanNorm", EuclideanNorm}}) {
    for (const std::vector<int32_t>& axes :
         std::vector<std::vector<int32_t>>{{0}, {-1}, {0, 2}, {1, 0}, {0, 1, 2}, {}}) {
      for (const bool keep_dims : {false, true}) {
        SCOPED_TRACE(std::string(c.name) + Tensor::FromVector(axes).ToString());
        CheckBothWays(
            [&](const auto& x) { return c.function(x[0], Tensor::FromVector(axes), keep_dims); },
            {Between(0.5, 2, Shape{2, 3, 2})});
      }
    }
    SCOPED_TRACE(c.name);
    CheckBothWays([&](const auto& x) { return c.function(x[0], Input(), false); },
                  {Between(0.5, 2, Shape{3, 2})});
  }
}

TEST(MathGradients, ProductsWithZeros) {
  const Tensor with_zeros = Tensor::FromVector<double>({1, 0, 2, 3, 0, 0}, Shape{2, 3});
  CheckBothWays([](const auto& x) { return Prod(x[0], {1}); }, {with_zeros});
  CheckBothWays([](const auto& x) { return SegmentProd(x[0], {0, 0}); }, {with_zeros});
  CheckBothWays([](const auto& x) { return UnsortedSegmentProd(x[0], {1, 1}, 3); }, {with_zeros});
}

TEST(MathGradients, ScansAndOrder) {
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      CheckBothWays([&](const auto& x) { return Cumsum(x[0], 1, exclusive, reverse); },
                    {Between(0.5, 2, Shape{2, 4})});
      CheckBothWays([&](const auto& x) { return Cumprod(x[0], -1, exclusive, reverse); },
                    {Between(0.5, 2, Shape{2, 4})});
    }
  }
  CheckBothWays([](const auto& x) { return TopKV2(x[0], 2).values; },
                {Tensor::FromVector<double>({3, 1, 2, 4, 6, 5, 0, 7}, Shape{2, 4})});
  CheckBothWays([](const auto& x) { return TopKV2(x[0], 2).values; },
                {Tensor::FromVector<double>({3, 1, 2})});
  CheckBothWays(
      [](const auto& x) { return ClipByValue(x[0], x[1], x[2]); },
      {Tensor::FromVector<double>({-3, -1, 1, 3}), Tensor::Scalar(-2.0), Tensor::Scalar(2.0)});
  CheckBothWays([](const auto& x) { return Cross(x[0], x[1]); },
                {Between(-1, 1, Shape{2, 3}, 1), Between(-1, 1, Shape{2, 3}, 2)});
}

TEST(MathGradients, Products) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Shape a = ta ? Shape{3, 2} : Shape{2, 3};
      const Shape b = tb ? Shape{4, 3} : Shape{3, 4};
      CheckBothWays([&](const auto& x) { return MatMul(x[0], x[1], ta, tb); },
                    {Between(-1, 1, a, 1), Between(-1, 1, b, 2)});
      const auto batched = [](int64_t n, const Shape& matrix) {
        return Shape{n, matrix.dim(0), matrix.dim(1)};
      };
      CheckBothWays([&](const auto& x) { return BatchMatMul(x[0], x[1], ta, tb); },
                    {Between(-1, 1, batched(2, a), 1), Between(-1, 1, batched(2, b), 2)});
      CheckBothWays([&](const auto& x) { return BatchMatMulV2(x[0], x[1], ta, tb); },
                    {Between(-1, 1, batched(2, a), 1), Between(-1, 1, b, 2)});
      CheckBothWays([&](const auto& x) { return BatchMatMulV3(x[0], x[1], kDouble, ta, tb); },
                    {Between(-1, 1, batched(1, a), 1), Between(-1, 1, batched(3, b), 2)});
    }
  }
}

TEST(MathGradients, Segments) {
  const Tensor data = Between(0.5, 2, Shape{4, 2});
  for (Output (*function)(const Input&, const Input&) :
       {SegmentSum, SegmentMean, SegmentMax, SegmentMin, SegmentProd}) {
    CheckBothWays([&](const auto& x) { return function(x[0], {0, 0, 2, 2}); }, {data});
  }
  // No segment is empty: the extremes of nothing are too large to be summed.
  for (Output (*function)(const Input&, const Input&, const Input&) :
       {UnsortedSegmentSum, UnsortedSegmentMax, UnsortedSegmentMin, UnsortedSegmentProd}) {
    CheckBothWays([&](const auto& x) { return function(x[0], {1, -1, 0, 1}, 2); }, {data});
  }
  for (Output (*function)(const Input&, const Input&, const Input&, const Input&) :
       {SparseSegmentSum, SparseSegmentMean, SparseSegmentSqrtN}) {
    CheckBothWays(
        [&](const auto& x) {
          return function(x[0], {3, 0, 3}, {0, 0, 1}, Input());
        },
        {data});
    CheckBothWays([&](const auto& x) { return function(x[0], {3, 0, 3}, {0, 0, 1}, 5); }, {data});
  }
}

TEST(MathGradients, SumsOfMany) {
  CheckBothWays(
      [](const auto& x) {
        return AddN({x[0], x[1], x[0]});
      },
      {Between(-1, 1, Shape{3}, 1), Between(-1, 1, Shape{3}, 2)});
}

TEST(MathGradients, NothingFlowsThroughComparisons) {
  Graph g;
  const Output x = Value(g, {3});
  EXPECT_TRUE(Gradients({Floor(x)}, {x})[0].empty());
}

}  // namespace
}  // namespace carillon
