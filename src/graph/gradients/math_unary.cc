// Gradients of functions of one operand: dx = dy · f'(x), in terms of x or of y = f(x), whichever
// costs less.
#include <numbers>

#include "carillon/ops/math.h"
#include "graph/gradients/math.h"

namespace carillon {
namespace {

constexpr double kTwoBySqrtPi = 2 * std::numbers::inv_sqrtpi;
constexpr double kSqrtTwoPi = std::numbers::sqrt2 / std::numbers::inv_sqrtpi;

// `formula` gives dx from x, y and dy.
template <auto formula>
void FromFormula(GradContext& c) {
  c.set(0, formula(c.input(0), c.output(0), c.grad()));
}

// SqrtGrad, TanhGrad, … are functions of y and dy, with gradients that second derivatives need.
void SqrtGradGradient(GradContext& c) {
  const Output scaled = c.grad() / c.input(0);
  c.set(0, -scaled * c.output(0));
  c.set(1, 0.5 * scaled);
}
void RsqrtGradGradient(GradContext& c) {
  const Output y = c.input(0);
  const Output grad = c.grad();
  c.set(0, -1.5 * grad * c.input(1) * Square(y));
  c.set(1, RsqrtGrad(y, grad));
}
void TanhGradGradient(GradContext& c) {
  const Output y = c.input(0);
  const Output grad = c.grad();
  c.set(0, -2.0 * grad * c.input(1) * y);
  c.set(1, TanhGrad(y, grad));
}
void SigmoidGradGradient(GradContext& c) {
  const Output y = c.input(0);
  const Output grad = c.grad();
  const Output both = grad * c.input(1);
  c.set(0, both - 2.0 * both * y);
  c.set(1, SigmoidGrad(y, grad));
}
void ReciprocalGradGradient(GradContext& c) {
  const Output y = c.input(0);
  const Output grad = c.grad();
  c.set(0, -2.0 * grad * c.input(1) * y);
  c.set(1, ReciprocalGrad(y, grad));
}

}  // namespace

void AddMathUnaryGradients(GradTable& grads) {
  using In = const Output&;
  grads.Add("Conj", FromFormula<[](In, In, In dy) -> Output { return dy; }>);
  grads.Add("Neg", FromFormula<[](In, In, In dy) { return -dy; }>);
  grads.Add("Abs", FromFormula<[](In x, In, In dy) { return dy * Sign(x); }>);
  grads.Add("Sign", FromFormula<[](In x, In, In) { return FillLike(x, 0.0); }>);
  grads.Add("Square", FromFormula<[](In x, In, In dy) { return dy * (2 * x); }>);
  grads.Add("Sqrt", FromFormula<[](In, In y, In dy) { return SqrtGrad(y, dy); }>);
  grads.Add("Rsqrt", FromFormula<[](In, In y, In dy) { return RsqrtGrad(y, dy); }>);
  grads.Add("Reciprocal", FromFormula<[](In, In y, In dy) { return ReciprocalGrad(y, dy); }>);
  grads.Add("Inv", FromFormula<[](In, In y, In dy) { return ReciprocalGrad(y, dy); }>);
  grads.Add("Exp", FromFormula<[](In, In y, In dy) { return dy * y; }>);
  grads.Add("Expm1", FromFormula<[](In x, In, In dy) { return dy * Exp(x); }>);
  grads.Add("Log", FromFormula<[](In x, In, In dy) { return dy * Reciprocal(x); }>);
  grads.Add("Log1p", FromFormula<[](In x, In, In dy) { return dy * Reciprocal(1 + x); }>);
  grads.Add("Sinh", FromFormula<[](In x, In, In dy) { return dy * Cosh(x); }>);
  grads.Add("Cosh", FromFormula<[](In x, In, In dy) { return dy * Sinh(x); }>);
  grads.Add("Tanh", FromFormula<[](In, In y, In dy) { return TanhGrad(y, dy); }>);
  grads.Add("Asinh", FromFormula<[](In, In y, In dy) { return dy / Cosh(y); }>);
  grads.Add("Acosh", FromFormula<[](In, In y, In dy) { return dy / Sinh(y); }>);
  grads.Add("Atanh", FromFormula<[](In x, In, In dy) { return dy * Reciprocal(1 - Square(x)); }>);
  grads.Add("Sigmoid", FromFormula<[](In, In y, In dy) { return SigmoidGrad(y, dy); }>);
  grads.Add("Sin", FromFormula<[](In x, In, In dy) { return dy * Cos(x); }>);
  grads.Add("Cos", FromFormula<[](In x, In, In dy) { return -dy * Sin(x); }>);
  grads.Add("Tan", FromFormula<[](In x, In, In dy) { return dy * Square(Reciprocal(Cos(x))); }>);
  grads.Add("Asin",
            FromFormula<[](In x, In, In dy) { return dy * Reciprocal(Sqrt(1 - Square(x))); }>);
  grads.Add("Acos",
            FromFormula<[](In x, In, In dy) { return -dy * Reciprocal(Sqrt(1 - Square(x))); }>);
  grads.Add("Atan", FromFormula<[](In x, In, In dy) { return dy * Reciprocal(1 + Square(x)); }>);
  grads.Add("Erf",
            FromFormula<[](In x, In, In dy) { return dy * (kTwoBySqrtPi * Exp(-Square(x))); }>);
  grads.Add("Erfc",
            FromFormula<[](In x, In, In dy) { return dy * (-kTwoBySqrtPi * Exp(-Square(x))); }>);
  grads.Add("Erfinv",
            FromFormula<[](In, In y, In dy) { return dy * (Exp(Square(y)) / kTwoBySqrtPi); }>);
  grads.Add("Ndtri",
            FromFormula<[](In, In y, In dy) { return dy * (kSqrtTwoPi * Exp(0.5 * Square(y))); }>);
  grads.Add("Lgamma", FromFormula<[](In x, In, In dy) { return dy * Digamma(x); }>);
  grads.Add("SqrtGrad", SqrtGradGradient);
  grads.Add("RsqrtGrad", RsqrtGradGradient);
  grads.Add("TanhGrad", TanhGradGradient);
  grads.Add("SigmoidGrad", SigmoidGradGradient);
  grads.Add("ReciprocalGrad", ReciprocalGradGradient);
  grads.Add("InvGrad", ReciprocalGradGradient);
}

}  // namespace carillon
