// Variables in sessions: both kinds behave alike.
#include "carillon/variable.h"

#include <gtest/gtest.h>
#include <thread>

#include "carillon/error.h"
#include "carillon/gradients.h"
#include "carillon/op_builder.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/math.h"
#include "carillon/ops/queue.h"
#include "carillon/ops/state.h"
#include "carillon/session.h"

namespace carillon {
namespace {

using Floats = std::vector<float>;

Floats FloatsOf(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.num_elements()};
}

template <typename Body>
std::pair<Code, std::string> ErrorOf(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {Code::kOk, ""};
}

Output Placeholder(Graph& g, DType dtype, const PartialShape& shape) {
  return OpBuilder(g, "Placeholder").Attr("dtype", dtype).Attr("shape", shape);
}

class Variables : public testing::TestWithParam<bool> {
 protected:
  Variable Make(const char* name, const Input& initial) {
    return Variable(g_, name, initial, {.use_resource = GetParam()});
  }
  Graph g_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Variables, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Resource" : "Reference"; });

TEST_P(Variables, KeepTheirValueFromStepToStep) {
  const Variable v = Make("v", Tensor::FromVector<float>({1, 2}));
  const Operation add = v.AssignAdd(Tensor::FromVector<float>({10, 20}));
  const Operation subtract = v.AssignSub(Tensor::FromVector<float>({1, 1}));
  const Operation reset = v.Assign(Tensor::FromVector<float>({7, 8}));
  const Output value = v.read();
  Session session(g_);
  session.Run(v.initializer());
  EXPECT_EQ(FloatsOf(session.Run(value)), (Floats{1, 2}));
  session.Run(add);
  session.Run(add);
  session.Run(subtract);
  EXPECT_EQ(FloatsOf(session.Run(value)), (Floats{20, 41}));
  session.Run(reset);
  EXPECT_EQ(FloatsOf(session.Run(value)), (Floats{7, 8}));
}

TEST_P(Variables, SayWhichOneHasNoValue) {
  const Variable v = Make("layer/weights", 1.0f);
  const Output value = v.read(), initialized = v.IsInitialized();
  const Operation add = v.AssignAdd(1.0f);
  Session session(g_);
  EXPECT_FALSE(session.Run(initialized).scalar<bool>());
  for (const Operation& op : {Operation(value), add}) {
    const auto [code, message] = ErrorOf([&] { session.Run(op); });
    EXPECT_EQ(code, Code::kFailedPrecondition);
    EXPECT_NE(message.find("uninitialized"), std::string::npos) << message;
    EXPECT_NE(message.find("layer/weights"), std::string::npos) << message;
  }
  session.Run(v.initializer());
  EXPECT_TRUE(session.Run(initialized).scalar<bool>());
  session.Run(add);
  EXPECT_EQ(session.Run(value).scalar<float>(), 2);
}

// What was fetched, and what is read before an update in the same step, stays as it was.
TEST_P(Variables, AreReadAsSnapshots) {
  const Variable v = Make("v", Tensor::FromVector<float>({1, 2}));
  const Output before = v.read();
  Output after, later;
  {
    const ControlDependencies first(g_, {before});
    const Operation add = v.AssignAdd(Tensor::FromVector<float>({10, 10}));
    const ControlDependencies then(g_, {add});
    after = v.read();
    later = Mul(before, 2.0f);
  }
  Session session(g_);
  session.Run(v.initializer());
  const std::vector<Tensor> values = session.Run({before, after, later});
  session.Run({after});
  EXPECT_EQ(FloatsOf(values[0]), (Floats{1, 2}));
  EXPECT_EQ(FloatsOf(values[1]), (Floats{11, 12}));
  // Of a reference variable an Identity is not a snapshot for who runs after an update.
  EXPECT_EQ(FloatsOf(values[2]), GetParam() ? (Floats{2, 4}) : (Floats{22, 24}));
}

TEST_P(Variables, DoNotKeepTheMemoryOfAStep) {
  const Output x = Placeholder(g_, kFloat, {-1});
  const Variable v = Make("v", Tensor::FromVector<float>({0, 0}));
  const Operation set = v.Assign(Mul(x, 2.0f));
  const Output other = Mul(x, 3.0f);
  Session session(g_);
  session.Run(v.initializer());
  session.Run(set, {{x, Tensor::FromVector<float>({1, 2})}});
  for (int i = 0; i < 3; ++i) session.Run(other, {{x, Tensor::FromVector<float>({50, 60})}});
  EXPECT_EQ(FloatsOf(session.Run(v.read())), (Floats{2, 4}));
}

TEST_P(Variables, CountTheUpdatesOfStepsThatRunAtOnce) {
  const Variable v = Make("v", Tensor::Full<float>(Shape{100}, 0));
  const Operation add = v.AssignAdd(Tensor::Full<float>(Shape{100}, 1));
  const Output value = v.read();
  Session session(g_);
  session.Run(v.initializer());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < 100; ++step) {
        session.Run(add);
        const Tensor seen = session.Run(value);  // every element of a snapshot is of one moment
        for (const float element : seen.values<float>()) ASSERT_EQ(element, seen.data<float>()[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(session.Run(value).data<float>()[99], 400);
}

TEST_P(Variables, AreCounters) {
  const Variable v = Make("count", Tensor::Scalar<int64_t>(0));
  const Output next = CountUpTo(v.handle(), 2);
  Session session(g_);
  session.Run(v.initializer());
  EXPECT_EQ(session.Run(next).scalar<int64_t>(), 0);
  EXPECT_EQ(session.Run(next).scalar<int64_t>(), 1);
  EXPECT_EQ(ErrorOf([&] { session.Run(next); }).first, Code::kOutOfRange);
  EXPECT_EQ(session.Run(v.read()).scalar<int64_t>(), 2);
}

TEST_P(Variables, HoldBackAnOpThatWaits) {
  const Variable v = Make("epochs", Tensor::Scalar<int64_t>(0));
  const Output counter = CountUpTo(v.handle(), 2);
  const Output queue = FIFOQueue(g_, {kFloat}, {.shapes = {Shape{}}});
  // Through a constant, which could be there from the start, and through a node that does nothing.
  const Output one = OpBuilder(g_, "Const")
                         .Attr("value", Tensor::Scalar(1.0f))
                         .Attr("dtype", kFloat)
                         .After(counter.op());
  const Operation by_constant = QueueEnqueue(queue, {Neg(Neg(one))});
  const Operation group = OpBuilder(g_, "NoOp").After(counter.op()).Build();
  Operation by_group;
  {
    const ControlDependencies after(g_, {group});
    by_group = QueueEnqueue(queue, {Input(2.0f)});
  }
  const Output size = QueueSize(queue);
  Session session(g_);
  session.Run(v.initializer());
  session.Run(by_constant);
  session.Run(by_group);
  for (const Operation& enqueue : {by_constant, by_group})
    EXPECT_EQ(ErrorOf([&] { session.Run(enqueue); }).first, Code::kOutOfRange);
  EXPECT_EQ(session.Run(size).scalar<int32_t>(), 2);
}

TEST_P(Variables, ChangeNothingWhenAnIndexIsOutOfRange) {
  const Variable v = Make("v", Tensor::FromVector<float>({1, 2, 3}));
  const Output indices = Placeholder(g_, kInt32, {2});
  const Operation add = ScatterAdd(v.handle(), indices, 10.0f);
  Session session(g_);
  session.Run(v.initializer());
  const auto [code, message] = ErrorOf([&] {
    session.Run(add, {{indices, Tensor::FromVector<int32_t>({0, 7})}});
  });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("indices[1] = 7"), std::string::npos) << message;
  EXPECT_EQ(FloatsOf(session.Run(v.read())), (Floats{1, 2, 3}));
  session.Run(add, {{indices, Tensor::FromVector<int32_t>({2, 2})}});
  EXPECT_EQ(FloatsOf(session.Run(v.read())), (Floats{1, 2, 23}));
}

TEST_P(Variables, AreAsTheyWereAfterALongUpdateThatWasGivenUp) {
  constexpr int64_t kRow = 1 << 20;
  const Variable v = Make("v", Tensor::Full(Shape{2, kRow}, 0.0f));
  const Output indices = Placeholder(g_, kInt32, {-1});
  const Operation add = ScatterAdd(v.handle(), indices, 1.0f);
  Session session(g_);
  session.Run(v.initializer());
  session.Run(add, {{indices, Tensor::FromVector<int32_t>({1})}});
  const auto [code, message] = ErrorOf([&] {
    session.Run({}, {{indices, Tensor::Full(Shape{1'000'000}, int32_t{0})}}, {add},
                {.timeout = std::chrono::milliseconds(100)});
  });
  EXPECT_EQ(code, Code::kDeadlineExceeded) << message;
  const Tensor value = session.Run(v.read());
  EXPECT_EQ(value.data<float>()[0], 0);
  EXPECT_EQ(value.data<float>()[2 * kRow - 1], 1);
}

TEST_P(Variables, HaveGradients) {
  const Variable v = Make("v", Tensor::FromVector<float>({1, 2, 3}));
  const Output y = Mul(v, v);  // two reads
  const Gradient gradient = Gradients({y}, {v.handle()})[0];
  ASSERT_FALSE(gradient.empty());
  Session session(g_);
  session.Run(v.initializer());
  EXPECT_EQ(FloatsOf(session.Run(gradient.tensor())), (Floats{2, 4, 6}));
}

TEST(VariableOps, GatherHasTheGradientOfItsRows) {
  Graph g;
  const Variable table(g, "table", Tensor::FromVector<float>({1, 2, 3, 4, 5, 6}, Shape{3, 2}));
  const Output rows = table.Gather({2, 0, 2});
  const Output y = Mul(rows, rows);
  const Gradient gradient = Gradients({y}, {table.handle()})[0];
  ASSERT_TRUE(gradient.is_slices());
  const Output dense = gradient.Dense();
  Session session(g);
  session.Run(table.initializer());
  const std::vector<Tensor> values =
      session.Run({gradient.slices().values, gradient.slices().indices, dense});
  EXPECT_EQ(FloatsOf(values[0]), (Floats{10, 12, 2, 4, 10, 12}));
  EXPECT_EQ(values[1].data<int32_t>()[0], 2);
  EXPECT_EQ(FloatsOf(values[2]), (Floats{2, 4, 0, 0, 20, 24}));
}

TEST(VariableOps, GatherInBatchesHasAGradient) {
  Graph g;
  const Variable table(g, "table", Tensor::FromVector<float>({1, 2, 3, 4, 5, 6}, Shape{2, 3}));
  const Output rows =
      ResourceGather(table.handle(), Tensor::FromVector<int32_t>({0, 2, 1, 1}, Shape{2, 2}), 1);
  const Gradient gradient = Gradients({Mul(rows, rows)}, {table.handle()})[0];
  Session session(g);
  session.Run(table.initializer());
  EXPECT_EQ(FloatsOf(session.Run(rows)), (Floats{1, 3, 5, 5}));
  EXPECT_EQ(FloatsOf(session.Run(gradient.tensor())), (Floats{2, 0, 6, 0, 20, 0}));
}

TEST(VariableOps, AreInitialisedTogether) {
  Graph g;
  const Variable a(g, "a", 1.0f), b(g, "b", 2.0f, {.use_resource = false});
  const Variable step = GlobalStep(g);
  const Output sum = Add(a, b);
  const Operation init = GlobalVariablesInitializer(g);
  Session session(g);
  session.Run(init);
  EXPECT_EQ(session.Run(sum).scalar<float>(), 3);
  EXPECT_EQ(session.Run(step.read()).scalar<int64_t>(), 0);
}

TEST(VariableOps, AreNewAfterTheyWereDestroyed) {
  Graph g;
  const Variable v(g, "v", 1.0f);
  const Output value = v.read();
  const Operation destroy = DestroyResourceOp(v.handle(), false);
  Session session(g);
  session.Run(v.initializer());
  EXPECT_EQ(session.Run(value).scalar<float>(), 1);
  session.Run(destroy);
  EXPECT_EQ(ErrorOf([&] { session.Run(value); }).first, Code::kFailedPrecondition);
  session.Run(v.initializer());
  EXPECT_EQ(session.Run(value).scalar<float>(), 1);
}

TEST(VariableOps, OfOneNameShareOneValue) {
  Graph g;
  const Output a = VarHandleOp(g, kFloat, Shape{}, {.name = "a", .shared_name = "same"});
  const Output b = VarHandleOp(g, kFloat, Shape{}, {.name = "b", .shared_name = "same"});
  const Output elsewhere =
      VarHandleOp(g, kFloat, Shape{}, {.name = "c", .container = "other", .shared_name = "same"});
  const Output wrong = VarHandleOp(g, kInt32, Shape{}, {.name = "d", .shared_name = "same"});
  Session session(g);
  session.Run(Assign(a, 5.0f));
  EXPECT_EQ(session.Run(ReadVariableOp(b)).scalar<float>(), 5);
  EXPECT_FALSE(session.Run(IsVariableInitialized(elsewhere)).scalar<bool>());
  EXPECT_EQ(ErrorOf([&] { session.Run(ReadVariableOp(wrong)); }).first, Code::kInvalidArgument);
}

TEST(VariableOps, MayBeTemporary) {
  Graph g;
  const Output variable = TemporaryVariable(g, kFloat, Shape{2}, "sum");
  const Output start = Assign(variable, Tensor::FromVector<float>({1, 2})).output(0);
  const Output more = AssignAdd(start, Tensor::FromVector<float>({10, 20})).output(0);
  const Output sum = DestroyTemporaryVariable(more, "sum");
  Session session(g);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(FloatsOf(session.Run(sum)), (Floats{11, 22}));
}

// TensorFlow's Identity of a reference variable is the variable's memory, and its Python hands the
// control dependencies of an op to the op's constants.
TEST(ReferenceVariables, WhatRunsAfterAnUpdateSeesItThroughAnEarlierIdentity) {
  Graph g;
  const Variable v(g, "v", Tensor::Scalar(1.0f), {.use_resource = false});
  const Output read = OpBuilder("Identity").Arg(v.handle());
  const Operation update = OpBuilder("AssignAdd").Arg(v.handle()).Arg(1.0f).Build();
  const Output two =
      OpBuilder(g, "Const").Attr("value", Tensor::Scalar(2.0f)).Attr("dtype", kFloat).After(update);
  const Output through_constant = OpBuilder("Mul").Arg(read).Arg(two);
  const Output itself = OpBuilder("Neg").Arg(read).After(update);
  Session session(g);
  session.Run(GlobalVariablesInitializer(g));
  const std::vector<Tensor> values = session.Run({through_constant, itself});
  EXPECT_EQ(values[0].scalar<float>(), 4.0f);
  EXPECT_EQ(values[1].scalar<float>(), -2.0f);
}

}  // namespace
}  // namespace carillon
