// Control flow and waiting kernels, through sessions.
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "carillon/error.h"
#include "carillon/op_builder.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/queue.h"
#include "carillon/session.h"

namespace carillon {
namespace {

Output Constant(Graph& g, const Tensor& value) {
  return OpBuilder(g, "Const").Attr("value", value).Attr("dtype", value.dtype());
}
Output Placeholder(Graph& g, DType dtype, const PartialShape& shape, const char* name) {
  return OpBuilder(g, "Placeholder").Name(name).Attr("dtype", dtype).Attr("shape", shape);
}
Output Add(const Input& a, const Input& b) { return OpBuilder("AddV2").Arg(a).Arg(b); }
Output Mul(const Input& a, const Input& b) { return OpBuilder("Mul").Arg(a).Arg(b); }
Output Less(const Input& a, const Input& b) { return OpBuilder("Less").Arg(a).Arg(b); }
Output Identity(const Input& a) { return OpBuilder("Identity").Arg(a); }

Tensor Float(float value) { return Tensor::Scalar(value); }
Tensor Int(int32_t value) { return Tensor::Scalar(value); }
Tensor Bool(bool value) { return Tensor::Scalar(value); }

template <typename Body>
std::pair<Code, std::string> ErrorOf(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {Code::kOk, ""};
}

TEST(DataflowExecutor, RunsOneBranch) {
  Graph g;
  const Output pred = Placeholder(g, kBool, Shape{}, "pred");
  const Output x = Placeholder(g, kFloat, Shape{}, "x");
  const auto results = Cond(
      pred, [&] { return Add(x, 1.0f); },
      [&] {
        // Must not run when it is not taken.
        const Operation fail = Abort(g, "the wrong branch ran");
        return WithDependencies({fail}, Mul(x, 2.0f));
      });
  Session session(g);
  EXPECT_EQ(session.Run(results[0], {{pred, Bool(true)}, {x, Float(5)}}).scalar<float>(), 6);
  const auto [code, message] = ErrorOf([&] {
    session.Run(results[0], {{pred, Bool(false)}, {x, Float(5)}});
  });
  EXPECT_EQ(code, Code::kAborted);
  // The session is usable afterwards.
  EXPECT_EQ(session.Run(results[0], {{pred, Bool(true)}, {x, Float(7)}}).scalar<float>(), 8);
}

TEST(DataflowExecutor, ABranchMayReturnWhatIsOutsideAndNest) {
  Graph g;
  const Output p = Placeholder(g, kBool, Shape{}, "p"), q = Placeholder(g, kBool, Shape{}, "q");
  const Output x = Placeholder(g, kFloat, Shape{}, "x");
  const auto results = Cond(
      p,
      [&] {
        return Cond(
            q, [&] { return Add(x, 10.0f); }, [&] { return Constant(g, Float(-1)); })[0];
      },
      [&] { return x; });
  Session session(g);
  const auto run = [&](bool pv, bool qv) {
    return session.Run(results[0], {{p, Bool(pv)}, {q, Bool(qv)}, {x, Float(3)}}).scalar<float>();
  };
  EXPECT_EQ(run(true, true), 13);
  EXPECT_EQ(run(true, false), -1);
  EXPECT_EQ(run(false, true), 3);
}

TEST(DataflowExecutor, ABranchMayBeThereForItsEffects) {
  Graph g;
  const Output p = Placeholder(g, kBool, Shape{}, "p");
  const auto done = Cond(
      p, [&] { return Abort(g, "as asked"); }, [&] { return NoOp(g); });
  Session session(g);
  EXPECT_NO_THROW(session.Run(done[0].op(), {{p, Bool(false)}}));
  EXPECT_EQ(ErrorOf([&] { session.Run(done[0].op(), {{p, Bool(true)}}); }).first, Code::kAborted);
}

TEST(DataflowExecutor, FetchingADeadValueIsAnError) {
  Graph g;
  const Output p = Placeholder(g, kBool, Shape{}, "p");
  const auto [if_false, if_true] = Switch(Constant(g, Float(1)), p);
  const Output y = Add(if_true, 1.0f);
  Session session(g);
  EXPECT_EQ(session.Run(y, {{p, Bool(true)}}).scalar<float>(), 2);
  const auto [code, message] = ErrorOf([&] { session.Run(y, {{p, Bool(false)}}); });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("branch that was not taken"), std::string::npos) << message;
}

TEST(DataflowExecutor, MergeSaysWhatArrivedAndDeadControlInputsKill) {
  Graph g;
  const Output p = Placeholder(g, kBool, Shape{}, "p");
  const auto [if_false, if_true] = Switch(Constant(g, Float(1)), p);
  const auto merged = Merge({Identity(if_false), Mul(if_true, 5.0f)});
  // Runs only with the true branch, though it reads nothing of it.
  const Output follower = WithDependencies({Identity(if_true).op()}, Constant(g, Float(9)));
  // Runs either way.
  const Operation trigger = ControlTrigger(g, {Identity(if_true).op()});
  const Output always = WithDependencies({trigger}, Constant(g, Float(4)));
  Session session(g);
  auto values = session.Run({merged.output, merged.value_index, always}, {{p, Bool(false)}});
  EXPECT_EQ(values[0].scalar<float>(), 1);
  EXPECT_EQ(values[1].scalar<int32_t>(), 0);
  EXPECT_EQ(values[2].scalar<float>(), 4);
  values = session.Run({merged.output, merged.value_index, follower}, {{p, Bool(true)}});
  EXPECT_EQ(values[0].scalar<float>(), 5);
  EXPECT_EQ(values[1].scalar<int32_t>(), 1);
  EXPECT_EQ(values[2].scalar<float>(), 9);
  EXPECT_EQ(ErrorOf([&] {
              session.Run(follower, {{p, Bool(false)}});
            }).first,
            Code::kInvalidArgument);
}

// Adds x n times.
std::vector<Output> Repeat(Graph& g, const Output& n, const Output& x, int parallel) {
  return WhileLoop(
      g, {Constant(g, Int(0)), Constant(g, Float(0))},
      [&](const LoopVariables& v) { return Less(v[0], n); },
      [&](const LoopVariables& v) {
        return LoopVariables{Add(v[0], 1), Add(v[1], x)};
      },
      {.parallel_iterations = parallel});
}

TEST(DataflowExecutor, RepeatsALoop) {
  for (const int parallel : {1, 2, 10, 100}) {
    Graph g;
    const Output n = Placeholder(g, kInt32, Shape{}, "n"), x = Placeholder(g, kFloat, Shape{}, "x");
    const auto results = Repeat(g, n, x, parallel);
    Session session(g);
    for (const int times : {0, 1, 7, 1000}) {
      const auto values = session.Run(results, {{n, Int(times)}, {x, Float(0.5f)}});
      EXPECT_EQ(values[0].scalar<int32_t>(), times);
      EXPECT_EQ(values[1].scalar<float>(), 0.5f * static_cast<float>(times));
    }
  }
}

// The counter runs ahead of what waits.
TEST(DataflowExecutor, IterationsTakeNoMoreMemoryThanTheLimit) {
  Graph g;
  const Output queue = FIFOQueue(g, {kFloat}, {.shapes = {PartialShape(Shape{})}});
  const auto results = WhileLoop(
      g, {Constant(g, Int(0)), Constant(g, Float(0))},
      [&](const LoopVariables& v) { return Less(v[0], 1 << 30); },
      [&](const LoopVariables& v) {
        const Output waits = QueueDequeue(queue)[0];
        return LoopVariables{Add(v[0], 1), WithDependencies({waits.op()}, Add(v[1], 1.0f))};
      },
      {.parallel_iterations = 1 << 30});
  Session session(g, {.memory_limit_bytes = 8 << 20});
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(ErrorOf([&] { session.Run(results[1]); }).first, Code::kResourceExhausted);
}

TEST(DataflowExecutor, RunsALoopInsideALoop) {
  Graph g;
  const Output n = Placeholder(g, kInt32, Shape{}, "n");
  const auto results = WhileLoop(
      g, {Constant(g, Int(0)), Constant(g, Int(0))},
      [&](const LoopVariables& v) { return Less(v[0], n); },
      [&](const LoopVariables& outer) {
        // Adds outer[0] for each of outer[0] rounds; uses what is outside of both.
        const auto inner = WhileLoop(
            g, {Constant(g, Int(0)), outer[1]},
            [&](const LoopVariables& v) { return Less(v[0], outer[0]); },
            [&](const LoopVariables& v) {
              return LoopVariables{Add(v[0], 1), Add(v[1], Add(outer[0], Mul(n, 0)))};
            });
        return LoopVariables{Add(outer[0], 1), inner[1]};
      });
  Session session(g);
  int32_t expected = 0;
  for (int32_t i = 0; i < 12; ++i) expected += i * i;
  EXPECT_EQ(session.Run(results[1], {{n, Int(12)}}).scalar<int32_t>(), expected);
  EXPECT_EQ(session.Run(results[1], {{n, Int(0)}}).scalar<int32_t>(), 0);
}

TEST(DataflowExecutor, RunsAConditionInsideALoopAndALoopInsideACondition) {
  Graph g;
  const Output p = Placeholder(g, kBool, Shape{}, "p"), n = Placeholder(g, kInt32, Shape{}, "n");
  const Output x = Placeholder(g, kFloat, Shape{}, "x");
  const auto results = Cond(
      p,
      [&] {
        return WhileLoop(
            g, {Constant(g, Int(0)), x}, [&](const LoopVariables& v) { return Less(v[0], n); },
            [&](const LoopVariables& v) {
              const Output early = Less(v[0], 3);
              const Output next = Cond(
                  early, [&] { return Add(v[1], 1.0f); }, [&] { return Mul(v[1], 2.0f); })[0];
              return LoopVariables{Add(v[0], 1), next};
            })[1];
      },
      [&] { return Constant(g, Float(-7)); });
  Session session(g);
  const auto run = [&](bool pv, int nv) {
    return session.Run(results[0], {{p, Bool(pv)}, {n, Int(nv)}, {x, Float(1)}}).scalar<float>();
  };
  EXPECT_EQ(run(true, 5), 16);  // (1 + 3) * 4
  EXPECT_EQ(run(false, 5), -7);
  EXPECT_EQ(run(true, 0), 1);
}

TEST(DataflowExecutor, OpsInTheBodyRunOnceAnIteration) {
  Graph g;
  const Output v = OpBuilder(g, "VarHandleOp").Attr("dtype", kInt32).Attr("shape", Shape{});
  const Operation init = OpBuilder("AssignVariableOp").Arg(v).Arg(Int(0)).Build();
  const auto results = WhileLoop(
      g, {Constant(g, Int(0))}, [&](const LoopVariables& i) { return Less(i[0], 10); },
      [&](const LoopVariables& i) {
        const Operation count = OpBuilder("AssignAddVariableOp").Arg(v).Arg(Int(1)).Build();
        return LoopVariables{WithDependencies({count}, Add(i[0], 1))};
      });
  const Output read =
      OpBuilder("ReadVariableOp").Arg(v).Attr("dtype", kInt32).After(results[0].op());
  Session session(g);
  session.Run(init);
  EXPECT_EQ(session.Run(read).scalar<int32_t>(), 10);
  EXPECT_EQ(session.Run(read).scalar<int32_t>(), 20);
}

TEST(DataflowExecutor, AnErrorNamesTheIteration) {
  Graph g;
  const auto results = WhileLoop(
      g, {Constant(g, Int(0))}, [&](const LoopVariables& i) { return Less(i[0], 10); },
      [&](const LoopVariables& i) {
        const Operation check = Assert(Less(i[0], 4), {i[0]});
        return LoopVariables{WithDependencies({check}, Add(i[0], 1))};
      });
  Session session(g);
  const auto [code, message] = ErrorOf([&] { session.Run(results[0]); });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("assertion failed: [4]"), std::string::npos) << message;
  EXPECT_NE(message.find("{{node while/Assert}}"), std::string::npos) << message;
  EXPECT_NE(message.find("iteration 4 of loop 'while/while_context'"), std::string::npos)
      << message;
}

TEST(DataflowExecutor, AnEndlessLoopCanBeStopped) {
  Graph g;
  const auto results = WhileLoop(
      g, {Constant(g, Int(0))}, [&](const LoopVariables& i) { return Less(-1, i[0]); },
      [&](const LoopVariables& i) { return LoopVariables{Mul(i[0], 1)}; });
  Session session(g);
  const auto [code, message] =
      ErrorOf([&] { session.Run(results, {}, {}, {.timeout = std::chrono::milliseconds(50)}); });
  EXPECT_EQ(code, Code::kDeadlineExceeded) << message;
}

TEST(DataflowExecutor, ValuesInsideALoopCannotBeUsedOutside) {
  Graph g;
  Output inside;
  WhileLoop(
      g, {Constant(g, Int(0))}, [&](const LoopVariables& i) { return Less(i[0], 10); },
      [&](const LoopVariables& i) { return LoopVariables{inside = Add(i[0], 1)}; });
  const auto [code, message] = ErrorOf([&] { Add(inside, 1); });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("inside the loop"), std::string::npos) << message;
  Session session(g);
  EXPECT_EQ(ErrorOf([&] { session.Run(inside); }).first, Code::kInvalidArgument);
}

TEST(DataflowExecutor, LoopVariablesKeepTheirShape) {
  Graph g;
  const Output one = Constant(g, Tensor::FromVector<float>({1}));
  const auto loop = [&](const WhileOptions& options) {
    return WhileLoop(
        g, {Constant(g, Int(0)), one}, [&](const LoopVariables& v) { return Less(v[0], 4); },
        [&](const LoopVariables& v) {
          const Output longer = OpBuilder("ConcatV2").Args(std::vector<Output>{v[1], one}).Arg(0);
          return LoopVariables{Add(v[0], 1), longer};
        },
        options);
  };
  EXPECT_EQ(ErrorOf([&] { loop({}); }).first, Code::kInvalidArgument);
  const auto results = loop({.shape_invariants = {{}, {-1}}});
  Session session(g);
  EXPECT_EQ(session.Run(results[1]).num_elements(), 5);
}

TEST(DataflowExecutor, ControlDependenciesReachIntoLoops) {
  Graph g;
  const Output v = OpBuilder(g, "VarHandleOp").Attr("dtype", kInt32).Attr("shape", Shape{});
  const Operation init = OpBuilder("AssignVariableOp").Arg(v).Arg(Int(5)).Build();
  const auto results = WhileLoop(
      g, {Constant(g, Int(0)), Constant(g, Int(0))},
      [&](const LoopVariables& i) { return Less(i[0], 3); },
      [&](const LoopVariables& i) {
        const ControlDependencies after(g, {init});
        const Output read = OpBuilder("ReadVariableOp").Arg(v).Attr("dtype", kInt32);
        return LoopVariables{Add(i[0], 1), Add(i[1], read)};
      });
  Session session(g);
  EXPECT_EQ(session.Run(results[1]).scalar<int32_t>(), 15);
}

TEST(DataflowExecutor, SeveralStepsRunAtOnce) {
  Graph g;
  const Output n = Placeholder(g, kInt32, Shape{}, "n"), x = Placeholder(g, kFloat, Shape{}, "x");
  const auto results = Repeat(g, n, x, 4);
  Session session(g);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto values =
            session.Run(results, {{n, Int(t * 10)}, {x, Float(static_cast<float>(i))}});
        if (values[1].scalar<float>() != static_cast<float>(t * 10 * i)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace carillon
