// Gradients of convolutions. A convolution is linear in its input and in its filter, so its
// gradients are convolutions again, and so are theirs.
#include "graph/gradients/broadcast.h"
#include "graph/gradients/nn.h"

namespace carillon {
namespace {

OpBuilder& ConvLike(const GradContext& c, OpBuilder&& builder) {
  return WithAttrs(builder, c.op(),
                   {"strides", "padding", "explicit_paddings", "data_format", "dilations"});
}

// The names of the three ops that belong together.
struct ConvNames {
  std::string_view forward, backprop_input, backprop_filter;
};
constexpr ConvNames kConv2D = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
constexpr ConvNames kDepthwise = {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                                  "DepthwiseConv2dNativeBackpropFilter"};

// (input, filter) -> output
template <const ConvNames& names>
void ForwardGrad(GradContext& c) {
  const Output input = c.input(0), filter = c.input(1);
  c.set(0, Output(ConvLike(c, OpBuilder(names.backprop_input))
                      .Arg(ShapeOf(input))
                      .Arg(filter)
                      .Arg(c.grad())));
  c.set(1, Output(ConvLike(c, OpBuilder(names.backprop_filter))
                      .Arg(input)
                      .Arg(ShapeOf(filter))
                      .Arg(c.grad())));
}

// (input_sizes, filter, out_backprop) -> input gradient
template <const ConvNames& names>
void BackpropInputGrad(GradContext& c) {
  const Output filter = c.input(1), out_backprop = c.input(2);
  c.set(1, Output(ConvLike(c, OpBuilder(names.backprop_filter))
                      .Arg(c.grad())
                      .Arg(ShapeOf(filter))
                      .Arg(out_backprop)));
  c.set(2, Output(ConvLike(c, OpBuilder(names.forward)).Arg(c.grad()).Arg(filter)));
}

// (input, filter_sizes, out_backprop) -> filter gradient
template <const ConvNames& names>
void BackpropFilterGrad(GradContext& c) {
  const Output input = c.input(0), out_backprop = c.input(2);
  c.set(0, Output(ConvLike(c, OpBuilder(names.backprop_input))
                      .Arg(ShapeOf(input))
                      .Arg(c.grad())
                      .Arg(out_backprop)));
  c.set(2, Output(ConvLike(c, OpBuilder(names.forward)).Arg(input).Arg(c.grad())));
}

}  // namespace

void AddConvGradients(GradTable& grads) {
  grads.Add("Conv2D", ForwardGrad<kConv2D>);
  grads.Add("Conv2DBackpropInput", BackpropInputGrad<kConv2D>);
  grads.Add("Conv2DBackpropFilter", BackpropFilterGrad<kConv2D>);
  grads.Add("DepthwiseConv2dNative", ForwardGrad<kDepthwise>);
  grads.Add("DepthwiseConv2dNativeBackpropInput", BackpropInputGrad<kDepthwise>);
  grads.Add("DepthwiseConv2dNativeBackpropFilter", BackpropFilterGrad<kDepthwise>);
}

}  // namespace carillon
