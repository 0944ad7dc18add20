#include "runtime/trace.h"

#include <future>
#include <gtest/gtest.h>
#include <string>

#include "carillon/ops/array.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/math.h"
#include "runtime/local_session.h"
#include "runtime/resource_store.h"

namespace carillon {
namespace {

// Each record names the inputs of its node.
TEST(StepTrace, EndsWhereItWouldTakeTooMuch) {
  constexpr size_t kInputs = 1000, kName = 1000;
  NodeGraph graph;
  Program program;
  program.slots.push_back({.name = std::string(kName, 'x')});
  Instruction instruction;
  instruction.node = *graph.Add({.name = "n", .op = "NoOp"});
  instruction.inputs.assign(kInputs, 0);
  StepTrace trace;
  for (int i = 0; i < 1000; ++i) trace.Add({.instruction = &instruction}, program);
  EXPECT_LE(trace.bytes, StepTrace::kMostBytes);
  EXPECT_GE(trace.bytes, static_cast<int64_t>(trace.kernels.size() * kInputs * kName));
  EXPECT_GT(trace.kernels.size(), 10u);
  EXPECT_LT(trace.kernels.size(), 1000u);
}

// What a step records is on the account of whoever asked for it.
TEST(StepTrace, CountsAgainstTheLimit) {
  const auto device = MakeCpuDevice("/job:test/replica:0/task:0", {.limit_bytes = 4 << 20});
  Graph g;
  const Output end = Placeholder(g, kInt32, Shape{});
  const Output result = WhileLoop(
      g, {Const(g, Tensor::Scalar<int32_t>(0))},
      [&](const LoopVariables& v) { return Less(v[0], end); },
      [](const LoopVariables& v) { return LoopVariables{Add(v[0], 1)}; })[0];
  MapResourceStore resources;
  LocalSession session(g.nodes(), device, &resources, {});
  const auto prepared = session.Prepare({{end.node(), 0}}, {{result.node(), result.index()}}, {});
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto run = [&](int32_t iterations, bool trace) {
    AsyncStep step;
    step.feeds = {Tensor::Scalar(iterations)};
    step.options.trace = trace;
    std::promise<Status> done;
    step.done = [&](Status status) { done.set_value(std::move(status)); };
    session.RunAsync(**prepared, &step);
    const Status status = done.get_future().get();
    EXPECT_EQ(step.metadata.nodes.empty(), !trace || !status.ok());
    return status.code();
  };
  EXPECT_EQ(run(10'000, false), absl::StatusCode::kOk);
  EXPECT_EQ(run(10, true), absl::StatusCode::kOk);
  EXPECT_EQ(run(10'000, true), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(run(10, true), absl::StatusCode::kOk) << "it is given back with the step";
}

}  // namespace
}  // namespace carillon
