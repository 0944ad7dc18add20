// Gradients of batch and local response normalisation.
#include <string>
#include <vector>

#include "carillon/ops/math.h"
#include "carillon/ops/nn.h"
#include "graph/gradients/nn.h"

namespace carillon {
namespace {

void LrnGrad(GradContext& c) {
  c.set(0, Output(WithAttrs(OpBuilder("LRNGrad"), c.op(), {"depth_radius", "bias", "alpha", "beta"})
                      .Arg(c.grad())
                      .Arg(c.input(0))
                      .Arg(c.output(0))));
}

// In training the gradient op takes the batch's statistics, which the forward op reserved; else the
// ones that were given.
void BatchNormGrad(GradContext& c, std::string_view grad_op, bool has_third_reserve) {
  if (!c.HasGrad(0)) return;
  const bool training = c.op().node()->attr<bool>("is_training");
  OpBuilder grad(grad_op);
  WithAttrs(grad, c.op(), {"epsilon", "data_format", "is_training"});
  grad.Arg(c.grad(0)).Arg(c.input(0)).Arg(c.input(1));
  grad.Arg(training ? c.output(3) : c.input(3)).Arg(training ? c.output(4) : c.input(4));
  if (has_third_reserve) grad.Arg(c.output(5));
  const Operation made = grad.Build();
  for (int i = 0; i < 3; ++i) c.set(i, made.output(i));
}

void FusedBatchNormGrad(GradContext& c) { BatchNormGrad(c, "FusedBatchNormGrad", false); }
void FusedBatchNormV2Grad(GradContext& c) { BatchNormGrad(c, "FusedBatchNormGradV2", false); }
void FusedBatchNormV3Grad(GradContext& c) { BatchNormGrad(c, "FusedBatchNormGradV3", true); }

Output CastTo(const Output& x, DType dtype) {
  return x.dtype() == dtype ? x : Output(OpBuilder("Cast").Arg(x).Attr("DstT", dtype));
}

// The second derivative: the first one written out in elementary ops, and differentiated. Inputs
// are y_backprop, x, scale, and mean and variance, which in training follow from x.
void FusedBatchNormGradGrad(GradContext& c) {
  const Node& node = *c.op().node();
  const std::string& format = node.attr<std::string>("data_format");
  const bool training = node.attr<bool>("is_training");
  const float epsilon = node.attr<float>("epsilon");
  const int rank = static_cast<int>(format.size());
  const int channels = format[1] == 'C' ? 1 : rank - 1;
  std::vector<int32_t> others, broadcast(static_cast<size_t>(rank), 1);
  for (int i = 0; i < rank; ++i) {
    if (i != channels) others.push_back(i);
  }
  broadcast[static_cast<size_t>(channels)] = -1;
  const Input axes = Tensor::FromVector(others);
  // A vector over the channels, shaped to broadcast against the image.
  const auto spread = [&](const Output& vector) {
    return Output(OpBuilder("Reshape").Arg(vector).Arg(Input(Tensor::FromVector(broadcast))));
  };

  const DType dtype = c.input(0).dtype();
  const Output dy = CastTo(c.input(0), kFloat), x = CastTo(c.input(1), kFloat);
  const Output scale = c.input(2);
  const Output mean = training ? Mean(x, axes, true) : spread(c.input(3));
  const Output centered = x - mean;
  const Output variance =
      (training ? Mean(Square(centered), axes, true) : spread(c.input(4))) + epsilon;
  const Output inverse = Rsqrt(variance);
  Output inner = dy;
  if (training) {
    inner = dy - Mean(dy, axes, true) - centered * Mean(dy * centered, axes, true) / variance;
  }
  const Output x_grad = spread(scale) * inverse * inner;
  const Output scale_grad = Sum(dy * centered * inverse, axes);
  const Output offset_grad = Sum(dy, axes);
  const std::vector<Output> arrived = {CastTo(c.grad(0), kFloat), c.grad(1), c.grad(2)};
  // The inputs may depend on each other further up, which is not this op's business.
  const std::vector<Output> inputs = {dy, x, scale};
  const std::vector<Gradient> gradients = Gradients({x_grad, scale_grad, offset_grad}, inputs,
                                                    {.grad_ys = arrived, .stop_gradients = inputs});
  c.set(0, CastTo(gradients[0].Dense(), dtype));
  if (!gradients[1].empty()) c.set(1, CastTo(gradients[1].Dense(), dtype));
  if (!gradients[2].empty()) c.set(2, gradients[2].Dense());
}

}  // namespace

void AddNormGradients(GradTable& grads) {
  grads.Add("LRN", LrnGrad);
  grads.Add("FusedBatchNorm", FusedBatchNormGrad);
  grads.Add("FusedBatchNormV2", FusedBatchNormV2Grad);
  grads.Add("FusedBatchNormV3", FusedBatchNormV3Grad);
  grads.Add("FusedBatchNormGrad", FusedBatchNormGradGrad);
  grads.Add("FusedBatchNormGradV2", FusedBatchNormGradGrad);
  grads.Add("FusedBatchNormGradV3", FusedBatchNormGradGrad);
}

}  // namespace carillon
