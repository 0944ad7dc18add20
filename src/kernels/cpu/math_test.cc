// The fast kernels against the plain ones.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "carillon/error.h"
#include "kernels/cpu/dnnl_support.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/dataset.h"
#include "kernels/kernel_tester.h"

namespace carillon {
namespace {

Tensor Random(const Shape& shape, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Tensor tensor(kFloat, shape);
  for (float& x : tensor.mutable_values<float>()) x = uniform(generator);
  return tensor;
}

void ExpectClose(const Tensor& actual, const Tensor& expected, double tolerance) {
  ASSERT_TRUE(actual.shape() == expected.shape());
  for (int64_t i = 0; i < actual.num_elements(); ++i)
    ASSERT_NEAR(actual.data<float>()[i], expected.data<float>()[i], tolerance) << "element " << i;
}

// Units in the last place between a result and the exact value.
double UlpError(float result, double exact) {
  const float rounded = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(result) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(result)) return rounded == result ? 0 : 1e9;
  const float next = std::nextafter(std::abs(rounded), std::numeric_limits<float>::infinity());
  return std::abs(static_cast<double>(result) - exact) /
         (static_cast<double>(next) - static_cast<double>(std::abs(rounded)));
}

// Over the whole range of floats, every so many bit patterns.
template <typename Function, typename Exact>
void ExpectAccurate(Function function, Exact exact, double low, double high) {
  double worst = 0;
  float at = 0;
  for (uint64_t bits = 0; bits <= std::numeric_limits<uint32_t>::max(); bits += 10'007) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (static_cast<double>(x) < low || static_cast<double>(x) > high) continue;
    const double error = UlpError(function(x), exact(static_cast<double>(x)));
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  EXPECT_LE(worst, 3) << "at " << at;
}

TEST(SimdMath, IsAccurateEverywhere) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  ExpectAccurate(
      simd::Exp, [](double x) { return std::exp(x); }, -kInf, kInf);
  ExpectAccurate(
      simd::Expm1, [](double x) { return std::expm1(x); }, -kInf, kInf);
  ExpectAccurate(
      simd::Log, [](double x) { return std::log(x); }, -kInf, kInf);
  ExpectAccurate(
      simd::Log1p, [](double x) { return std::log1p(x); }, -kInf, kInf);
  ExpectAccurate(
      simd::Tanh, [](double x) { return std::tanh(x); }, -kInf, kInf);
  ExpectAccurate(
      simd::Erf, [](double x) { return std::erf(x); }, -kInf, kInf);
  // Further down the result is subnormal, and zero here.
  ExpectAccurate(
      simd::Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -87, kInf);
}

TEST(SimdMath, ConnectsToItsOps) {
  const Tensor x = Random(Shape{1000}, 1);
  for (const char* op : {"Exp", "Expm1", "Sigmoid", "Tanh", "Erf"}) {
    KernelTester fast(op, {{"T", kFloat}}, {x});
    EXPECT_EQ(fast.chosen(), "simd") << op;
    KernelTester plain(op, {{"T", kFloat}}, {x}, {.reference = true});
    ExpectClose(fast.RunPlain({x})[0], plain.RunPlain({x})[0], 1e-6);
  }
}

struct Product {
  Shape a, b;
  bool transpose_a, transpose_b;
};

TEST(MatMulCpu, AgreesWithThePlainOne) {
  std::vector<Product> products;
  // Small, with a vector, large enough for oneDNN; odd sizes throughout.
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                   {3, 5, 7},
                                                                   {2, 300, 3},
                                                                   {17, 9, 33},
                                                                   {1, 70, 90},
                                                                   {90, 70, 1},
                                                                   {1, 5000, 1},
                                                                   {65, 31, 70},
                                                                   {128, 100, 40}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true})
        products.push_back(
            {ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n}, ta, tb});
    }
  }
  for (const Product& p : products) {
    const Tensor a = Random(p.a, 1), b = Random(p.b, 2);
    const AttrMap attrs = {
        {"T", kFloat}, {"transpose_a", p.transpose_a}, {"transpose_b", p.transpose_b}};
    KernelTester fast("MatMul", attrs, {a, b});
    EXPECT_EQ(fast.chosen(), "onednn");
    KernelTester plain("MatMul", attrs, {a, b}, {.reference = true});
    SCOPED_TRACE(StrCat(p.a.ToString(), p.transpose_a, " ", p.b.ToString(), p.transpose_b));
    ExpectClose(fast.RunPlain({a, b})[0], plain.RunPlain({a, b})[0], 1e-3);
  }
}

TEST(MatMulCpu, MultipliesBatchesThatBroadcast) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{3, 40, 50}, {3, 50, 60}},       {{3, 40, 50}, {50, 60}},      {{2, 1, 40, 50}, {3, 50, 60}},
      {{2, 3, 40, 50}, {2, 1, 50, 60}}, {{5, 1, 2, 3}, {1, 4, 3, 2}}, {{6, 1, 90}, {90, 80}},
  };
  for (const auto& [a_shape, b_shape] : shapes) {
    const Tensor a = Random(a_shape, 1), b = Random(b_shape, 2);
    KernelTester fast("BatchMatMulV2", {{"T", kFloat}}, {a, b});
    KernelTester plain("BatchMatMulV2", {{"T", kFloat}}, {a, b}, {.reference = true});
    SCOPED_TRACE(a_shape.ToString() + b_shape.ToString());
    ExpectClose(fast.RunPlain({a, b})[0], plain.RunPlain({a, b})[0], 1e-3);
  }
}

// All rows of each matrix, or all columns, are like one another: `at(matrix, index)` says which
// value they have.
Tensor Striped(const Shape& shape, bool by_row, absl::FunctionRef<int64_t(int64_t, int64_t)> at) {
  Tensor tensor(kFloat, shape);
  const int64_t rows = shape.dim(shape.rank() - 2), columns = shape.dim(shape.rank() - 1);
  float* to = tensor.mutable_data<float>();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const int64_t row = i / columns % rows, column = i % columns;
    to[i] = static_cast<float>(at(i / columns / rows, by_row ? row : column));
  }
  return tensor;
}

// What is too much to be computed at once is computed in pieces, which end when nobody waits any
// more.
TEST(MatMulCpu, ComputesMuchInPieces) {
  const auto left = [](int64_t matrix, int64_t row) { return matrix % 3 + row % 5 + 1; };
  const auto right = [](int64_t matrix, int64_t column) { return matrix % 7 + column % 4 - 2; };
  struct Case {
    std::string op;
    Shape a, b;
    bool transpose_a = false;
  };
  const Case cases[] = {{"MatMul", Shape{1301, 20'000}, Shape{20'000, 1401}},
                        {"_FusedMatMul", Shape{20'000, 1301}, Shape{20'000, 1401}, true},
                        {"BatchMatMulV2", Shape{2, 1, 999, 4000}, Shape{93, 4000, 101}}};
  for (const auto& [op, a_shape, b_shape, transpose_a] : cases) {
    SCOPED_TRACE(op);
    const Tensor a = Striped(a_shape, !transpose_a, left), b = Striped(b_shape, false, right);
    AttrMap attrs = {{"T", kFloat}};
    if (transpose_a) attrs["transpose_a"] = true;
    std::vector<LaidOut> inputs = {a, b};
    if (op == "_FusedMatMul") {
      inputs.emplace_back(Tensor::Full<float>({1401}, 1.0f));
      attrs["relu"] = false;
      attrs["transpose_b"] = false;
    }
    KernelTester fast(op, attrs, inputs);
    EXPECT_EQ(fast.chosen(), "onednn");
    const Tensor out = fast.RunPlain(inputs)[0];
    const int64_t rows = out.dim(out.rank() - 2), columns = out.dim(out.rank() - 1);
    const int64_t depth = b_shape.dim(b_shape.rank() - 2), b_matrices = b_shape.rank() > 2 ? 93 : 1;
    int64_t wrong = 0;
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      const int64_t matrix = i / columns / rows;
      const int64_t expected = depth * left(matrix / b_matrices, i / columns % rows) *
                                   right(matrix % b_matrices, i % columns) +
                               (op == "_FusedMatMul" ? 1 : 0);
      wrong += out.data<float>()[i] != static_cast<float>(expected) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0);

    StopSignal over;
    over.Stop();
    const WorkScope scope(nullptr, &over);
    EXPECT_THROW(fast.RunPlain(inputs), Error);
  }
}

// A kernel that was made for one shape meets others, more than it remembers.
TEST(MatMulCpu, TakesShapesThatItWasNotMadeFor) {
  const Tensor a = Random(Shape{64, 32}, 1), b = Random(Shape{32, 48}, 2);
  KernelTester fast("MatMul", {{"T", kFloat}}, {a, b});
  for (int round = 0; round < 2; ++round) {
    for (int64_t m = 50; m < 62; ++m) {
      const Tensor other = Random(Shape{m, 32}, 3);
      KernelTester plain("MatMul", {{"T", kFloat}}, {other, b}, {.reference = true});
      ExpectClose(fast.RunPlain({other, b})[0], plain.RunPlain({other, b})[0], 1e-3);
    }
  }
}

TEST(Elementwise, WorksInTheLayoutOfItsOperands) {
  const Shape shape{2, 32, 5, 4};
  const dnnl::memory::desc blocked({2, 32, 5, 4}, dnnl::memory::data_type::f32,
                                   dnnl::memory::format_tag::nChw16c);
  const Layout layout = LayoutOf(blocked, kFloat, shape);
  ASSERT_NE(layout, nullptr);
  const Tensor a = Random(shape, 1), b = Random(shape, 2);
  const LaidOut blocked_a = KernelTester::Reordered(a, layout, {});
  for (const LaidOut& other : {LaidOut(b), LaidOut(Tensor::Scalar(0.5f))}) {
    KernelTester tester("SquaredDifference", {{"T", kFloat}}, {blocked_a, other});
    ASSERT_EQ(tester.kernel().traits().output_layouts.size(), 1u);
    EXPECT_TRUE(SameLayout(tester.kernel().traits().output_layouts[0], layout));
    KernelTester plain("SquaredDifference", {{"T", kFloat}}, {a, other}, {.reference = true});
    ExpectClose(tester.RunPlain({blocked_a, other})[0], plain.RunPlain({a, other})[0], 0);
  }
  // A row is repeated along other dimensions: that needs plain operands.
  const LaidOut row = Random(Shape{4}, 3);
  EXPECT_TRUE(KernelTester("Sub", {{"T", kFloat}}, {blocked_a, row})
                  .kernel()
                  .traits()
                  .output_layouts.empty());
}

}  // namespace
}  // namespace carillon
