// Optimizer updates in sessions. That the formulas are TensorFlow's is for the conformance suite.
#include "carillon/ops/training.h"

#include <functional>
#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/op_builder.h"
#include "carillon/ops/math.h"
#include "carillon/session.h"
#include "carillon/variable.h"

namespace carillon {
namespace {

using Floats = std::vector<float>;

Floats FloatsOf(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
}

std::pair<Code, std::string> ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {Code::kOk, ""};
}

class Updates : public testing::TestWithParam<bool> {
 protected:
  Variable Make(const char* name, const Tensor& initial) {
    return Variable(g_, name, initial, {.use_resource = GetParam()});
  }
  Graph g_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Updates, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

TEST_P(Updates, ChangeVariableAndSlots) {
  const Variable w = Make("w", Tensor::FromVector<float>({1, 2}));
  const Variable accum = Make("accum", Tensor::FromVector<float>({0, 10}));
  const Operation step =
      ApplyMomentum(w.handle(), accum.handle(), 0.5f, Tensor::FromVector<float>({4, 8}), 0.5f);
  const Operation init = GlobalVariablesInitializer(g_);
  Session session(g_);
  session.Run(init);
  session.Run(step);
  EXPECT_EQ(FloatsOf(session.Run(accum.read())), (Floats{4, 13}));
  EXPECT_EQ(FloatsOf(session.Run(w.read())), (Floats{-1, -4.5}));
}

// Somebody holds the old value: the update goes to new memory.
TEST_P(Updates, LeaveSnapshotsAlone) {
  const Variable w = Make("w", Tensor::Full<float>(Shape{50000}, 3));
  const Operation step = ApplyGradientDescent(w.handle(), 1.0f, Tensor::Full<float>({50000}, 1));
  const Output value = w.read();
  Session session(g_);
  session.Run(w.initializer());
  const Tensor before = session.Run(value);
  session.Run(step);
  const Tensor between = session.Run(value);
  session.Run(step);
  EXPECT_EQ(before.data<float>()[49999], 3);
  EXPECT_EQ(between.data<float>()[49999], 2);
  EXPECT_EQ(session.Run(value).data<float>()[49999], 1);
}

TEST_P(Updates, OfRowsHappenInOrder) {
  const Variable w = Make("w", Tensor::FromVector<float>({1, 2, 3, 4, 5, 6}, Shape{3, 2}));
  const Variable accum = Make("accum", Tensor::Full<float>(Shape{3, 2}, 0));
  const Operation step = SparseApplyAdagrad(
      w.handle(), accum.handle(), 1.0f, Tensor::FromVector<float>({3, 3, 1, 1, 4, 4}, Shape{3, 2}),
      Tensor::FromVector<int32_t>({2, 0, 2}));
  const Operation init = GlobalVariablesInitializer(g_);
  Session session(g_);
  session.Run(init);
  session.Run(step);
  EXPECT_EQ(FloatsOf(session.Run(accum.read())), (Floats{1, 1, 0, 0, 25, 25}));
  const Floats values = FloatsOf(session.Run(w.read()));
  EXPECT_FLOAT_EQ(values[0], 0);
  EXPECT_FLOAT_EQ(values[2], 3);
  EXPECT_FLOAT_EQ(values[4], 5 - 1 - 0.8f);
}

// Rows are shared out among the threads; the result does not depend on it.
TEST_P(Updates, OfManyRowsDoNotDependOnThreads) {
  const int64_t rows = 100, row = 64, count = 5000;
  std::vector<int32_t> indices;
  for (int64_t i = 0; i < count; ++i) indices.push_back(static_cast<int32_t>(i * i % rows));
  const Variable w = Make("w", Tensor::Full<float>(Shape{rows, row}, 1));
  const Variable accum = Make("accum", Tensor::Full<float>(Shape{rows, row}, 0.5f));
  const Operation step = SparseApplyMomentum(w.handle(), accum.handle(), 0.1f,
                                             Tensor::Full<float>(Shape{count, row}, 0.25f),
                                             Tensor::FromVector<int32_t>(indices), 0.9f);
  const Operation init = GlobalVariablesInitializer(g_);
  const Output value = w.read();
  std::vector<Floats> results;
  for (const int threads : {1, 3}) {
    Session session(g_, {.threads = threads});
    session.Run(init);
    session.Run(step);
    results.push_back(FloatsOf(session.Run(value)));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_P(Updates, SayWhatDoesNotFit) {
  const Variable w = Make("w", Tensor::Full<float>(Shape{3, 2}, 1));
  const Variable accum = Make("accum", Tensor::Full<float>(Shape{3, 2}, 1));
  const auto placeholder = [&](DType dtype) {
    return Output(OpBuilder(g_, "Placeholder").Attr("dtype", dtype));
  };
  const Output lr = placeholder(kFloat), grad = placeholder(kFloat), indices = placeholder(kInt32);
  const Operation dense = ApplyAdagrad(w.handle(), accum.handle(), lr, grad);
  const Operation sparse = SparseApplyAdagrad(w.handle(), accum.handle(), lr, grad, indices);
  const Tensor one = Tensor::Scalar(1.0f), fitting = Tensor::Full<float>(Shape{3, 2}, 1);
  Session session(g_);

  session.Run(w.initializer());
  auto [code, message] = ErrorOf([&] { session.Run(dense, {{lr, one}, {grad, fitting}}); });
  EXPECT_EQ(code, Code::kFailedPrecondition);
  EXPECT_NE(message.find("accum"), std::string::npos) << message;
  session.Run(accum.initializer());

  const auto refused = [&](const Operation& op, const Feeds& feeds, const char* what) {
    const auto [code, message] = ErrorOf([&] { session.Run(op, feeds); });
    EXPECT_EQ(code, Code::kInvalidArgument);
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  refused(dense, {{lr, Tensor::FromVector<float>({1, 2})}, {grad, fitting}}, "'lr'");
  refused(dense, {{lr, one}, {grad, Tensor::Full<float>(Shape{2, 3}, 1)}}, "[2,3]");
  const auto rows = [](std::vector<int32_t> indices) { return Tensor::FromVector(indices); };
  refused(sparse, {{lr, one}, {grad, fitting}, {indices, rows({0, 1, 9})}}, "indices[2] = 9");
  refused(sparse, {{lr, one}, {grad, fitting}, {indices, rows({0, 1})}}, "[3,2]");
  refused(sparse, {{lr, one}, {grad, fitting}, {indices, Tensor::Scalar<int32_t>(0)}}, "'indices'");

  // Nothing was changed by all this.
  EXPECT_EQ(FloatsOf(session.Run(w.read())), Floats(6, 1));
  EXPECT_EQ(FloatsOf(session.Run(accum.read())), Floats(6, 1));
}

// Each optimizer brings a bowl's ball to its bottom.
TEST(Optimizers, FindTheMinimum) {
  struct Optimizer {
    const char* name;
    int slots;
    float start;  // of the slots
    std::function<Operation(const Output& w, const std::vector<Output>& s, const Output& grad)>
        step;
  };
  const Optimizer optimizers[] = {
      {"GradientDescent", 0, 0,
       [](const auto& w, const auto&, const auto& g) { return ApplyGradientDescent(w, 0.1f, g); }},
      {"Nesterov", 1, 0,
       [](const auto& w, const auto& s, const auto& g) {
         return ApplyMomentum(w, s[0], 0.05f, g, 0.8f, true);
       }},
      {"Adagrad", 1, 0.1f,
       [](const auto& w, const auto& s, const auto& g) { return ApplyAdagrad(w, s[0], 0.8f, g); }},
      {"Adadelta", 2, 0,
       [](const auto& w, const auto& s, const auto& g) {
         return ApplyAdadelta(w, s[0], s[1], 5.0f, 0.9f, 1e-3f, g);
       }},
      {"RMSProp", 2, 0,
       [](const auto& w, const auto& s, const auto& g) {
         return ApplyRMSProp(w, s[0], s[1], 0.01f, 0.9f, 0.5f, 1e-6f, g);
       }},
      {"CenteredRMSProp", 3, 0,
       [](const auto& w, const auto& s, const auto& g) {
         return ApplyCenteredRMSProp(w, s[0], s[1], s[2], 0.005f, 0.9f, 0.5f, 1e-2f, g);
       }},
      {"Adam", 2, 0,
       [](const auto& w, const auto& s, const auto& g) {
         return ApplyAdam(w, s[0], s[1], 0.0f, 0.0f, 0.02f, 0.9f, 0.9f, 1e-8f, g);
       }},
      {"AdaMax", 2, 0,
       [](const auto& w, const auto& s, const auto& g) {
         return ApplyAdaMax(w, s[0], s[1], 0.0f, 0.02f, 0.9f, 0.9f, 1e-8f, g);
       }},
      {"Ftrl", 2, 0.1f,
       [](const auto& w, const auto& s, const auto& g) {
         return ApplyFtrl(w, s[0], s[1], g, 2.0f, 0.0f, 0.0f, -0.5f);
       }},
  };
  for (const Optimizer& optimizer : optimizers) {
    Graph g;
    const Variable w(g, "w", Tensor::FromVector<float>({3, -2}));
    std::vector<Output> slots;
    for (int i = 0; i < optimizer.slots; ++i) {
      const float start = optimizer.name == std::string("Ftrl") && i == 1 ? 0 : optimizer.start;
      slots.push_back(Variable(g, "slot", Tensor::Full<float>(Shape{2}, start)).handle());
    }
    const Output grad = Mul(Sub(w, Tensor::FromVector<float>({1, 1})), 2.0f);
    const Operation step = optimizer.step(w.handle(), slots, grad);
    const Operation init = GlobalVariablesInitializer(g);
    Session session(g);
    session.Run(init);
    for (int i = 0; i < 400; ++i) session.Run(step);
    const Floats end = FloatsOf(session.Run(w.read()));
    EXPECT_NEAR(end[0], 1, 0.05) << optimizer.name;
    EXPECT_NEAR(end[1], 1, 0.05) << optimizer.name;
  }
}

}  // namespace
}  // namespace carillon
