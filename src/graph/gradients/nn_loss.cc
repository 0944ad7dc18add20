// Gradients of softmax, the cross entropies and L2Loss.
#include "carillon/ops/math.h"
#include "carillon/ops/nn.h"
#include "graph/gradients/nn.h"

namespace carillon {
namespace {

Output SumOverClasses(const Output& x) { return Sum(x, {-1}, /*keep_dims=*/true); }

void SoftmaxGrad(GradContext& c) {
  const Output softmax = c.output(0);
  c.set(0, (c.grad() - SumOverClasses(c.grad() * softmax)) * softmax);
}

void LogSoftmaxGrad(GradContext& c) {
  c.set(0, c.grad() - Exp(c.output(0)) * SumOverClasses(c.grad()));
}

// One number a row, as a column.
Output AsColumn(const Output& rows) { return OpBuilder("ExpandDims").Arg(rows).Arg(-1); }

// The second output is the gradient itself, softmax - labels; differentiating it goes through the
// softmax once more.
Output LogitsGradient(GradContext& c) {
  Output gradient = AsColumn(c.grad(0)) * c.output(1);
  if (c.HasGrad(1)) {
    const Output softmax = Softmax(c.input(0));
    gradient = gradient + (c.grad(1) - SumOverClasses(c.grad(1) * softmax)) * softmax;
  }
  return gradient;
}

void CrossEntropyGrad(GradContext& c) {
  c.set(0, LogitsGradient(c));
  c.set(1, AsColumn(c.grad(0)) * (-LogSoftmax(c.input(0))));
}

void SparseCrossEntropyGrad(GradContext& c) { c.set(0, LogitsGradient(c)); }

void L2LossGrad(GradContext& c) { c.set(0, c.input(0) * c.grad()); }

}  // namespace

void AddLossGradients(GradTable& grads) {
  grads.Add("Softmax", SoftmaxGrad);
  grads.Add("LogSoftmax", LogSoftmaxGrad);
  grads.Add("SoftmaxCrossEntropyWithLogits", CrossEntropyGrad);
  grads.Add("SparseSoftmaxCrossEntropyWithLogits", SparseCrossEntropyGrad);
  grads.Add("L2Loss", L2LossGrad);
}

}  // namespace carillon
