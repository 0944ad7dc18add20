// Gradients of pooling. Which element is the maximum does not change with small changes of the
// input, so no gradient flows through the choice.
#include "graph/gradients/broadcast.h"
#include "graph/gradients/nn.h"

namespace carillon {
namespace {

OpBuilder& PoolLike(const GradContext& c, OpBuilder&& builder) {
  return WithAttrs(builder, c.op(),
                   {"ksize", "strides", "padding", "explicit_paddings", "data_format",
                    "include_batch_in_index"});
}

void MaxPoolGrad(GradContext& c) {
  c.set(
      0,
      Output(PoolLike(c, OpBuilder("MaxPoolGrad")).Arg(c.input(0)).Arg(c.output(0)).Arg(c.grad())));
}

void MaxPoolV2Grad(GradContext& c) {
  c.set(0, Output(PoolLike(c, OpBuilder("MaxPoolGradV2"))
                      .Arg(c.input(0))
                      .Arg(c.output(0))
                      .Arg(c.grad())
                      .Arg(c.input(1))
                      .Arg(c.input(2))));
}

// MaxPoolGradGrad knows no explicit padding.
OpBuilder& PoolGradLike(const GradContext& c, OpBuilder&& builder) {
  return WithAttrs(builder, c.op(), {"ksize", "strides", "padding", "data_format"});
}

Output ZerosLike(const Output& x) { return OpBuilder("ZerosLike").Arg(x); }

void MaxPoolGradGrad(GradContext& c) {
  c.set(0, ZerosLike(c.input(0)));
  c.set(1, ZerosLike(c.input(1)));
  c.set(2, Output(PoolGradLike(c, OpBuilder("MaxPoolGradGrad"))
                      .Arg(c.input(0))
                      .Arg(c.input(1))
                      .Arg(c.grad())));
}

void MaxPoolGradGradGrad(GradContext& c) {
  c.set(0, ZerosLike(c.input(0)));
  c.set(1, ZerosLike(c.input(1)));
  c.set(
      2,
      Output(
          PoolGradLike(c, OpBuilder("MaxPoolGrad")).Arg(c.input(0)).Arg(c.input(1)).Arg(c.grad())));
}

void MaxPoolWithArgmaxGrad(GradContext& c) {
  if (!c.HasGrad(0)) return;
  c.set(0, Output(PoolLike(c, OpBuilder("MaxPoolGradWithArgmax"))
                      .Arg(c.input(0))
                      .Arg(c.grad(0))
                      .Arg(c.output(1))));
}

void AvgPoolGrad(GradContext& c) {
  c.set(0, Output(PoolLike(c, OpBuilder("AvgPoolGrad")).Arg(ShapeOf(c.input(0))).Arg(c.grad())));
}

void AvgPoolGradGrad(GradContext& c) {
  c.set(1, Output(PoolLike(c, OpBuilder("AvgPool")).Arg(c.grad())));
}

}  // namespace

void AddPoolGradients(GradTable& grads) {
  grads.Add("MaxPool", MaxPoolGrad);
  grads.Add("MaxPoolV2", MaxPoolV2Grad);
  grads.Add("MaxPoolGrad", MaxPoolGradGrad);
  grads.Add("MaxPoolGradGrad", MaxPoolGradGradGrad);
  grads.Add("MaxPoolWithArgmax", MaxPoolWithArgmaxGrad);
  grads.Add("AvgPool", AvgPoolGrad);
  grads.Add("AvgPoolGrad", AvgPoolGradGrad);
}

}  // namespace carillon
