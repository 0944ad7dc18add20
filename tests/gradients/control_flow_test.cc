#include "carillon/ops/control_flow.h"

#include <gtest/gtest.h>

#include "carillon/error.h"
#include "carillon/gradients.h"
#include "carillon/op_builder.h"
#include "carillon/ops/math.h"
#include "carillon/session.h"
#include "gradient_checker.h"

namespace carillon {
namespace {

class ControlFlowGradients : public ::testing::Test {
 protected:
  Output Value(const char* name, const PartialShape& shape = Shape{}, DType dtype = kDouble) {
    return OpBuilder(g_, "Placeholder").Name(name).Attr("dtype", dtype).Attr("shape", shape);
  }
  Output Int(int32_t value) {
    return OpBuilder(g_, "Const").Attr("value", Tensor::Scalar(value)).Attr("dtype", kInt32);
  }
  static Tensor Scalar(double value) { return Tensor::Scalar(value); }
  static Tensor Vector(const std::vector<double>& values) { return Tensor::FromVector(values); }

  Graph g_;
};

TEST_F(ControlFlowGradients, Cond) {
  const Output x = Value("x", {3}), z = Value("z", {3}), p = Value("p", Shape{}, kBool);
  // x is used in both branches and outside, z in one.
  const Output y = Cond(
      p, [&] { return Mul(Mul(x, x), z); }, [&] { return Sin(x); })[0];
  for (const bool taken : {true, false}) {
    CheckGradients({y, Mul(x, 2.0)}, {x, z}, {Vector({1, 2, 3}), Vector({-1, 0.5, 2})},
                   {.feeds = {{p, Tensor::Scalar(taken)}}});
  }
}

TEST_F(ControlFlowGradients, CondInsideCond) {
  const Output x = Value("x"), p = Value("p", Shape{}, kBool), q = Value("q", Shape{}, kBool);
  const Output y = Cond(
      p,
      [&] {
        const Output s = Sin(x);
        return Cond(
            q, [&] { return Mul(s, x); }, [&] { return Exp(s); })[0];
      },
      [&] { return x; })[0];
  for (const bool pv : {true, false}) {
    for (const bool qv : {true, false}) {
      CheckGradients({y}, {x}, {Scalar(0.7)},
                     {.feeds = {{p, Tensor::Scalar(pv)}, {q, Tensor::Scalar(qv)}}});
    }
  }
}

TEST_F(ControlFlowGradients, LoopWithVariablesAndInvariants) {
  const Output x = Value("x", {2}), w = Value("w", {2}), n = Value("n", Shape{}, kInt32);
  const auto results = WhileLoop(
      g_, {Int(0), x}, [&](const LoopVariables& v) { return Less(v[0], n); },
      [&](const LoopVariables& v) {
        return LoopVariables{Add(v[0], 1), Add(Mul(Sin(v[1]), w), Mul(v[1], 0.5))};
      });
  for (const int times : {0, 1, 2, 5}) {
    CheckGradients({results[1]}, {x, w}, {Vector({0.3, -0.8}), Vector({1.1, 0.7})},
                   {.feeds = {{n, Tensor::Scalar<int32_t>(times)}}});
  }
}

TEST_F(ControlFlowGradients, LoopVariablesThatFeedEachOther) {
  const Output a = Value("a"), b = Value("b");
  // c starts from a constant and is only read by others; d does not matter to the result.
  const auto results = WhileLoop(
      g_, {Int(0), a, b, Mul(a, 0.0), Mul(b, 3.0)},
      [&](const LoopVariables& v) { return Less(v[0], 4); },
      [&](const LoopVariables& v) {
        return LoopVariables{Add(v[0], 1), Mul(v[1], v[2]), Add(v[2], Sin(v[3])), v[1],
                             Mul(v[4], v[1])};
      },
      {.parallel_iterations = 3});
  CheckGradients({results[1], results[3]}, {a, b}, {Scalar(0.9), Scalar(1.2)});
}

TEST_F(ControlFlowGradients, AVariableThatTheBodyReplaces) {
  const Output a = Value("a"), b = Value("b");
  const auto results = WhileLoop(
      g_, {Int(0), a}, [&](const LoopVariables& v) { return Less(v[0], 3); },
      [&](const LoopVariables& v) {
        return LoopVariables{Add(v[0], 1), Mul(b, b)};
      });
  CheckGradients({results[1]}, {a, b}, {Scalar(0.9), Scalar(1.2)});
}

TEST_F(ControlFlowGradients, CondInsideLoop) {
  const Output x = Value("x", {2}), w = Value("w", {2});
  const auto results = WhileLoop(
      g_, {Int(0), x}, [&](const LoopVariables& v) { return Less(v[0], 6); },
      [&](const LoopVariables& v) {
        const Output odd = Equal(FloorMod(v[0], 2), 1);
        const Output next = Cond(
            odd, [&] { return Mul(Sin(v[1]), w); },
            [&] {
              return Add(Mul(v[1], v[1]), Tensor::FromVector<double>({0.1, 0.2}));
            })[0];
        return LoopVariables{Add(v[0], 1), next};
      });
  CheckGradients({results[1]}, {x, w}, {Vector({0.3, 0.6}), Vector({1.1, 0.7})});
}

TEST_F(ControlFlowGradients, LoopInsideCond) {
  const Output x = Value("x"), p = Value("p", Shape{}, kBool);
  const Output y = Cond(
      p,
      [&] {
        return WhileLoop(
            g_, {Int(0), x}, [&](const LoopVariables& v) { return Less(v[0], 3); },
            [&](const LoopVariables& v) {
              return LoopVariables{Add(v[0], 1), Mul(Sin(v[1]), x)};
            })[1];
      },
      [&] { return Mul(x, 7.0); })[0];
  for (const bool taken : {true, false})
    CheckGradients({y}, {x}, {Scalar(0.7)}, {.feeds = {{p, Tensor::Scalar(taken)}}});
}

TEST_F(ControlFlowGradients, LoopInsideLoop) {
  const Output x = Value("x"), w = Value("w"), n = Value("n", Shape{}, kInt32);
  const auto results = WhileLoop(
      g_, {Int(0), x}, [&](const LoopVariables& v) { return Less(v[0], n); },
      [&](const LoopVariables& outer) {
        const Output start = Mul(outer[1], w);
        // Runs 0, 1, 2, … times.
        const auto inner = WhileLoop(
            g_, {Int(0), start}, [&](const LoopVariables& v) { return Less(v[0], outer[0]); },
            [&](const LoopVariables& v) {
              return LoopVariables{Add(v[0], 1), Add(Sin(v[1]), Mul(outer[1], w))};
            });
        return LoopVariables{Add(outer[0], 1), inner[1]};
      });
  for (const int times : {0, 1, 2, 4}) {
    CheckGradients({results[1]}, {x, w}, {Scalar(0.3), Scalar(0.8)},
                   {.feeds = {{n, Tensor::Scalar<int32_t>(times)}}});
  }
}

TEST_F(ControlFlowGradients, LoopInsideCondInsideLoop) {
  const Output x = Value("x"), w = Value("w");
  const auto results = WhileLoop(
      g_, {Int(0), x}, [&](const LoopVariables& v) { return Less(v[0], 5); },
      [&](const LoopVariables& outer) {
        const Output odd = Equal(FloorMod(outer[0], 2), 1);
        const Output next = Cond(
            odd,
            [&] {
              return WhileLoop(
                  g_, {Int(0), outer[1]},
                  [&](const LoopVariables& v) { return Less(v[0], outer[0]); },
                  [&](const LoopVariables& v) {
                    return LoopVariables{Add(v[0], 1), Mul(Sin(v[1]), w)};
                  })[1];
            },
            [&] { return Add(outer[1], Mul(w, w)); })[0];
        return LoopVariables{Add(outer[0], 1), next};
      });
  CheckGradients({results[1]}, {x, w}, {Scalar(0.3), Scalar(1.3)});
}

TEST_F(ControlFlowGradients, VariablesOfChangingShape) {
  const Output x = Value("x", {1});
  const auto results = WhileLoop(
      g_, {Int(0), x}, [&](const LoopVariables& v) { return Less(v[0], 3); },
      [&](const LoopVariables& v) {
        const Output longer = OpBuilder("ConcatV2").Args(std::vector<Output>{Sin(v[1]), x}).Arg(0);
        return LoopVariables{Add(v[0], 1), longer};
      },
      {.shape_invariants = {{}, {-1}}});
  CheckGradients({results[1]}, {x}, {Vector({0.4})});
}

TEST_F(ControlFlowGradients, InsideABodyOfWhatTheIterationComputes) {
  // Newton's method for a square root: the derivative is taken inside the loop.
  const Output a = Value("a");
  const auto results = WhileLoop(
      g_, {Int(0), a}, [&](const LoopVariables& v) { return Less(v[0], 20); },
      [&](const LoopVariables& v) {
        const Output error = Sub(Mul(v[1], v[1]), a);
        const Output slope = Gradients({error}, {v[1]})[0].tensor();
        return LoopVariables{Add(v[0], 1), Sub(v[1], RealDiv(error, slope))};
      });
  Session session(g_);
  EXPECT_NEAR(session.Run(results[1], {{a, Scalar(2.0)}}).scalar<double>(), 1.4142135623730951,
              1e-12);
}

TEST_F(ControlFlowGradients, GradientsOfGradientsOfLoopsAreRefused) {
  const Output x = Value("x");
  const auto results = WhileLoop(
      g_, {Int(0), x}, [&](const LoopVariables& v) { return Less(v[0], 3); },
      [&](const LoopVariables& v) {
        return LoopVariables{Add(v[0], 1), Sin(v[1])};
      });
  const Gradient first = Gradients({results[1]}, {x})[0];
  try {
    Gradients({first.tensor()}, {x});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented) << error.what();
  }
}

}  // namespace
}  // namespace carillon
