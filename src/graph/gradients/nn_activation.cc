// Gradients of activations and of BiasAdd.
#include <string>

#include "carillon/ops/math.h"
#include "carillon/ops/nn.h"
#include "graph/gradients/broadcast.h"
#include "graph/gradients/nn.h"

namespace carillon {
namespace {

Output ZerosLike(const Output& x) { return OpBuilder("ZerosLike").Arg(x); }
Output Select(const Output& condition, const Output& a, const Output& b) {
  return OpBuilder("SelectV2").Arg(condition).Arg(a).Arg(b);
}

// Activations whose gradient op takes the gradient and one of the op's own tensors.
enum class Takes { kFeatures, kOutputs };

template <const char* const& grad_op, Takes takes>
void ActivationGrad(GradContext& c) {
  c.set(0, Output(WithAttrs(OpBuilder(grad_op), c.op(), {"alpha"})
                      .Arg(c.grad())
                      .Arg(takes == Takes::kFeatures ? c.input(0) : c.output(0))));
}

constexpr const char* kReluGrad = "ReluGrad";
constexpr const char* kRelu6Grad = "Relu6Grad";
constexpr const char* kLeakyReluGrad = "LeakyReluGrad";
constexpr const char* kEluGrad = "EluGrad";
constexpr const char* kSeluGrad = "SeluGrad";
constexpr const char* kSoftplusGrad = "SoftplusGrad";
constexpr const char* kSoftsignGrad = "SoftsignGrad";

// The gradient op is linear in the gradient, and constant in the features but for kinks.
template <const char* const& grad_op>
void PiecewiseLinearGradGrad(GradContext& c) {
  c.set(0, Output(WithAttrs(OpBuilder(grad_op), c.op(), {"alpha"}).Arg(c.grad()).Arg(c.input(1))));
  c.set(1, ZerosLike(c.input(1)));
}

// EluGrad and SeluGrad: where the output is negative they are gradient * (output + constant).
template <const char* const& grad_op>
void ExponentialGradGrad(GradContext& c) {
  const Output gradient = c.input(0), output = c.input(1);
  c.set(0, Output(OpBuilder(grad_op).Arg(c.grad()).Arg(output)));
  c.set(1, Select(Less(output, 0.0f), c.grad() * gradient, ZerosLike(output)));
}

// gradient / (exp(-x) + 1)
void SoftplusGradGrad(GradContext& c) {
  const Output gradient = c.input(0), x = c.input(1);
  c.set(0, Output(OpBuilder("SoftplusGrad").Arg(c.grad()).Arg(x)));
  c.set(1, c.grad() * gradient / (Exp(-x) + 2.0f + Exp(x)));
}

void BiasAddGradOf(GradContext& c) {
  c.set(0, c.grad());
  c.set(1, Output(WithAttrs(OpBuilder("BiasAddGrad"), c.op(), {"data_format"}).Arg(c.grad())));
}

// Each element of the sum came from all places of its channel.
void BiasAddGradGrad(GradContext& c) {
  Output spread = c.grad();
  const Output shape = OpBuilder("Shape").Arg(c.input(0));
  if (c.op().node()->attr<std::string>("data_format") == "NCHW") {
    // [channels, 1, …, 1] broadcasts from the second dimension on.
    const Output inner = OpBuilder("OnesLike")
                             .Arg(Output(OpBuilder("StridedSlice")
                                             .Arg(shape)
                                             .Arg({2})
                                             .Arg({0})
                                             .Arg({1})
                                             .Attr("end_mask", 1)));
    const Output channels = OpBuilder("Shape").Arg(c.grad());
    spread = OpBuilder("Reshape").Arg(spread).Arg(
        Output(OpBuilder("ConcatV2").Args(std::vector<Output>{channels, inner}).Arg(0)));
  }
  c.set(0, Output(OpBuilder("BroadcastTo").Arg(spread).Arg(shape)));
}

// The channels are the last dimension.
void BiasAddV1Grad(GradContext& c) {
  c.set(0, c.grad());
  c.set(1, BiasAddGrad(c.grad()));
}

}  // namespace

void AddActivationGradients(GradTable& grads) {
  grads.Add("Relu", ActivationGrad<kReluGrad, Takes::kOutputs>);
  grads.Add("ReluGrad", PiecewiseLinearGradGrad<kReluGrad>);
  grads.Add("Relu6", ActivationGrad<kRelu6Grad, Takes::kOutputs>);
  grads.Add("Relu6Grad", PiecewiseLinearGradGrad<kRelu6Grad>);
  grads.Add("LeakyRelu", ActivationGrad<kLeakyReluGrad, Takes::kFeatures>);
  grads.Add("LeakyReluGrad", PiecewiseLinearGradGrad<kLeakyReluGrad>);
  grads.Add("Elu", ActivationGrad<kEluGrad, Takes::kOutputs>);
  grads.Add("EluGrad", ExponentialGradGrad<kEluGrad>);
  grads.Add("Selu", ActivationGrad<kSeluGrad, Takes::kOutputs>);
  grads.Add("SeluGrad", ExponentialGradGrad<kSeluGrad>);
  grads.Add("Softplus", ActivationGrad<kSoftplusGrad, Takes::kFeatures>);
  grads.Add("SoftplusGrad", SoftplusGradGrad);
  grads.Add("Softsign", ActivationGrad<kSoftsignGrad, Takes::kFeatures>);
  grads.Add("BiasAdd", BiasAddGradOf);
  grads.Add("BiasAddGrad", BiasAddGradGrad);
  grads.Add("BiasAddV1", BiasAddV1Grad);
}

}  // namespace carillon
