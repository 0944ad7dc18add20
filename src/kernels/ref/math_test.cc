// What the tables of tests/conformance cannot see: sizes that several threads share, memory that is
// reused, numbers at the ends of their range, and input that must not crash.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "carillon/error.h"
#include "kernels/kernel_tester.h"

namespace carillon {
namespace {

template <typename T>
Tensor Vector(const std::vector<T>& values) {
  return Tensor::FromVector(values);
}

Tensor Compute(const std::string& op, const std::vector<LaidOut>& inputs, AttrMap attrs = {}) {
  return KernelTester(op, std::move(attrs), inputs, {.reference = true}).RunPlain(inputs)[0];
}

template <typename T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  return {tensor.data<T>(), tensor.data<T>() + tensor.num_elements()};
}

Code CodeOf(const std::string& op, const std::vector<LaidOut>& inputs, AttrMap attrs = {}) {
  try {
    Compute(op, inputs, std::move(attrs));
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

AttrMap Type(DType dtype) { return {{"T", dtype}}; }

Tensor Ramp(const Shape& shape, float step = 1) {
  Tensor tensor(kFloat, shape);
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    tensor.mutable_data<float>()[i] = static_cast<float>(i % 1009) * step;
  return tensor;
}

TEST(MathKernels, LeastIntegerByMinusOneWrapsInsteadOfTrapping) {
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  const Tensor a = Vector<int32_t>({kLeast, kLeast, 7}), b = Vector<int32_t>({-1, 2, -1});
  EXPECT_EQ(ValuesOf<int32_t>(Compute("Div", {a, b}, Type(kInt32))),
            (std::vector<int32_t>{kLeast, kLeast / 2, -7}));
  EXPECT_EQ(ValuesOf<int32_t>(Compute("FloorDiv", {a, b}, Type(kInt32))),
            (std::vector<int32_t>{kLeast, kLeast / 2, -7}));
  EXPECT_EQ(ValuesOf<int32_t>(Compute("FloorMod", {a, b}, Type(kInt32))),
            (std::vector<int32_t>{0, 0, 0}));
}

TEST(MathKernels, ZeroDivisorIsFoundWhereverItStands) {
  Tensor ones = Tensor::Full<int64_t>(Shape{100'000}, 1);
  for (const int64_t at : {0, 50'000, 99'999}) {
    Tensor divisor = ones.Clone();
    divisor.mutable_data<int64_t>()[at] = 0;
    EXPECT_EQ(CodeOf("FloorDiv", {ones, divisor}, Type(kInt64)), Code::kInvalidArgument);
  }
  EXPECT_EQ(CodeOf("FloorDiv", {ones, ones}, Type(kInt64)), Code::kOk);
  EXPECT_EQ(CodeOf("TruncateMod", {ones, Tensor::Scalar<int64_t>(0)}, Type(kInt64)),
            Code::kInvalidArgument);
}

TEST(MathKernels, OutputMayOverwriteEitherOperand) {
  for (const int reused : {0, 1}) {
    const Tensor a = Ramp(Shape{40, 50}), b = Ramp(Shape{40, 50}, 0.5f);
    KernelTester tester("Sub", Type(kFloat), {a, b}, {.reference = true});
    std::vector<Tensor> inputs = {a.Clone(), b.Clone()};
    std::vector<Tensor> outputs = {inputs[static_cast<size_t>(reused)]};
    tester.RunOnce(&inputs, &outputs);
    for (int64_t i = 0; i < a.num_elements(); ++i)
      ASSERT_EQ(outputs[0].data<float>()[i], a.data<float>()[i] - b.data<float>()[i]);
  }
}

TEST(MathKernels, AddNMayOverwriteItsFirstTwoInputs) {
  const Tensor a = Ramp(Shape{5000}), b = Ramp(Shape{5000}, 2), c = Ramp(Shape{5000}, 3);
  for (const size_t reused : {0, 1}) {
    KernelTester tester("AddN", {{"T", kFloat}, {"N", 3}}, {a, b, c}, {.reference = true});
    std::vector<Tensor> inputs = {a.Clone(), b.Clone(), c.Clone()};
    std::vector<Tensor> outputs = {inputs[reused]};
    tester.RunOnce(&inputs, &outputs);
    for (int64_t i = 0; i < a.num_elements(); ++i)
      ASSERT_EQ(outputs[0].data<float>()[i], 6 * a.data<float>()[i]);
  }
}

TEST(MathKernels, LongSumsStayExact) {
  // Added one by one in float, a million times 0.1 would be off in the third digit.
  const Tensor tenths = Tensor::Full(Shape{1'000'000}, 0.1f);
  const Tensor axis = Vector<int32_t>({0});
  EXPECT_NEAR(Compute("Sum", {tenths, axis}, Type(kFloat)).scalar<float>(), 100'000.0, 0.1);
  const Tensor columns = Compute("Sum", {tenths.Reshaped({250'000, 4}), axis}, Type(kFloat));
  EXPECT_NEAR(columns.data<float>()[3], 25'000.0, 0.02);
  const Tensor halves = Tensor::Full(Shape{65'536}, Half(0.25f));
  EXPECT_EQ(float{Compute("Sum", {halves, axis}, Type(DType::kHalf)).scalar<Half>()}, 16'384.0f);
}

// Every way to reduce four dimensions, at a size for one thread and at one for several.
TEST(MathKernels, ReducesAnyDimensions) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{20, 7, 30, 40}}) {
    Tensor in(kInt64, shape);
    std::iota(in.mutable_data<int64_t>(), in.mutable_data<int64_t>() + in.num_elements(), 0);
    for (int mask = 0; mask < 16; ++mask) {
      std::vector<int32_t> axes;
      std::vector<int64_t> kept;
      for (int d = 0; d < 4; ++d) {
        if ((mask >> d & 1) != 0) {
          axes.push_back(d);
        } else {
          kept.push_back(shape.dim(d));
        }
      }
      std::vector<int64_t> expected(static_cast<size_t>(Shape(kept).num_elements()));
      for (int64_t i = 0; i < in.num_elements(); ++i) {
        int64_t rest = i, place = 0, stride = 1;
        for (int d = 3; d >= 0; --d) {
          const int64_t index = rest % shape.dim(d);
          rest /= shape.dim(d);
          if ((mask >> d & 1) != 0) continue;
          place += index * stride;
          stride *= shape.dim(d);
        }
        expected[static_cast<size_t>(place)] += i;
      }
      const Tensor sum = Compute("Sum", {in, Vector(axes)}, Type(kInt64));
      EXPECT_EQ(ValuesOf<int64_t>(sum), expected) << "axes " << mask << " of " << shape.ToString();
    }
  }
}

TEST(MathKernels, ExtremesOfLongRowsAndColumns) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Tensor in = Ramp(Shape{300, 301}, -1);
  in.mutable_data<float>()[5 * 301 + 299] = 7;
  in.mutable_data<float>()[5 * 301 + 300] = 7;  // the first one counts
  in.mutable_data<float>()[6 * 301] = kNan;     // never the largest
  in.mutable_data<float>()[6 * 301 + 33] = 3;
  const AttrMap attrs = {{"T", kFloat}};
  const Tensor by_row = Compute("ArgMax", {in, Tensor::Scalar<int32_t>(1)}, attrs);
  EXPECT_EQ(by_row.data<int64_t>()[5], 299);
  EXPECT_EQ(by_row.data<int64_t>()[6], 33);
  const Tensor by_column = Compute("ArgMax", {in, Tensor::Scalar<int32_t>(0)}, attrs);
  EXPECT_EQ(by_column.data<int64_t>()[299], 5);
  EXPECT_EQ(by_column.data<int64_t>()[33], 6);
  const Tensor nothing = Tensor::Full(Shape{1, 100}, kNan);
  EXPECT_EQ(Compute("ArgMax", {nothing, Tensor::Scalar<int32_t>(1)}, attrs).data<int64_t>()[0], 0);
  EXPECT_TRUE(
      std::isnan(Compute("Max", {in, Vector<int32_t>({1})}, Type(kFloat)).data<float>()[6]));
}

TEST(MathKernels, TopKOrdersNanFirstAndTiesByPlace) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor in = Vector<float>({1, 3, kNan, 3, -1});
  const std::vector<LaidOut> inputs = {in, Tensor::Scalar<int32_t>(4)};
  const auto results =
      KernelTester("TopKV2", Type(kFloat), inputs, {.reference = true}).RunPlain(inputs);
  EXPECT_EQ(ValuesOf<int32_t>(results[1]), (std::vector<int32_t>{2, 1, 3, 0}));
}

TEST(MathKernels, HostileIdsAndSizesAreErrors) {
  const Tensor data = Ramp(Shape{2, 3});
  const auto ids = [](int64_t a, int64_t b) { return Vector<int64_t>({a, b}); };
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const AttrMap segment = {{"T", kFloat}, {"Tindices", kInt64}};
  EXPECT_EQ(CodeOf("SegmentSum", {data, ids(0, kHuge)}, segment), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("SegmentSum", {data, ids(0, kHuge - 1)}, segment), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("SegmentSum", {data, ids(-1, 0)}, segment), Code::kInvalidArgument);
  const AttrMap unsorted = {{"T", kFloat}, {"Tindices", kInt64}, {"Tnumsegments", kInt64}};
  EXPECT_EQ(
      CodeOf("UnsortedSegmentSum", {data, ids(0, 1), Tensor::Scalar<int64_t>(kHuge)}, unsorted),
      Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("UnsortedSegmentSum", {data, ids(0, 2), Tensor::Scalar<int64_t>(2)}, unsorted),
            Code::kInvalidArgument);
  const AttrMap sparse = {{"T", kFloat}, {"Tidx", kInt64}, {"Tsegmentids", kInt64}};
  EXPECT_EQ(CodeOf("SparseSegmentSum", {data, ids(0, 2), ids(0, 1)}, sparse),
            Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("SparseSegmentSum", {data, ids(0, 1), ids(0, kHuge)}, sparse),
            Code::kInvalidArgument);
  // Rows without elements: any number of them costs nothing, and indices are checked all the same.
  for (const char* op : {"SparseSegmentSumGrad", "SparseSegmentMeanGrad"}) {
    constexpr int64_t kRows = int64_t{1} << 60;
    const Tensor rows(kFloat, Shape{kRows, 0});
    const Tensor size = Tensor::Scalar(std::numeric_limits<int32_t>::max());
    EXPECT_EQ(Compute(op, {rows, ids(0, 9), ids(0, kRows - 1), size}, sparse).shape(),
              Shape({std::numeric_limits<int32_t>::max(), 0}));
    EXPECT_EQ(CodeOf(op, {rows, ids(0, -1), ids(0, 1), size}, sparse), Code::kInvalidArgument);
    EXPECT_EQ(CodeOf(op, {rows, ids(0, 1), ids(0, kRows), size}, sparse), Code::kInvalidArgument);
  }
  // Of V2 only the rows that are picked take memory.
  for (const char* op : {"SparseSegmentSumGradV2", "SparseSegmentMeanGradV2"}) {
    const Tensor most = Tensor::Scalar(std::numeric_limits<int32_t>::max());
    EXPECT_EQ(Compute(op, {data, ids(1 << 30, 5), ids(1, 1), most}, sparse).shape(), Shape({2, 3}));
    const Tensor rows(kFloat, Shape{int64_t{1} << 60, 0});
    EXPECT_EQ(Compute(op, {rows, ids(9, 9), ids(0, 1 << 30), most}, sparse).shape(), Shape({1, 0}));
    EXPECT_EQ(CodeOf(op, {data, ids(0, -1), ids(0, 1), most}, sparse), Code::kInvalidArgument);
    EXPECT_EQ(CodeOf(op, {data, ids(0, 1), ids(0, 2), most}, sparse), Code::kInvalidArgument);
    EXPECT_EQ(CodeOf(op, {data, ids(0, 1), ids(0, 1), Tensor::Scalar(-1)}, sparse),
              Code::kInvalidArgument);
  }
  EXPECT_EQ(CodeOf("Bincount",
                   {Vector<int32_t>({1}), Tensor::Scalar<int32_t>(-1), Tensor(kFloat, Shape{0})},
                   Type(kFloat)),
            Code::kInvalidArgument);
  const AttrMap bins = {{"T", kFloat}, {"Tidx", kInt64}};
  const Tensor none(kFloat, Shape{0});
  const auto size = [](int64_t n) { return Tensor::Scalar<int64_t>(n); };
  EXPECT_EQ(CodeOf("DenseBincount", {ids(0, 1), size(-1), none}, bins), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("DenseBincount", {ids(0, 1), size(kHuge), none}, bins),
            Code::kResourceExhausted);
  const Tensor rows(kInt64, Shape{int64_t{1} << 60, 0});
  EXPECT_EQ(CodeOf("DenseBincount", {rows, size(kHuge), none}, bins), Code::kInvalidArgument);
  EXPECT_EQ(Compute("DenseBincount", {rows, size(0), none}, bins).shape(),
            Shape({int64_t{1} << 60, 0}));
  EXPECT_EQ(CodeOf("Sum", {data, Vector<int32_t>({5})}, Type(kFloat)), Code::kInvalidArgument);
}

TEST(MathKernels, ProductsOfEmptyMatricesAreZero) {
  const Tensor product = Compute(
      "MatMul", {Tensor(kDouble, Shape{2, 0}), Tensor(kDouble, Shape{0, 3})}, Type(kDouble));
  EXPECT_EQ(ValuesOf<double>(product), std::vector<double>(6, 0.0));
}

// Short rows, long ones and what is between are summed by loops of their own.
template <typename T>
void ExpectReductionsOfAllLengths(DType dtype) {
  for (int64_t n = 1; n <= 70; ++n) {
    Tensor x(dtype, Shape{3, n});
    T sums[3] = {}, squares[3] = {};
    for (int64_t i = 0; i < 3 * n; ++i) {
      const T value = static_cast<T>(i % 7 == 3 ? 2 : 1);
      x.mutable_data<T>()[i] = value;
      sums[i / n] += value;
      squares[i / n] += value * value;
    }
    const Tensor axis = Tensor::Scalar<int32_t>(1);
    const AttrMap attrs{{"T", dtype}, {"Tidx", kInt32}};
    const Tensor sum = Compute("Sum", {x, axis}, attrs), mean = Compute("Mean", {x, axis}, attrs);
    const Tensor norm = Compute("EuclideanNorm", {x, axis}, attrs);
    for (int64_t row = 0; row < 3; ++row) {
      EXPECT_EQ(sum.data<T>()[row], sums[row]) << n;
      EXPECT_NEAR(static_cast<double>(mean.data<T>()[row]),
                  static_cast<double>(sums[row] / static_cast<T>(n)), 1e-5)
          << n;
      EXPECT_NEAR(static_cast<double>(norm.data<T>()[row]),
                  static_cast<double>(static_cast<T>(std::sqrt(static_cast<double>(squares[row])))),
                  1e-5)
          << n;
    }
  }
}

TEST(MathKernels, ReductionsOfAllLengths) {
  ExpectReductionsOfAllLengths<int8_t>(DType::kInt8);
  ExpectReductionsOfAllLengths<int16_t>(DType::kInt16);
  ExpectReductionsOfAllLengths<uint16_t>(DType::kUint16);
  ExpectReductionsOfAllLengths<int32_t>(kInt32);
  ExpectReductionsOfAllLengths<uint32_t>(DType::kUint32);
  ExpectReductionsOfAllLengths<int64_t>(kInt64);
  ExpectReductionsOfAllLengths<uint64_t>(DType::kUint64);
  ExpectReductionsOfAllLengths<float>(kFloat);
  ExpectReductionsOfAllLengths<double>(kDouble);
}

TEST(MathKernels, ProductsOfAllLengths) {
  for (int64_t n = 1; n <= 70; ++n) {
    Tensor x = Tensor::Full<int64_t>(Shape{n}, 1);
    int64_t product = 1;
    for (int64_t i = n % 3; i < n; i += 3) product *= x.mutable_data<int64_t>()[i] = -3;
    EXPECT_EQ(Compute("Prod", {x, Tensor::Scalar<int32_t>(0)}, {{"T", kInt64}, {"Tidx", kInt32}})
                  .scalar<int64_t>(),
              product)
        << n;
  }
}

}  // namespace
}  // namespace carillon
