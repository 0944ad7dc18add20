// Gradients of functions of two operands, which broadcast.
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/gradients/broadcast.h"
#include "graph/gradients/math.h"

namespace carillon {
namespace {

void AddGradient(GradContext& c) { SetBroadcastGradients(c, c.grad(), c.grad()); }

void SubGradient(GradContext& c) { SetBroadcastGradients(c, c.grad(), -c.grad()); }

void MulGradient(GradContext& c) {
  SetBroadcastGradients(c, c.grad() * c.input(1), c.input(0) * c.grad());
}

void MulNoNanGradient(GradContext& c) {
  SetBroadcastGradients(c, MulNoNan(c.grad(), c.input(1)), MulNoNan(c.input(0), c.grad()));
}

void DivGradient(GradContext& c) {
  const Output y = c.input(1);
  SetBroadcastGradients(c, c.grad() / y, c.grad() * (-c.input(0) / y / y));
}

void DivNoNanGradient(GradContext& c) {
  const Output y = c.input(1);
  SetBroadcastGradients(c, DivNoNan(c.grad(), y), c.grad() * DivNoNan(DivNoNan(-c.input(0), y), y));
}

// Of both remainders: x - y · quotient, whose quotient is flat.
void FloorModGradient(GradContext& c) {
  SetBroadcastGradients(c, c.grad(), -(c.grad() * FloorDiv(c.input(0), c.input(1))));
}
void TruncateModGradient(GradContext& c) {
  SetBroadcastGradients(c, c.grad(), -(c.grad() * TruncateDiv(c.input(0), c.input(1))));
}

// log x has no gradient to give where x is not positive: zero there.
void PowGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output y = c.input(1);
  const Output z = c.output(0);
  const Output positive = Greater(x, 0);
  const Output log_x = SelectV2(positive, Log(SelectV2(positive, x, OnesLike(x))), ZerosLike(x));
  SetBroadcastGradients(c, c.grad() * y * Pow(x, y - 1), c.grad() * z * log_x);
}

// Where both are equal the gradient goes to x.
template <Output (*IsFirst)(const Input&, const Input&)>
void ExtremeGradient(GradContext& c) {
  const Output first = IsFirst(c.input(0), c.input(1));
  const Output zeros = ZerosLike(c.grad());
  SetBroadcastGradients(c, SelectV2(first, c.grad(), zeros), SelectV2(first, zeros, c.grad()));
}

void SquaredDifferenceGradient(GradContext& c) {
  const Output gx = 2 * c.grad() * (c.input(0) - c.input(1));
  SetBroadcastGradients(c, gx, -gx);
}

void Atan2Gradient(GradContext& c) {
  const Output y = c.input(0);
  const Output x = c.input(1);
  const Output scaled = c.grad() / (Square(x) + Square(y));
  SetBroadcastGradients(c, scaled * x, scaled * -y);
}

Output IsNonzero(const Output& x) { return Cast(NotEqual(x, 0), x.dtype()); }

void XdivyGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output y = c.input(1);
  SetBroadcastGradients(c, c.grad() * Xdivy(IsNonzero(x), y), c.grad() * Xdivy(-x, Square(y)));
}
void XlogyGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output y = c.input(1);
  SetBroadcastGradients(c, c.grad() * Xlogy(IsNonzero(x), y), c.grad() * Xdivy(x, y));
}
void Xlog1pyGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output y = c.input(1);
  SetBroadcastGradients(c, c.grad() * Xlog1py(IsNonzero(x), y), c.grad() * Xdivy(x, y + 1));
}

// Every input has the gradient of the sum.
void AddNGradient(GradContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set(i, c.raw_grad(0));
}

void ClipByValueGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output below = Less(x, c.input(1));
  const Output above = Greater(x, c.input(2));
  const Output zeros = ZerosLike(c.grad());
  c.set(0, SelectV2(LogicalOr(below, above), zeros, c.grad()));
  // A bound is a scalar or has the shape of x.
  const auto for_bound = [&](const Output& bound, const Output& gradient) -> Output {
    if (bound.shape().rank() == 0) return Sum(gradient);
    return SumToShapeOf(gradient, bound);
  };
  c.set(1, for_bound(c.input(1), SelectV2(below, c.grad(), zeros)));
  c.set(2, for_bound(c.input(2), SelectV2(above, c.grad(), zeros)));
}

void CrossGradient(GradContext& c) {
  c.set(0, Cross(c.input(1), c.grad()));
  c.set(1, Cross(c.grad(), c.input(0)));
}

}  // namespace

void AddMathBinaryGradients(GradTable& grads) {
  grads.Add("Add", AddGradient);
  grads.Add("AddV2", AddGradient);
  grads.Add("Sub", SubGradient);
  grads.Add("Mul", MulGradient);
  grads.Add("MulNoNan", MulNoNanGradient);
  grads.Add("Div", DivGradient);
  grads.Add("RealDiv", DivGradient);
  grads.Add("DivNoNan", DivNoNanGradient);
  grads.Add("FloorMod", FloorModGradient);
  grads.Add("TruncateMod", TruncateModGradient);
  grads.Add("Mod", TruncateModGradient);
  grads.Add("Pow", PowGradient);
  grads.Add("Maximum", ExtremeGradient<GreaterEqual>);
  grads.Add("Minimum", ExtremeGradient<LessEqual>);
  grads.Add("SquaredDifference", SquaredDifferenceGradient);
  grads.Add("Atan2", Atan2Gradient);
  grads.Add("Xdivy", XdivyGradient);
  grads.Add("Xlogy", XlogyGradient);
  grads.Add("Xlog1py", Xlog1pyGradient);
  grads.Add("AddN", AddNGradient);
  grads.Add("AccumulateNV2", AddNGradient);
  grads.Add("ClipByValue", ClipByValueGradient);
  grads.Add("Cross", CrossGradient);
}

}  // namespace carillon
