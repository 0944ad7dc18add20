// Fast kernels against the plain ones, in every layout.
#include "kernels/cpu/nn.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "kernels/cpu/conv_choice.h"
#include "kernels/cpu/image_layout.h"
#include "kernels/kernel_tester.h"

namespace carillon {
namespace {

using Ints = std::vector<int64_t>;

Tensor Random(const Shape& shape, int seed, float low = -1, float high = 1) {
  std::mt19937 generator(static_cast<uint32_t>(seed));
  std::uniform_real_distribution<float> uniform(low, high);
  Tensor tensor(DType::kFloat, shape);
  for (float& value : tensor.mutable_values<float>()) value = uniform(generator);
  return tensor;
}

Tensor Sizes(const Shape& shape) {
  std::vector<int32_t> sizes;
  for (const int64_t size : shape.dims()) sizes.push_back(static_cast<int32_t>(size));
  return Tensor::FromVector(sizes);
}

void ExpectClose(const Tensor& got, const Tensor& wanted, float tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.shape().ToString(), wanted.shape().ToString()) << what;
  if (wanted.dtype() != DType::kFloat) return;
  float scale = 1;
  for (const float value : wanted.values<float>()) scale = std::max(scale, std::abs(value));
  for (int64_t i = 0; i < wanted.num_elements(); ++i) {
    ASSERT_NEAR(got.data<float>()[i], wanted.data<float>()[i], tolerance * scale)
        << what << ", element " << i;
  }
}

LaidOut Blocked(const Tensor& tensor, const std::string& data_format = "NHWC") {
  const ImageFormat format = ImageFormat::Parse(data_format).value();
  const Layout layout = BlockedImageLayout(tensor.shape(), format, 16);
  EXPECT_NE(layout, nullptr);
  return KernelTester::Reordered(tensor, layout, {});
}

const KernelOptions kReference{.reference = true};

// Runs the op on inputs that lie as given and compares with the plain kernel on row-major ones.
void Compare(const std::string& op, const AttrMap& attrs, const std::vector<LaidOut>& inputs,
             KernelOptions options, float tolerance = 2e-5f) {
  std::vector<LaidOut> plain;
  for (const LaidOut& input : inputs)
    plain.push_back(KernelTester::Reordered(input, nullptr, kReference));
  KernelTester fast(op, attrs, inputs, options);
  EXPECT_NE(fast.chosen(), "ref") << op;
  const std::vector<Tensor> got = fast.RunPlain(inputs);
  const std::vector<Tensor> wanted = KernelTester(op, attrs, plain, kReference).RunPlain(plain);
  for (size_t i = 0; i < wanted.size(); ++i)
    ExpectClose(got[i], wanted[i], tolerance, StrCat(op, ", output ", i));
}

struct ConvCase {
  const char* name;
  Shape input, filter;  // NHWC
  Ints strides;         // height, width
  const char* padding;
  Ints dilations = {1, 1};
  Ints pads;  // explicit: top, bottom, left, right
};

AttrMap ConvAttrs(const ConvCase& c, bool channels_last) {
  const auto four = [&](const Ints& two) {
    return channels_last ? Ints{1, two[0], two[1], 1} : Ints{1, 1, two[0], two[1]};
  };
  AttrMap attrs = {{"strides", four(c.strides)},
                   {"padding", c.padding},
                   {"dilations", four(c.dilations)},
                   {"data_format", channels_last ? "NHWC" : "NCHW"},
                   {"T", DType::kFloat}};
  if (!c.pads.empty()) {
    attrs["explicit_paddings"] = channels_last
                                     ? Ints{0, 0, c.pads[0], c.pads[1], c.pads[2], c.pads[3], 0, 0}
                                     : Ints{0, 0, 0, 0, c.pads[0], c.pads[1], c.pads[2], c.pads[3]};
  }
  return attrs;
}

Shape InFormat(const Shape& nhwc, bool channels_last) {
  return channels_last ? nhwc : Shape{nhwc.dim(0), nhwc.dim(3), nhwc.dim(1), nhwc.dim(2)};
}

const ConvCase kConvCases[] = {
    {"same", {2, 9, 8, 16}, {3, 3, 16, 32}, {1, 1}, "SAME"},
    {"square", {5, 8, 8, 64}, {3, 3, 64, 64}, {1, 1}, "SAME"},
    {"wide", {9, 6, 7, 128}, {3, 3, 128, 256}, {1, 1}, "SAME"},
    {"wide and many", {700, 1, 2, 128}, {3, 3, 128, 256}, {1, 1}, "SAME"},
    {"valid", {2, 9, 8, 32}, {3, 3, 32, 16}, {1, 1}, "VALID"},
    {"five", {3, 14, 14, 32}, {5, 5, 32, 64}, {1, 1}, "SAME"},
    {"one channel", {2, 12, 12, 1}, {5, 5, 1, 32}, {1, 1}, "SAME"},
    {"three channels", {2, 10, 10, 3}, {3, 3, 3, 16}, {1, 1}, "SAME"},
    {"strided", {2, 9, 9, 16}, {3, 3, 16, 32}, {2, 2}, "SAME"},
    {"leftover", {2, 10, 11, 16}, {3, 3, 16, 16}, {3, 2}, "VALID"},
    {"pointwise", {2, 8, 8, 32}, {1, 1, 32, 16}, {2, 2}, "SAME"},
    {"odd channels", {2, 7, 6, 5}, {3, 2, 5, 7}, {1, 1}, "SAME"},
    {"dilated", {2, 11, 12, 16}, {3, 3, 16, 16}, {1, 1}, "SAME", {2, 3}},
    {"explicit", {2, 8, 9, 16}, {3, 3, 16, 16}, {1, 2}, "EXPLICIT", {1, 1}, {2, 1, 0, 2}},
    {"grouped", {2, 8, 8, 32}, {3, 3, 16, 32}, {1, 1}, "SAME"},
};

// The op that a pass computes, and its inputs.
struct ConvOp {
  std::string op;
  AttrMap attrs;
  std::vector<LaidOut> inputs;
};

class ConvTest : public testing::TestWithParam<std::tuple<ConvCase, bool>> {
 protected:
  const ConvCase& conv() const { return std::get<0>(GetParam()); }
  bool channels_last() const { return std::get<1>(GetParam()); }
  AttrMap attrs() const { return ConvAttrs(conv(), channels_last()); }
  Tensor input() const { return Random(InFormat(conv().input, channels_last()), 1); }
  Tensor filter() const { return Random(conv().filter, 2); }
  Tensor bias() const { return Random({conv().filter.dim(3)}, 4); }
  // Of the output's shape.
  Tensor gradient() const {
    KernelTester forward("Conv2D", attrs(), {input(), filter()}, kReference);
    Shape shape;
    EXPECT_TRUE(forward.node().output(0).shape.AsShape(&shape));
    return Random(shape, 3);
  }
  ConvOp OpOf(ConvPass pass) const {
    ConvOp op{"_FusedConv2D", attrs(), {input(), filter(), bias()}};
    if (pass == ConvPass::kForward) {
      op.attrs["relu"] = true;
    } else if (pass == ConvPass::kBackwardInput) {
      op.op = "Conv2DBackpropInput";
      op.inputs = {Sizes(input().shape()), filter(), gradient()};
    } else {
      op.op = "_ConvBackpropFilterBias";
      op.inputs = {input(), Sizes(conv().filter), gradient()};
    }
    return op;
  }
};

constexpr ConvPass kPasses[] = {ConvPass::kForward, ConvPass::kBackwardInput,
                                ConvPass::kBackwardFilter};

// Every algorithm that accepts the problem, whichever would be chosen.
TEST_P(ConvTest, AlgorithmsAgreeWithThePlainKernels) {
  const WithKernelThreads with_threads(2);
  int accepted = 0;
  for (const ConvPass pass : kPasses) {
    const ConvOp op = OpOf(pass);
    KernelTester plain(op.op, op.attrs, op.inputs, kReference);
    const std::vector<Tensor> wanted = plain.RunPlain(op.inputs);
    ConvProblem problem;
    problem.pass = pass;
    problem.geometry = ValueOrThrow(MakeConvGeometry(ValueOrThrow(WindowAttrs::Read(plain.node())),
                                                     input().shape(), conv().filter));
    problem.has_bias = pass != ConvPass::kBackwardInput;
    problem.has_relu = pass == ConvPass::kForward;
    for (const ConvCandidate& candidate : ConvCandidates()) {
      const ConvAlgorithmResult made = candidate.make(problem);
      if (!made.ok()) continue;
      ++accepted;
      ConvAlgorithm& algorithm = **made;
      EXPECT_EQ(algorithm.name(), candidate.name);
      LaidOut x = KernelTester::Reordered(input(), algorithm.input_layout(), {});
      LaidOut y = KernelTester::Reordered(gradient(), algorithm.output_layout(), {});
      Tensor w = filter(), b = bias();
      Tensor scratch(DType::kUint8, Shape{static_cast<int64_t>(algorithm.scratch_bytes())});
      std::ranges::fill(scratch.mutable_values<uint8_t>(), uint8_t{0xff});  // NaN
      if (pass == ConvPass::kBackwardInput) x.tensor = x.tensor.Clone();
      ThrowIfError(algorithm.Run({x.tensor.mutable_raw_data(), w.mutable_raw_data(),
                                  problem.has_bias ? b.mutable_raw_data() : nullptr,
                                  y.tensor.mutable_raw_data(), scratch.mutable_raw_data()}));
      const float tolerance = candidate.exact ? 2e-5f : 2e-4f;
      const std::string what = StrCat(op.op, " by ", candidate.name);
      if (pass == ConvPass::kForward) {
        ExpectClose(KernelTester::Reordered(y, nullptr, {}).tensor, wanted[0], tolerance, what);
      } else if (pass == ConvPass::kBackwardInput) {
        ExpectClose(KernelTester::Reordered(x, nullptr, {}).tensor, wanted[0], tolerance, what);
      } else {
        ExpectClose(w, wanted[0], tolerance, what);
        ExpectClose(b, wanted[1], tolerance, what);
      }
    }
  }
  EXPECT_GE(accepted, 3);
}

TEST_P(ConvTest, KernelsAgreeWithThePlainOnes) {
  const KernelOptions options{.threads = 2, .exact = true, .measure = false};
  Compare("Conv2D", attrs(), {input(), filter()}, options);
  Compare("Conv2DBackpropFilter", attrs(), {input(), Sizes(conv().filter), gradient()}, options);
  for (const ConvPass pass : kPasses) {
    const ConvOp op = OpOf(pass);
    Compare(op.op, op.attrs, op.inputs, options);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ConvTest,
                         testing::Combine(testing::ValuesIn(kConvCases), testing::Bool()),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param).name;
                           std::ranges::replace(name, ' ', '_');
                           return StrCat(name, std::get<1>(info.param) ? "_nhwc" : "_nchw");
                         });

TEST(ConvLayouts, TakesBlockedInputs) {
  const AttrMap attrs = ConvAttrs(kConvCases[0], true);
  const LaidOut input = Blocked(Random({2, 9, 8, 16}, 1));
  const LaidOut gradient = Blocked(Random({2, 9, 8, 32}, 2));
  const Tensor filter = Random({3, 3, 16, 32}, 3);
  for (const bool measure : {false, true}) {
    const KernelOptions options{.threads = 2, .measure = measure};
    Compare("Conv2D", attrs, {input, filter}, options, 2e-4f);
    Compare("Conv2DBackpropInput", attrs, {Sizes({2, 9, 8, 16}), filter, gradient}, options, 2e-4f);
    Compare("Conv2DBackpropFilter", attrs, {input, Sizes({3, 3, 16, 32}), gradient}, options,
            2e-4f);
  }
}

TEST(ConvLayouts, DeclinesWhatItCannotKnow) {
  NodeGraph graph;
  Node* x = ValueOrThrow(
      graph.Add({.name = "x", .op = "Placeholder", .attrs = {{"dtype", DType::kFloat}}}));
  Node* w = ValueOrThrow(
      graph.Add({.name = "w", .op = "Placeholder", .attrs = {{"dtype", DType::kFloat}}}));
  Node* conv = ValueOrThrow(graph.Add({.name = "conv",
                                       .op = "Conv2D",
                                       .inputs = {{x, 0}, {w, 0}},
                                       .attrs = ConvAttrs(kConvCases[0], true)}));
  const ValueInfo unknown{.dtype = DType::kFloat};
  const std::vector<ValueInfo> inputs = {unknown, unknown}, outputs = {unknown};
  const KernelOptions options;
  std::string_view chosen;
  ASSERT_TRUE(
      CpuKernels().Make(KernelRequest{*conv, inputs, outputs, options, nullptr}, &chosen).ok());
  EXPECT_EQ(chosen, "ref");
}

TEST(Depthwise, MatchesThePlainKernels) {
  const KernelOptions options{.threads = 2};
  for (const int64_t multiplier : {1, 2}) {
    const ConvCase c{"depthwise", {2, 9, 8, 16}, {3, 3, 16, multiplier}, {2, 1}, "SAME"};
    const Tensor input = Random(c.input, 1), filter = Random(c.filter, 2);
    const Tensor gradient = Random({2, 5, 8, 16 * multiplier}, 3);
    Compare("DepthwiseConv2dNative", ConvAttrs(c, true), {input, filter}, options);
    Compare("DepthwiseConv2dNativeBackpropInput", ConvAttrs(c, true),
            {Sizes(c.input), filter, gradient}, options);
    Compare("DepthwiseConv2dNativeBackpropFilter", ConvAttrs(c, true),
            {input, Sizes(c.filter), gradient}, options);
  }
}

struct PoolCase {
  Shape input;
  Ints ksize, strides;
  const char* padding;
};

class PoolTest : public testing::TestWithParam<PoolCase> {
 protected:
  AttrMap attrs() const {
    return {{"ksize", Ints{1, GetParam().ksize[0], GetParam().ksize[1], 1}},
            {"strides", Ints{1, GetParam().strides[0], GetParam().strides[1], 1}},
            {"padding", GetParam().padding},
            {"T", DType::kFloat}};
  }
  // Coarse values, so that there are ties.
  Tensor input() const {
    Tensor tensor = Random(GetParam().input, 1);
    for (float& value : tensor.mutable_values<float>()) value = std::round(value * 4) / 4;
    return tensor;
  }
  Tensor output() const {
    const std::vector<LaidOut> inputs = {input()};
    return KernelTester("MaxPool", attrs(), inputs, kReference).RunPlain(inputs)[0];
  }
  const KernelOptions options_{.threads = 2};
};

TEST_P(PoolTest, MatchesThePlainKernels) {
  const Tensor gradient = Random(output().shape(), 2);
  for (const bool blocked : {false, true}) {
    const auto laid_out = [&](const Tensor& t) { return blocked ? Blocked(t) : LaidOut(t); };
    Compare("MaxPool", attrs(), {laid_out(input())}, options_);
    Compare("MaxPoolGrad", attrs(), {laid_out(input()), laid_out(output()), laid_out(gradient)},
            options_);
    Compare("_FusedReluPoolGrad", attrs(),
            {laid_out(input()), laid_out(output()), laid_out(gradient)}, options_);
    Compare("AvgPool", attrs(), {laid_out(input())}, options_);
    Compare("AvgPoolGrad", attrs(), {Sizes(input().shape()), laid_out(gradient)}, options_);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, PoolTest,
                         testing::Values(PoolCase{{3, 8, 8, 32}, {2, 2}, {2, 2}, "SAME"},
                                         PoolCase{{3, 8, 8, 16}, {4, 4}, {4, 4}, "VALID"},
                                         PoolCase{{2, 9, 7, 16}, {2, 2}, {2, 2}, "SAME"},
                                         PoolCase{{2, 9, 7, 16}, {2, 2}, {2, 2}, "VALID"},
                                         PoolCase{{2, 9, 7, 48}, {3, 3}, {2, 2}, "SAME"},
                                         PoolCase{{2, 9, 7, 16}, {3, 2}, {1, 1}, "VALID"},
                                         PoolCase{{2, 9, 7, 16}, {2, 2}, {3, 3}, "VALID"}));

TEST(MaxPool, PassesOverNan) {
  Tensor input = Random({1, 4, 4, 16}, 1);
  input.mutable_data<float>()[3] = std::nanf("");
  input.mutable_data<float>()[17] = -INFINITY;
  const AttrMap attrs = {{"ksize", Ints{1, 2, 2, 1}},
                         {"strides", Ints{1, 2, 2, 1}},
                         {"padding", "VALID"},
                         {"T", DType::kFloat}};
  Compare("MaxPool", attrs, {input}, {});
}

TEST(Elementwise, KeepsLayouts) {
  const Tensor a = Random({2, 5, 3, 32}, 1), b = Random({2, 5, 3, 32}, 2);
  const KernelOptions options{.threads = 2};
  const AttrMap attrs = {{"T", DType::kFloat}};
  Compare("Relu", attrs, {Blocked(a)}, options);
  Compare("Relu", attrs, {a}, options);
  Compare("ReluGrad", attrs, {Blocked(a), Blocked(b)}, options);
  Compare("ReluGrad", attrs, {a, Blocked(b)}, options);
  Compare("ReluGrad", attrs, {Random({7}, 1), Random({7}, 2)}, options);
  Compare("AddV2", attrs, {Blocked(a), Blocked(b)}, options);
  Compare("Mul", attrs, {Blocked(a), b}, options);
  Compare("Sub", attrs, {a, Blocked(b)}, options);
  Compare("Identity", attrs, {Blocked(a)}, options);
  AttrMap three = attrs;
  three["N"] = int64_t{3};
  Compare("AddN", three, {Blocked(a), b, Blocked(a)}, options);
  const LaidOut result = KernelTester("Relu", attrs, {Blocked(a)}, options).Run({Blocked(a)})[0];
  EXPECT_TRUE(SameLayout(result.layout, Blocked(a).layout));
}

TEST(Bias, MatchesThePlainKernels) {
  const KernelOptions options{.threads = 2};
  const Tensor image = Random({3, 5, 7, 32}, 1), bias = Random({32}, 2);
  const AttrMap attrs = {{"T", DType::kFloat}};
  Compare("BiasAdd", attrs, {Blocked(image), bias}, options);
  Compare("BiasAdd", attrs, {image, bias}, options);
  Compare("BiasAdd", attrs, {Random({10, 12}, 1), Random({12}, 2)}, options);
  Compare("BiasAddGrad", attrs, {Blocked(image)}, options);
  Compare("BiasAddGrad", attrs, {image}, options);
  Compare("BiasAddGrad", attrs, {Blocked(Random({40, 16, 16, 16}, 1))}, options, 1e-4f);
  Compare("BiasAddGrad", attrs, {Random({999, 100}, 1)}, options, 1e-4f);
}

class BatchNormTest : public testing::TestWithParam<std::tuple<Shape, bool>> {
 protected:
  Shape shape() const { return std::get<0>(GetParam()); }
  bool training() const { return std::get<1>(GetParam()); }
  Tensor vector(int seed, float low, float high) const {
    return Random({shape().dim(3)}, seed, low, high);
  }
  AttrMap attrs() const { return {{"is_training", training()}, {"T", DType::kFloat}}; }
  const KernelOptions options_{.threads = 2};
};

TEST_P(BatchNormTest, MatchesThePlainKernels) {
  const Tensor x = Random(shape(), 1, 3, 5), y = Random(shape(), 2), grad = Random(shape(), 3);
  const Tensor scale = vector(4, 0.5f, 2), offset = vector(5, -1, 1);
  const Tensor mean = vector(6, 3, 5), variance = vector(7, 0.5f, 2);
  AttrMap alone = attrs(), relu = attrs(), residual = attrs();
  relu["N"] = int64_t{0};
  residual["N"] = int64_t{1};
  for (AttrMap* a : {&alone, &relu, &residual}) (*a)["U"] = DType::kFloat;
  for (const bool blocked : {false, true}) {
    const auto laid_out = [&](const Tensor& t) { return blocked ? Blocked(t) : LaidOut(t); };
    AttrMap forward = alone;
    Compare("FusedBatchNormV3", alone, {laid_out(x), scale, offset, mean, variance}, options_,
            1e-4f);
    forward["exponential_avg_factor"] = 0.25f;
    Compare("FusedBatchNormV3", forward, {laid_out(x), scale, offset, mean, variance}, options_,
            1e-4f);
    Compare("_FusedBatchNormRelu", relu, {laid_out(x), scale, offset, mean, variance}, options_,
            1e-4f);
    Compare("_FusedBatchNormRelu", residual,
            {laid_out(x), scale, offset, mean, variance, laid_out(y)}, options_, 1e-4f);
    Compare("FusedBatchNormGradV3", alone,
            {laid_out(grad), laid_out(x), scale, mean, variance, Tensor(DType::kFloat, Shape{0})},
            options_, 1e-4f);
    Compare("_FusedBatchNormReluGrad", relu,
            {laid_out(grad), laid_out(x), scale, offset, mean, variance}, options_, 1e-4f);
    Compare("_FusedBatchNormReluGrad", residual,
            {laid_out(grad), laid_out(x), scale, offset, mean, variance, laid_out(y)}, options_,
            1e-4f);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, BatchNormTest,
                         testing::Combine(testing::Values(Shape{2, 5, 3, 16}, Shape{9, 9, 9, 64},
                                                          Shape{3, 4, 4, 32}),
                                          testing::Bool()));

TEST(BatchNorm, TakesAnyNumberOfChannels) {
  const Tensor x = Random({4, 3, 3, 21}, 1), v = Random({21}, 2, 1, 2);
  const AttrMap attrs = {{"T", DType::kFloat}, {"U", DType::kFloat}};
  Compare("FusedBatchNormV3", attrs, {x, v, v, v, v}, {}, 1e-4f);
}

TEST(Softmax, MatchesThePlainKernels) {
  const KernelOptions options{.threads = 2};
  const AttrMap attrs = {{"T", DType::kFloat}};
  const Tensor logits = Random({100, 10}, 1, -20, 20), labels = Random({100, 10}, 2, 0, 0.2f);
  Compare("Softmax", attrs, {logits}, options);
  Compare("Softmax", attrs, {Random({3, 4, 5}, 1, -5, 5)}, options);
  Compare("SoftmaxCrossEntropyWithLogits", attrs, {logits, labels}, options);
}

TEST(FusedMatMul, MatchesThePlainKernel) {
  for (const bool relu : {false, true}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const AttrMap attrs = {{"T", DType::kFloat},
                               {"transpose_a", transpose_a},
                               {"transpose_b", transpose_b},
                               {"relu", relu}};
        Compare("_FusedMatMul", attrs,
                {Random(transpose_a ? Shape{30, 20} : Shape{20, 30}, 1),
                 Random(transpose_b ? Shape{17, 30} : Shape{30, 17}, 2), Random({17}, 3)},
                {.threads = 2});
      }
    }
  }
}

}  // namespace
}  // namespace carillon
