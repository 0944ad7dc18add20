#include "graph/backward_pass.h"

#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/op_builder.h"

namespace carillon {
namespace {

void IdentityGradient(GradContext& c) { c.set(0, c.grad()); }

void MulGradient(GradContext& c) {
  c.set(0, Output(OpBuilder("Mul").Arg(c.grad()).Arg(c.input(1))));
  c.set(1, Output(OpBuilder("Mul").Arg(c.grad()).Arg(c.input(0))));
}

void GatherGradient(GradContext& c) {
  const Output shape = OpBuilder("Shape").Arg(c.input(0));
  c.set(0, IndexedSlices{c.grad(), c.input(1), shape});
}

void SplitGradient(GradContext& c) {
  std::vector<Output> parts;
  for (int i = 0; i < c.num_outputs(); ++i) parts.push_back(c.grad(i));
  c.set(1, Output(OpBuilder("ConcatV2").Args(parts).Arg(c.input(0))));
}

// A table of our own, so that these tests hold whatever the families define.
const GradTable& TestTable() {
  static const GradTable table = [] {
    GradTable made;
    made.Add("Identity", IdentityGradient);
    made.Add("Mul", MulGradient);
    made.Add("GatherV2", GatherGradient);
    made.Add("Split", SplitGradient);
    made.AddNone({"Sign"});
    return made;
  }();
  return table;
}

class BackwardPassTest : public ::testing::Test {
 protected:
  Output Value(const char* name, const PartialShape& shape = {2, 3}) {
    return OpBuilder(g_, "Placeholder").Name(name).Attr("dtype", kFloat).Attr("shape", shape);
  }
  static Output Identity(const Output& x) { return OpBuilder("Identity").Arg(x); }
  static Output Mul(const Output& a, const Output& b) { return OpBuilder("Mul").Arg(a).Arg(b); }
  static Output Gather(const Output& x, const Input& indices) {
    return OpBuilder("GatherV2").Arg(x).Arg(indices).Arg(0);
  }
  std::vector<Gradient> Run(const std::vector<Output>& ys, const std::vector<Output>& xs,
                            const std::vector<Output>& stops = {}) {
    std::vector<Gradient> grads;
    for (const Output& y : ys) grads.push_back(FillLike(y, 1.0));
    return RunWith(grads, ys, xs, stops);
  }
  std::vector<Gradient> RunWith(const std::vector<Gradient>& grads, const std::vector<Output>& ys,
                                const std::vector<Output>& xs,
                                const std::vector<Output>& stops = {}) {
    LoopMap loops = *LoopMap::Make(g_.nodes());
    BackwardOptions options{.loops = &loops, .table = &TestTable()};
    for (const Output& stop : stops) options.stops.insert({stop.node()->id(), stop.index()});
    return BackwardPass(g_, 0, options).Run(ys, grads, xs);
  }
  Graph g_;
};

TEST_F(BackwardPassTest, UsesOfOneValueAddUp) {
  const Output x = Value("x");
  const Output y = Mul(Identity(x), x);
  const Gradient grad = Run({y}, {x})[0];
  ASSERT_FALSE(grad.empty());
  EXPECT_EQ(grad.tensor().op().type(), "AddN");
  EXPECT_EQ(grad.tensor().op().num_inputs(), 2);
}

TEST_F(BackwardPassTest, ValuesWithoutAPathHaveNone) {
  const Output x = Value("x"), other = Value("other");
  const std::vector<Gradient> grads = Run({Identity(x)}, {other, x});
  EXPECT_TRUE(grads[0].empty());
  EXPECT_FALSE(grads[1].empty());
}

TEST_F(BackwardPassTest, TheGradientOfAYThatIsAnXIsWhatItStartsWith) {
  const Output x = Value("x");
  const Gradient start = FillLike(x, 1.0);
  const Gradient grad = RunWith({start}, {x}, {x})[0];
  EXPECT_EQ(grad.tensor(), start.tensor());
}

TEST_F(BackwardPassTest, SeveralYsAddUpAndAnXMayLieBetween) {
  const Output x = Value("x");
  const Output middle = Identity(x);
  const Output y = Mul(middle, middle);
  const std::vector<Gradient> grads = Run({y, middle}, {x, middle});
  // Two from the product, one from middle being a y itself.
  EXPECT_EQ(grads[1].tensor().op().num_inputs(), 3);
  EXPECT_EQ(grads[0].tensor(), grads[1].tensor());
}

TEST_F(BackwardPassTest, NothingFlowsThroughStops) {
  const Output x = Value("x");
  const Output stop = Identity(x);
  const Output y = Mul(stop, Identity(x));
  const std::vector<Gradient> grads = Run({y}, {x, stop}, {stop});
  EXPECT_EQ(grads[0].tensor().op().type(), "Mul");
  EXPECT_EQ(grads[0].tensor().op().input(1), stop);
  EXPECT_FALSE(grads[1].empty());
}

TEST_F(BackwardPassTest, SlicesStaySlicesWhenAllAre) {
  const Output x = Value("x");
  const Output y = Mul(Gather(x, {0, 1}), Gather(x, {1, 1}));
  const Gradient grad = Run({y}, {x})[0];
  ASSERT_TRUE(grad.is_slices());
  EXPECT_EQ(grad.slices().values.op().type(), "ConcatV2");
  EXPECT_EQ(grad.slices().indices.op().type(), "ConcatV2");
}

TEST_F(BackwardPassTest, SlicesBecomeDenseBesideTensors) {
  const Output x = Value("x");
  const Output y = Mul(Gather(x, {0, 1}), x);
  const Gradient grad = Run({y}, {x})[0];
  ASSERT_FALSE(grad.is_slices());
  const Operation sum = grad.tensor().op();
  EXPECT_EQ(sum.type(), "AddN");
  const bool first = sum.input(0).op().type() == "UnsortedSegmentSum";
  const bool second = sum.input(1).op().type() == "UnsortedSegmentSum";
  EXPECT_NE(first, second);
}

TEST_F(BackwardPassTest, OutputsWithoutGradientGetZeros) {
  const Output x = Value("x", {2, 4});
  const Operation split =
      OpBuilder("Split").Arg(Tensor::Scalar<int32_t>(1)).Arg(x).Attr("num_split", 2).Build();
  const Gradient grad = Run({split.output(1)}, {x})[0];
  const Operation concat = grad.tensor().op();
  EXPECT_EQ(concat.input(0).op().type(), "Fill");
  EXPECT_EQ(concat.input(0).op().input(0).op().input(0), split.output(0));
}

TEST_F(BackwardPassTest, OpsWithoutGradientAreErrorsOnlyOnThePath) {
  const Output x = Value("x", {3}), z = Value("z", {3});
  const Output odd = OpBuilder("Unique").Name("odd").Arg(x);
  EXPECT_NO_THROW(Run({Mul(odd, z)}, {z}));
  try {
    Run({Mul(odd, z)}, {x});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented);
    EXPECT_NE(std::string(error.what()).find("Unique"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("'odd'"), std::string::npos) << error.what();
  }
}

TEST_F(BackwardPassTest, NoGradientFlowsThroughOpsThatHaveNone) {
  const Output x = Value("x");
  const Output sign = OpBuilder("Sign").Arg(x);
  EXPECT_TRUE(Run({sign}, {x})[0].empty());
}

TEST_F(BackwardPassTest, BackwardOpsAreColocatedAndNamedAfterTheirForwardOp) {
  const Output x = Value("x");
  Output y;
  {
    const NameScope scope(g_, "layer");
    const DeviceScope device(g_, "/job:ps/task:1");
    y = Mul(x, Identity(x));
  }
  const NameScope scope(g_, "gradients");
  const Gradient grad = Run({y}, {y.op().input(1)})[0];
  EXPECT_EQ(grad.tensor().op().name(), "gradients/layer/Mul_grad/Mul_1");
  EXPECT_EQ(grad.tensor().op().device(), y.op().device());
}

}  // namespace
}  // namespace carillon
