// What the oracle of tests/conformance does not reach: hostile sizes, sharing of memory.
#include <gtest/gtest.h>
#include <limits>

#include "base/strings.h"
#include "kernels/kernel.h"

namespace carillon {
namespace {

constexpr int32_t kBig = 2147483647;

// Runs one op on inputs of which nothing is known beforehand, so that the kernel itself meets them.
class ArrayKernels : public ::testing::Test {
 protected:
  StatusOr<std::vector<Tensor>> Run(const std::string& op, const AttrMap& attrs,
                                    std::vector<Tensor> inputs) {
    NodeGraph graph;
    NodeInit init{.name = "op", .op = op, .attrs = attrs};
    for (size_t i = 0; i < inputs.size(); ++i) {
      CARILLON_ASSIGN_OR_RETURN(Node * node, graph.Add({.name = StrCat("in", i),
                                                        .op = "Placeholder",
                                                        .attrs = {{"dtype", inputs[i].dtype()}}}));
      init.inputs.push_back({node, 0});
    }
    CARILLON_ASSIGN_OR_RETURN(Node * node, graph.Add(std::move(init)));
    std::vector<ValueInfo> ins, outs;
    for (const Tensor& input : inputs) ins.push_back({input.dtype()});
    for (int i = 0; i < node->num_outputs(); ++i) outs.push_back({node->output(i).dtype});
    const KernelOptions options;
    std::string_view chosen;
    CARILLON_ASSIGN_OR_RETURN(
        const std::unique_ptr<Kernel> kernel,
        CpuKernels().Make(KernelRequest{*node, ins, outs, options, nullptr}, &chosen));

    std::vector<Tensor> outputs(outs.size());
    std::vector<Tensor*> in_pointers, out_pointers;
    for (Tensor& input : inputs) in_pointers.push_back(&input);
    for (Tensor& output : outputs) out_pointers.push_back(&output);
    const std::vector<char> dies(inputs.size(), 1);
    const KernelContext::Frame frame{
        .node = node,
        .traits = &kernel->traits(),
        .inputs = in_pointers.data(),
        .outputs = out_pointers.data(),
        .input_dies = inputs_die_ ? reinterpret_cast<const bool*>(dies.data()) : nullptr,
        .num_inputs = static_cast<int>(inputs.size()),
        .num_outputs = static_cast<int>(outputs.size())};
    const StepServices services{.allocator = allocator_.get()};
    KernelContext context(services, frame);
    CARILLON_RETURN_IF_ERROR(kernel->Run(context));
    return outputs;
  }

  void ExpectRefused(const std::string& op, const AttrMap& attrs, std::vector<Tensor> inputs) {
    const Status status = Run(op, attrs, std::move(inputs)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status))
        << op << ": " << status;
  }

  static Tensor Ints(const std::vector<int32_t>& values) { return Tensor::FromVector(values); }
  static Tensor Ints(const std::vector<int32_t>& values, const Shape& shape) {
    return Tensor::FromVector(values, shape);
  }
  static Tensor Longs(const std::vector<int64_t>& values) { return Tensor::FromVector(values); }
  static Tensor Floats(const Shape& shape) { return Tensor::Full(shape, 1.0f); }
  static AttrMap Type(DType dtype, const char* name = "T") { return {{name, dtype}}; }

  // What asks for more than this asks for too much.
  const std::shared_ptr<Allocator> allocator_ = MakePoolAllocator({.limit_bytes = 256 << 20});
  bool inputs_die_ = false;
};

TEST_F(ArrayKernels, RefuseSizesThatOverflow) {
  const Tensor x = Floats({2, 3});
  const int64_t huge = int64_t{1} << 62;
  ExpectRefused("Reshape", Type(kFloat), {x, Ints({kBig, kBig, kBig})});
  ExpectRefused("Fill", Type(kFloat), {Ints({kBig, kBig, kBig}), Tensor::Scalar(1.0f)});
  ExpectRefused("Fill", Type(kFloat), {Ints({kBig, kBig}), Tensor::Scalar(1.0f)});
  ExpectRefused("Empty", Type(kFloat, "dtype"), {Ints({kBig, kBig, kBig})});
  ExpectRefused("Tile", Type(kFloat), {x, Ints({kBig, kBig})});
  ExpectRefused("BroadcastTo", Type(kFloat), {Floats({1}), Ints({kBig, kBig, kBig})});
  ExpectRefused("Pad", {{"T", kFloat}, {"Tpaddings", kInt64}},
                {Floats({2}),
                 Tensor::FromVector<int64_t>({huge, std::numeric_limits<int64_t>::max()}, {1, 2})});
  ExpectRefused(
      "OneHot", {{"T", kFloat}, {"TI", kInt32}},
      {Ints({0, 1, 2}, {3}), Tensor::Scalar(kBig), Tensor::Scalar(1.0f), Tensor::Scalar(0.0f)});
  ExpectRefused("ScatterNd", {{"T", kFloat}, {"Tindices", kInt32}},
                {Ints({0}, {1, 1}), Floats({1}), Ints({kBig, kBig, kBig})});
  ExpectRefused("SpaceToBatchND", {{"T", kFloat}},
                {Floats({2, 3}), Ints({kBig}), Ints({0, kBig - 3}, {1, 2})});
  ExpectRefused("SpaceToBatchND", {{"T", kFloat}},
                {Floats({1, 1, 1, 1}), Ints({kBig, kBig, kBig}),
                 Ints({0, kBig - 1, 0, kBig - 1, 0, kBig - 1}, {3, 2})});
  ExpectRefused("DynamicStitch", {{"T", DType::kDouble}, {"N", int64_t{1}}},
                {Ints({kBig}), Tensor::Full(Shape{1, 100000}, 1.0)});
  ExpectRefused("Range", Type(kInt64, "Tidx"),
                {Tensor::Scalar(std::numeric_limits<int64_t>::min()),
                 Tensor::Scalar(std::numeric_limits<int64_t>::max()), Tensor::Scalar<int64_t>(1)});
  ExpectRefused(
      "MatrixDiagV3", Type(kFloat),
      {Floats({2}), Ints({0}), Tensor::Scalar(kBig), Tensor::Scalar(2), Tensor::Scalar(0.0f)});
  ExpectRefused("SparseToDense", {{"T", kFloat}, {"Tindices", kInt64}},
                {Longs({0}), Longs({huge}), Floats({1}), Tensor::Scalar(0.0f)});
}

TEST_F(ArrayKernels, RefuseMoreDimensionsThanTensorsHave) {
  const Tensor eight = Floats({1, 1, 1, 1, 1, 1, 1, 2});
  ExpectRefused("ExpandDims", Type(kFloat), {eight, Tensor::Scalar<int32_t>(0)});
  ExpectRefused("Pack", {{"T", kFloat}, {"N", int64_t{1}}}, {eight});
  ExpectRefused("MatrixDiag", Type(kFloat), {eight});
  ExpectRefused("Diag", Type(kFloat), {eight});
  ExpectRefused("Reshape", Type(kFloat), {Floats({1}), Ints(std::vector<int32_t>(9, 1))});
  ExpectRefused("Reshape", Type(kFloat), {Floats({1}), Ints(std::vector<int32_t>(100000, 1))});
  ExpectRefused("GatherV2", {{"Tparams", kFloat}, {"Tindices", kInt32}, {"Taxis", kInt32}},
                {eight, Ints({0}, {1, 1}), Tensor::Scalar<int32_t>(0)});
  ExpectRefused("OneHot", {{"T", kFloat}, {"TI", kInt32}},
                {Ints({0}, {1, 1, 1, 1, 1, 1, 1, 1}), Tensor::Scalar<int32_t>(2),
                 Tensor::Scalar(1.0f), Tensor::Scalar(0.0f)});
}

TEST_F(ArrayKernels, RefuseIndicesAtTheEndsOfTheirRange) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t most = std::numeric_limits<int64_t>::max();
  const AttrMap slice = {{"T", kFloat}, {"Index", kInt64}};
  ExpectRefused("StridedSlice",
                {{"T", kFloat}, {"Index", kInt64}, {"shrink_axis_mask", int64_t{1}}},
                {Floats({3}), Longs({least}), Longs({0}), Longs({1})});
  ExpectRefused("Slice", slice, {Floats({3}), Longs({1}), Longs({most})});
  ExpectRefused("Slice", slice, {Floats({3}), Longs({least}), Longs({1})});
  ExpectRefused("GatherV2", {{"Tparams", kFloat}, {"Tindices", kInt64}, {"Taxis", kInt64}},
                {Floats({3}), Longs({0}), Tensor::Scalar(least)});
  ExpectRefused("Transpose", {{"T", kFloat}, {"Tperm", kInt64}}, {Floats({3}), Longs({most})});
  // Ranges are cut to what there is, however far they reach.
  const auto all =
      Run("StridedSlice", slice, {Floats({3}), Longs({least}), Longs({most}), Longs({1})});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ((*all)[0].dim(0), 3);
  const auto last =
      Run("StridedSlice", slice, {Floats({3}), Longs({most}), Longs({least}), Longs({least})});
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ((*last)[0].dim(0), 1);
  const auto rolled = Run("Roll", {{"T", kFloat}, {"Tshift", kInt64}, {"Taxis", kInt64}},
                          {Floats({3}), Longs({least, most}), Longs({0, 0})});
  EXPECT_TRUE(rolled.ok()) << rolled.status();
}

TEST_F(ArrayKernels, EmptyTensorsWithHugeDimensionsAreFine) {
  const Shape huge{0, int64_t{1} << 40, int64_t{1} << 40};
  const Tensor empty(kFloat, huge);
  const auto transposed = Run("Transpose", Type(kFloat), {empty, Ints({2, 0, 1})});
  ASSERT_TRUE(transposed.ok()) << transposed.status();
  EXPECT_EQ((*transposed)[0].dim(0), int64_t{1} << 40);
  EXPECT_TRUE(Run("ConcatV2", {{"T", kFloat}, {"N", int64_t{2}}},
                  {empty, empty, Tensor::Scalar<int32_t>(0)})
                  .ok());
  EXPECT_TRUE(
      Run("Split", {{"T", kFloat}, {"num_split", int64_t{2}}}, {Tensor::Scalar<int32_t>(1), empty})
          .ok());
  EXPECT_TRUE(Run("ReverseV2", Type(kFloat), {empty, Ints({1})}).ok());
  EXPECT_TRUE(Run("MatrixBandPart", Type(kFloat),
                  {empty, Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(1)})
                  .ok());
  EXPECT_TRUE(Run("UniqueV2", {{"T", kFloat}, {"Taxis", kInt32}}, {empty, Ints({0})}).ok());
}

TEST_F(ArrayKernels, ShapesThatDoNotFitInt32AreRefused) {
  const Tensor empty(kFloat, Shape{0, int64_t{1} << 40});
  EXPECT_TRUE(absl::IsInvalidArgument(Run("Shape", Type(kFloat), {empty}).status()));
  const auto wide = Run("Shape", {{"T", kFloat}, {"out_type", kInt64}}, {empty});
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_EQ((*wide)[0].data<int64_t>()[1], int64_t{1} << 40);
}

TEST_F(ArrayKernels, WriteOverInputsOnlyWhenNobodyElseHoldsThem) {
  const AttrMap attrs = {{"T", kFloat}, {"Tindices", kInt32}};
  for (const bool dies : {false, true}) {
    for (const bool shared : {false, true}) {
      inputs_die_ = dies;
      Tensor x = Floats({4});
      const void* memory = x.raw_data();
      const Tensor holder = shared ? x : Tensor();
      std::vector<Tensor> inputs = {std::move(x), Ints({1}, {1, 1}),
                                    Tensor::FromVector<float>({7})};
      const auto result = Run("TensorScatterUpdate", attrs, std::move(inputs));
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ((*result)[0].data<float>()[1], 7);
      EXPECT_EQ((*result)[0].raw_data() == memory, dies && !shared);
      if (shared) {
        EXPECT_EQ(holder.data<float>()[1], 1);
      }
    }
  }
}

TEST_F(ArrayKernels, IdentitiesAndReshapesShareMemory) {
  const Tensor x = Floats({2, 3});
  for (const char* op : {"Identity", "StopGradient", "PreventGradient", "Snapshot"}) {
    EXPECT_EQ((*Run(op, Type(kFloat), {x}))[0].raw_data(), x.raw_data()) << op;
  }
  EXPECT_EQ((*Run("Reshape", Type(kFloat), {x, Ints({6})}))[0].raw_data(), x.raw_data());
  EXPECT_EQ((*Run("Cast", {{"SrcT", kFloat}, {"DstT", kFloat}}, {x}))[0].raw_data(), x.raw_data());
  EXPECT_NE((*Run("DeepCopy", Type(kFloat), {x}))[0].raw_data(), x.raw_data());
  const AttrMap constant = {{"value", x}, {"dtype", kFloat}};
  EXPECT_EQ((*Run("Const", constant, {}))[0].raw_data(), x.raw_data());
}

TEST_F(ArrayKernels, PlaceholdersSayWhatIsMissing) {
  const Status status =
      Run("Placeholder", {{"dtype", kFloat}, {"shape", PartialShape{-1, 3}}}, {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  const std::string message(status.message());
  for (const char* word : {"'op'", "float", "[?,3]", "feed"}) {
    EXPECT_NE(message.find(word), std::string::npos) << message;
  }
}

TEST_F(ArrayKernels, CastsOfWhatDoesNotFitAreTheSameEverywhere) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // Enough elements for the vectorised loop and its rest alike.
  std::vector<float> values;
  for (int i = 0; i < 40; ++i) values.insert(values.end(), {nan, -1.5f, 3e9f});
  const auto as = [&](DType dtype) {
    return (*Run("Cast", {{"SrcT", kFloat}, {"DstT", dtype}}, {Tensor::FromVector(values)}))[0];
  };
  for (int i = 0; i < 120; i += 3) {
    EXPECT_EQ(as(kInt32).data<int32_t>()[i], std::numeric_limits<int32_t>::min());
    EXPECT_EQ(as(DType::kInt8).data<int8_t>()[i + 1], -1);
    EXPECT_EQ(as(kUint8).data<uint8_t>()[i + 1], 255);
    EXPECT_EQ(as(DType::kUint32).data<uint32_t>()[i + 1], 4294967295u);
    EXPECT_EQ(as(DType::kUint32).data<uint32_t>()[i + 2], 3000000000u);
    EXPECT_EQ(as(DType::kUint64).data<uint64_t>()[i + 2], 3000000000u);
  }
}

}  // namespace
}  // namespace carillon
