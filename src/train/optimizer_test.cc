#include "carillon/optimizer.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "carillon/session.h"

namespace carillon {
namespace {

using Values = std::vector<float>;

Values ToVector(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

void ExpectNear(const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 2e-6 * (1 + std::abs(expected[i]))) << "element " << i;
}

// Three steps with these gradients, a dense one and one of slices whose first and last row are of
// the same index. The expected results are what TensorFlow 2.21's v1 optimizers give on CPU.
constexpr int kSteps = 3;
const Values kDense[kSteps] = {{0.1f, -0.2f, 0.3f}, {0.4f, 0.5f, -0.6f}, {-0.7f, 0.8f, 0.9f}};
const Values kRows[kSteps] = {{0.1f, 0.2f, 0.3f, -0.4f, 0.5f, 0.6f},
                              {-0.1f, 0.3f, 0.2f, 0.1f, 0.4f, -0.8f},
                              {0.6f, -0.5f, -0.3f, 0.7f, 0.2f, 0.9f}};

struct Case {
  std::string name;
  std::function<Optimizer()> make;
  Values dense;   // of {1, 2, 3}
  Values sparse;  // of {{1, 2}, {3, 4}, {5, 6}}
  std::vector<std::string> state;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> Cases() {
  return {
      {"GradientDescent",
       [] { return GradientDescent(0.1); },
       {1.01999998f, 1.88999999f, 2.94000006f},
       {0.829999983f, 1.93000019f, 3.0f, 4.0f, 4.98000002f, 5.95999956f},
       {}},
      {"Momentum",
       [] { return Momentum(0.1, 0.9); },
       {0.966899991f, 1.87919998f, 2.94269991f},
       {0.700399995f, 1.83819997f, 3.0f, 4.0f, 4.91069984f, 6.01940012f},
       {"v/Momentum", "w/Momentum"}},
      {"Nesterov",
       [] { return Momentum(0.1, 0.9, /*nesterov=*/true); },
       {0.990209997f, 1.78128016f, 2.88843012f},
       {0.560359955f, 1.78438008f, 3.0f, 4.0f, 4.89962959f, 5.97746038f},
       {"v/Momentum", "w/Momentum"}},
      {"Adagrad",
       [] { return Adagrad(0.1); },
       {0.97316432f, 1.89456189f, 2.93490481f},
       {0.797746956f, 1.91995347f, 3.0f, 4.0f, 4.94250536f, 5.97890568f},
       {"v/Adagrad", "w/Adagrad"}},
      {"Adadelta",
       [] { return Adadelta(1.0, {.rho = 0.95f, .epsilon = 1e-6f}); },
       {0.99698776f, 1.99139416f, 2.99436951f},
       {0.98727119f, 1.99605894f, 3.0f, 4.0f, 4.99667549f, 5.99728346f},
       {"v/Adadelta", "v/Adadelta_1", "w/Adadelta", "w/Adadelta_1"}},
      {"RmsProp",
       [] { return RmsProp(0.1, {.decay = 0.9f, .momentum = 0.5f, .epsilon = 1e-3f}); },
       {0.994178951f, 1.86658072f, 2.94471312f},
       {0.755042136f, 1.8926599f, 3.0f, 4.0f, 4.94654179f, 5.97798491f},
       {"v/RMSProp", "v/RMSProp_1", "w/RMSProp", "w/RMSProp_1"}},
      {"CenteredRmsProp",
       [] {
         return RmsProp(0.1, {.decay = 0.9f, .momentum = 0.5f, .epsilon = 1e-3f, .centered = true});
       },
       {0.994115233f, 1.86589408f, 2.94453883f},
       {0.753323674f, 1.89210987f, 3.0f, 4.0f, 4.94647312f, 5.97793436f},
       {"v/RMSProp", "v/RMSProp_1", "v/RMSProp_2", "w/RMSProp", "w/RMSProp_1", "w/RMSProp_2"}},
      {"Adam",
       [] { return Adam(0.1); },
       {0.831931531f, 1.98369503f, 2.90228629f},
       {0.711540401f, 1.84533346f, 3.0f, 4.0f, 4.78620481f, 6.11029482f},
       {"beta1_power", "beta2_power", "v/Adam", "v/Adam_1", "w/Adam", "w/Adam_1"}},
      // Held against Keras, as the v1 optimizers have no AdamW.
      {"AdamW",
       [] { return AdamW(0.1, {.weight_decay = 0.05}); },
       {0.818447411f, 1.95306778f, 2.85832572f},
       {0.698079765f, 1.81656802f, 2.95522451f, 3.94029951f, 4.71306324f, 6.01951075f},
       {"beta1_power", "beta2_power", "v/AdamW", "v/AdamW_1", "w/AdamW", "w/AdamW_1"}},
      {"Ftrl",
       [] { return Ftrl(0.5, {.l1 = 0.01f, .l2 = 0.02f}); },
       {-0.0622338727f, -0.229756609f, 0.461978227f},
       {-0.462254345f, 0.839164317f, 3.0f, 4.0f, 1.02835071f, 2.07580471f},
       {"v/Ftrl", "v/Ftrl_1", "w/Ftrl", "w/Ftrl_1"}},
      {"FtrlWithShrinkage",
       [] { return Ftrl(0.5, {.l1 = 0.01f, .l2 = 0.02f, .l2_shrinkage = 0.1f}); },
       {-0.203100175f, -0.701855361f, -0.172350168f},
       {-0.57665211f, 0.490057677f, 3.0f, 4.0f, 0.00511811022f, 0.558642149f},
       {"v/Ftrl", "v/Ftrl_1", "w/Ftrl", "w/Ftrl_1"}},
  };
}

class OptimizerTest : public testing::TestWithParam<std::tuple<Case, bool>> {};

TEST_P(OptimizerTest, AgreesWithTensorFlow) {
  const auto& [c, resource] = GetParam();
  Graph g;
  const Variable v(g, "v", Tensor::FromVector<float>({1, 2, 3}), {.use_resource = resource});
  const Variable w(g, "w", Tensor::FromVector<float>({1, 2, 3, 4, 5, 6}, {3, 2}),
                   {.use_resource = resource});
  const Output dense = Placeholder(g, kFloat, {3}), rows = Placeholder(g, kFloat, {3, 2});
  const Output indices = Const(g, Tensor::FromVector<int32_t>({0, 2, 0}));
  const IndexedSlices slices{rows, indices, Const(g, Tensor::FromVector<int32_t>({3, 2}))};
  Optimizer optimizer = c.make();
  const Variable step = GlobalStep(g);
  const Operation train = optimizer.ApplyGradients({{dense, v}, {slices, w}}, step);

  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  for (int i = 0; i < kSteps; ++i) {
    session.Run(train, {{dense, Tensor::FromVector(kDense[i])},
                        {rows, Tensor::FromVector(kRows[i], {3, 2})}});
  }
  ExpectNear(ToVector(session.Run(v.read())), c.dense);
  ExpectNear(ToVector(session.Run(w.read())), c.sparse);
  EXPECT_EQ(session.Run(step.read()).scalar<int64_t>(), kSteps);

  std::vector<std::string> state;
  for (const Variable& kept : optimizer.state()) state.push_back(kept.name());
  EXPECT_EQ(state, c.state);
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerTest,
                         testing::Combine(testing::ValuesIn(Cases()), testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param).name +
                                  (std::get<1>(info.param) ? "OfResources" : "OfReferences");
                         });

// The smallest of the squares of (x - 3).
TEST(Optimizer, MinimizesALoss) {
  Graph g;
  const Variable x(g, "x", Tensor::Scalar(0.0f));
  const Output loss = Square(x.read() - 3.0f);
  const Operation train = GradientDescent(0.1).Minimize(loss);
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  for (int i = 0; i < 100; ++i) session.Run(train);
  EXPECT_NEAR(session.Run(x.read()).scalar<float>(), 3, 1e-4);
}

TEST(Optimizer, TrainsOnlyTheVariablesItIsGiven) {
  Graph g;
  const Variable a(g, "a", Tensor::Scalar(1.0f)), b(g, "b", Tensor::Scalar(1.0f));
  const Operation train =
      GradientDescent(0.5).Minimize(a.read() * b.read(), {}, {.variables = {b}});
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  session.Run(train);
  EXPECT_EQ(session.Run(a.read()).scalar<float>(), 1);
  EXPECT_EQ(session.Run(b.read()).scalar<float>(), 0.5f);
}

TEST(Optimizer, TakesItsLearningRateFromAnOutput) {
  Graph g;
  const Variable x(g, "x", Tensor::Scalar(1.0));  // a double: the rate is cast
  const Output rate = Placeholder(g, kFloat, {});
  const Operation train = GradientDescent(rate).Minimize(2.0 * x.read());
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  session.Run(train, {{rate, Tensor::Scalar(0.25f)}});
  EXPECT_EQ(session.Run(x.read()).scalar<double>(), 0.5);
}

TEST(Optimizer, NamesItsOpsLikeTensorFlow) {
  Graph g;
  const NameScope tower(g, "tower");
  const Variable w(g, "w", Tensor::FromVector<float>({1, 2}));
  const Output loss = Sum(Square(w.read()));
  EXPECT_EQ(Adam(0.1).Minimize(loss, GlobalStep(g)).name(), "tower/Adam");
  EXPECT_EQ(g.FindOperation("tower/Adam/update_tower/w/ResourceApplyAdam").type(),
            "ResourceApplyAdam");
  EXPECT_EQ(g.FindOperation("tower/w/Adam").type(), "VarHandleOp");
  EXPECT_EQ(g.FindOperation("tower/w/Adam_1").type(), "VarHandleOp");
  EXPECT_EQ(g.FindOperation("tower/beta1_power").type(), "VarHandleOp");
  EXPECT_EQ(Adam(0.1).Minimize(loss).name(), "tower/Adam_1");
  EXPECT_EQ(g.FindOperation("tower/w/Adam_3").type(), "VarHandleOp");
}

TEST(Optimizer, RunsUpdateOpsWithEachStep) {
  Graph g;
  const Variable x(g, "x", Tensor::Scalar(1.0f));
  const Variable count(g, "count", Tensor::Scalar(0.0f), {.trainable = false});
  g.AddToCollection("update_ops", count.AssignAdd(1.0f));
  const Output loss = Square(x.read());
  const Operation with = GradientDescent(0.1).Minimize(loss);
  const Operation without = GradientDescent(0.1).Minimize(loss, {}, {.update_ops = false});
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  session.Run(without);
  EXPECT_EQ(session.Run(count.read()).scalar<float>(), 0);
  session.Run(with);
  EXPECT_EQ(session.Run(count.read()).scalar<float>(), 1);
}

TEST(Optimizer, SaysWhenNothingCanBeTrained) {
  Graph g;
  const Variable x(g, "unused", Tensor::Scalar(1.0f));
  const Output loss = Const(g, Tensor::Scalar(1.0f));
  try {
    GradientDescent(0.1).Minimize(loss);
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("'unused'"), std::string::npos) << error.what();
  }
}

TEST(Optimizer, SlotsDoNotWaitForTheBatch) {
  Graph g;
  const Variable x(g, "x", Tensor::Scalar(1.0f));
  const Output batch = Placeholder(g, kFloat, {});
  Operation train;
  {
    const ControlDependencies after(g, {batch.op()});
    train = Adam(0.1).Minimize(Square(x.read()) * batch);
  }
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));  // would ask for the batch
  session.Run(train, {{batch, Tensor::Scalar(1.0f)}});
}

}  // namespace
}  // namespace carillon
