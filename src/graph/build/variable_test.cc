#include "carillon/variable.h"

#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/op_builder.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/random.h"
#include "carillon/ops/state.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

Output Ones(Graph& g, const Shape& shape, DType) {
  const Tensor value = Tensor::Full<float>(shape, 1);
  return OpBuilder(g, "Const").Name("ones").Attr("value", value).Attr("dtype", kFloat);
}

template <typename Body>
Code CodeOf(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST(Variable, HasNamesThatTensorFlowKnows) {
  Graph g;
  const NameScope scope(g, "layer");
  const Variable w(g, "w", Shape{2, 3}, Ones);
  EXPECT_EQ(w.name(), "layer/w");
  EXPECT_EQ(w.handle().op().type(), "VarHandleOp");
  EXPECT_EQ(w.handle().node()->attr<std::string>("shared_name"), "layer/w");
  EXPECT_EQ(w.initializer().name(), "layer/w/Assign");
  EXPECT_EQ(w.initial_value().op().name(), "layer/w/Initializer/ones");
  const Variable again(g, "w", 1.0f);
  EXPECT_EQ(again.name(), "layer/w_1");
  EXPECT_EQ(again.handle().node()->attr<std::string>("shared_name"), "layer/w_1");
  EXPECT_EQ(again.initializer().name(), "layer/w_1/Assign");
}

TEST(Variable, TakesDtypeAndShapeFromItsInitialValue) {
  Graph g;
  const Variable fraction(g, "a", 0.5);
  EXPECT_EQ(fraction.dtype(), kFloat);
  EXPECT_EQ(fraction.shape(), PartialShape(Shape{}));
  const Variable exact(g, "b", Tensor::FromVector<double>({1, 2}));
  EXPECT_EQ(exact.dtype(), kDouble);
  EXPECT_EQ(exact.shape(), PartialShape(Shape{2}));
  const Variable count(g, "c", 3, {.use_resource = false});
  EXPECT_EQ(count.dtype(), kInt32);
  EXPECT_EQ(count.handle().op().type(), "VariableV2");
  EXPECT_EQ(count.shape(), PartialShape(Shape{}));
  EXPECT_EQ(fraction.read().dtype(), kFloat);
  EXPECT_EQ(count.read().dtype(), kInt32);
}

TEST(Variable, IsFoundInCollections) {
  Graph g;
  const Variable w(g, "w", 1.0f);
  const Variable mean(g, "mean", 0.0f, {.trainable = false});
  const Variable here(g, "here", 0.0f, {.trainable = false, .local = true});
  EXPECT_EQ(GlobalVariables(g), (std::vector<Variable>{w, mean}));
  EXPECT_EQ(TrainableVariables(g), std::vector<Variable>{w});
  EXPECT_EQ(LocalVariables(g), std::vector<Variable>{here});
  const Operation init = GlobalVariablesInitializer(g);
  EXPECT_EQ(init.node()->control_inputs(),
            (std::vector<Node*>{w.initializer().node(), mean.initializer().node()}));
}

TEST(Variable, TheGlobalStepIsOne) {
  Graph g;
  const Variable step = GlobalStep(g);
  EXPECT_EQ(step.name(), "global_step");
  EXPECT_EQ(step.dtype(), kInt64);
  EXPECT_EQ(GlobalStep(g), step);
  EXPECT_TRUE(TrainableVariables(g).empty());
}

TEST(Variable, IsInitialisedWhateverDependenciesAreOpen) {
  Graph g;
  const Operation before = OpBuilder(g, "NoOp").Build();
  const ControlDependencies after(g, {before});
  const Variable w(g, "w", 1.0f);
  EXPECT_TRUE(w.handle().node()->control_inputs().empty());
  EXPECT_TRUE(w.initializer().node()->control_inputs().empty());
  EXPECT_EQ(w.read().node()->control_inputs(), std::vector<Node*>{before.node()});
}

TEST(Variable, IsMadeOutsideOfConditionals) {
  Graph g;
  const Output flag = OpBuilder(g, "Placeholder").Attr("dtype", kBool).Attr("shape", Shape{});
  const Output x = Ones(g, Shape{2}, kFloat);
  Cond(
      flag,
      [&] {
        const Variable w(g, "w", Shape{2}, Ones);
        EXPECT_TRUE(w.handle().node()->control_inputs().empty());
        EXPECT_EQ(w.initial_value().op().node()->num_inputs(), 0);
        const Output inside = OpBuilder("Neg").Arg(x);
        EXPECT_EQ(CodeOf([&] { Variable v(g, "v", inside); }), Code::kInvalidArgument);
        return BranchResult(w.read());
      },
      [&] { return BranchResult(x); });
  EXPECT_EQ(GlobalVariables(g).size(), 1u);
}

TEST(Variable, LivesWhereItsOpDoes) {
  Graph g;
  Variable* w = nullptr;
  {
    const DeviceScope on(g, "/job:ps/task:1");
    w = new Variable(g, "w", Shape{2}, Ones);
  }
  const std::unique_ptr<Variable> owner(w);
  EXPECT_EQ(w->handle().op().device(), "/job:ps/task:1");
  EXPECT_EQ(w->initializer().device(), "/job:ps/task:1");
  EXPECT_EQ(w->initial_value().op().device(), "/job:ps/task:1");
  EXPECT_EQ(w->read().op().device(), "/job:ps/task:1");
}

TEST(Variable, IsFoundAgainInAnImportedGraph) {
  Graph g;
  const Variable w(g, "w", Shape{2, 3}, Ones);
  Graph other;
  other.ImportBinary(g.ExportBinary(), "copy");
  const Variable found(other.FindOutput("copy/w:0"));
  EXPECT_EQ(found.dtype(), kFloat);
  EXPECT_EQ(found.shape(), PartialShape(Shape{2, 3}));
  EXPECT_EQ(found.initializer().name(), "copy/w/Assign");
}

TEST(Variable, RefusesWhatIsNone) {
  Graph g;
  const Output value = Ones(g, Shape{2}, kFloat);
  EXPECT_EQ(CodeOf([&] { Variable v(value); }), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { Variable v{Output()}; }), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { Variable v(g, "v", Input()); }), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { AssignAdd(value, 1.0f); }), Code::kInvalidArgument);
  const Variable w(g, "w", Shape{2}, Ones);
  EXPECT_EQ(CodeOf([&] {
              w.Assign(Tensor::FromVector<float>({1, 2, 3}));
            }),
            Code::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { w.Assign(Tensor::FromVector<int32_t>({1, 2})); }), Code::kInvalidArgument);
}

// Seeds are derived as TensorFlow derives them.
TEST(RandomSeeds, FollowGraphAndOp) {
  const auto seeds = [](const Output& op) {
    return std::pair(op.node()->attr<int64_t>("seed"), op.node()->attr<int64_t>("seed2"));
  };
  using Seeds = std::pair<int64_t, int64_t>;
  const Tensor shape = Tensor::FromVector<int32_t>({2});
  Graph g;
  const Output dims = OpBuilder(g, "Const").Attr("value", shape).Attr("dtype", kInt32);
  EXPECT_EQ(seeds(RandomUniform(g, dims)), Seeds(0, 0));
  EXPECT_EQ(seeds(RandomUniform(g, dims, kFloat, {.seed = 5})), Seeds(87654321, 5));
  g.SetSeed(7);
  EXPECT_EQ(seeds(RandomUniform(g, dims)), Seeds(7, 3));  // three ops were made before
  EXPECT_EQ(seeds(RandomUniform(g, dims, kFloat, {.seed = 5})), Seeds(7, 5));
  EXPECT_EQ(seeds(RandomUniform(g, dims, kFloat, {.seed = -1})), Seeds(7, 2147483646));
  g.SetSeed(0);
  EXPECT_EQ(seeds(RandomUniform(g, dims, kFloat, {.seed = 0})), Seeds(0, 2147483647));
}

}  // namespace
}  // namespace carillon
