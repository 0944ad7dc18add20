// Convolutions in float, by the fastest algorithm for their shapes.
#include <string>
#include <utility>

#include "kernels/cpu/conv_choice.h"
#include "kernels/cpu/nn.h"

namespace carillon {
namespace {

// Where the op's tensors stand among its inputs and outputs; -1: it has none.
struct ConvOp {
  ConvPass pass;
  bool depthwise;
  int input, filter, bias, grad;  // inputs
  int bias_output;                // of backward filter: the bias's gradient
};

constexpr ConvOp kConv2D = {ConvPass::kForward, false, 0, 1, -1, -1, -1};
constexpr ConvOp kFusedConv2D = {ConvPass::kForward, false, 0, 1, 2, -1, -1};
constexpr ConvOp kBackpropInput = {ConvPass::kBackwardInput, false, -1, 1, -1, 2, -1};
constexpr ConvOp kBackpropFilter = {ConvPass::kBackwardFilter, false, 0, -1, -1, 2, -1};
constexpr ConvOp kBackpropFilterBias = {ConvPass::kBackwardFilter, false, 0, -1, -1, 2, 1};
constexpr ConvOp kDepthwise = {ConvPass::kForward, true, 0, 1, -1, -1, -1};
constexpr ConvOp kDepthwiseBackpropInput = {ConvPass::kBackwardInput, true, -1, 1, -1, 2, -1};
constexpr ConvOp kDepthwiseBackpropFilter = {ConvPass::kBackwardFilter, true, 0, -1, -1, 2, -1};

class ConvKernel final : public Kernel {
 public:
  ConvKernel(const ConvOp& op, const ConvProblem& problem, int num_inputs, int num_outputs,
             std::unique_ptr<ConvAlgorithm> algorithm)
      : op_(op),
        input_shape_(problem.geometry.InputShape()),
        filter_shape_(problem.depthwise ? DepthwiseFilterShape(problem.geometry)
                                        : problem.geometry.FilterShape()),
        output_shape_(problem.geometry.OutputShape()),
        algorithm_(std::move(algorithm)) {
    traits_.scratch_bytes = algorithm_->scratch_bytes();
    traits_.input_layouts.resize(static_cast<size_t>(num_inputs));
    traits_.output_layouts.resize(static_cast<size_t>(num_outputs));
    if (op_.input >= 0)
      traits_.input_layouts[static_cast<size_t>(op_.input)] = algorithm_->input_layout();
    if (op_.grad >= 0)
      traits_.input_layouts[static_cast<size_t>(op_.grad)] = algorithm_->output_layout();
    if (op_.pass == ConvPass::kForward) traits_.output_layouts[0] = algorithm_->output_layout();
    if (op_.pass == ConvPass::kBackwardInput)
      traits_.output_layouts[0] = algorithm_->input_layout();
  }

  Status Run(KernelContext& context) override {
    ConvAlgorithm::Buffers buffers;
    CARILLON_ASSIGN_OR_RETURN(buffers.input, Read(context, op_.input, input_shape_));
    CARILLON_ASSIGN_OR_RETURN(buffers.filter, Read(context, op_.filter, filter_shape_));
    CARILLON_ASSIGN_OR_RETURN(buffers.output, Read(context, op_.grad, output_shape_));
    CARILLON_ASSIGN_OR_RETURN(buffers.bias, Read(context, op_.bias, Shape{output_channels()}));
    switch (op_.pass) {
      case ConvPass::kForward: {
        CARILLON_ASSIGN_OR_RETURN(buffers.output, Write(context, 0, output_shape_));
        break;
      }
      case ConvPass::kBackwardInput: {
        CARILLON_ASSIGN_OR_RETURN(buffers.input, Write(context, 0, input_shape_));
        break;
      }
      case ConvPass::kBackwardFilter: {
        CARILLON_ASSIGN_OR_RETURN(buffers.filter, Write(context, 0, filter_shape_));
        if (op_.bias_output >= 0) {
          CARILLON_ASSIGN_OR_RETURN(buffers.bias,
                                    Write(context, op_.bias_output, Shape{output_channels()}));
        }
        break;
      }
    }
    CARILLON_ASSIGN_OR_RETURN(const KernelScratch scratch,
                              KernelScratch::Get(context, traits_.scratch_bytes));
    buffers.scratch = scratch.data();
    return algorithm_->Run(buffers);
  }

 private:
  static Shape DepthwiseFilterShape(const ConvGeometry& g) {
    return Shape{g.height.size, g.width.size, g.in_channels, g.out_channels / g.in_channels};
  }
  int64_t output_channels() const {
    const int rank = filter_shape_.rank();
    return op_.depthwise ? filter_shape_.dim(rank - 1) * filter_shape_.dim(rank - 2)
                         : filter_shape_.dim(rank - 1);
  }
  // The input's memory; null when the op has no such input.
  static StatusOr<void*> Read(KernelContext& context, int input, const Shape& shape) {
    if (input < 0) return nullptr;
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, input, shape));
    return const_cast<void*>(context.input(input).raw_data());
  }
  static StatusOr<void*> Write(KernelContext& context, int output, const Shape& shape) {
    CARILLON_ASSIGN_OR_RETURN(Tensor * tensor, context.AllocateOutput(output, shape));
    return tensor->mutable_raw_data();
  }

  const ConvOp& op_;
  const Shape input_shape_, filter_shape_, output_shape_;
  const std::unique_ptr<ConvAlgorithm> algorithm_;
};

template <const ConvOp& op>
KernelResult MakeConv(const KernelRequest& request) {
  if (request.output_dtype(0) != DType::kFloat) return Unimplemented("only float");
  Shape input, filter, grad;
  const bool known =
      (op.input >= 0 ? request.InputShape(op.input, &input) : request.OutputShape(0, &input)) &&
      (op.filter >= 0 ? request.InputShape(op.filter, &filter) : request.OutputShape(0, &filter)) &&
      (op.grad < 0 || request.InputShape(op.grad, &grad));
  if (!known) return Unimplemented("the shapes are not known");
  CARILLON_ASSIGN_OR_RETURN(const WindowAttrs attrs, WindowAttrs::Read(request.node));
  ConvProblem problem;
  problem.pass = op.pass;
  problem.depthwise = op.depthwise;
  CARILLON_ASSIGN_OR_RETURN(problem.geometry, op.depthwise
                                                  ? MakeDepthwiseGeometry(attrs, input, filter)
                                                  : MakeConvGeometry(attrs, input, filter));
  if (input.num_elements() == 0 || filter.num_elements() == 0 ||
      problem.geometry.OutputShape().num_elements() == 0) {
    return Unimplemented("there are no elements");
  }
  // oneDNN cannot be stopped: what would take it long is left to loops that can. It has no fast
  // way for filters that are this large.
  constexpr double kMostProducts = 2e12, kMostSlowProducts = 2e9;
  constexpr int64_t kLargeFilter = 32 * 32;
  const auto taps = filter.dim(0) * filter.dim(1);
  const double products = static_cast<double>(problem.geometry.OutputShape().num_elements()) *
                          static_cast<double>(filter.num_elements()) /
                          static_cast<double>(problem.geometry.out_channels);
  if (products > (taps > kLargeFilter ? kMostSlowProducts : kMostProducts)) {
    return Unimplemented("it is too much to be computed in one go");
  }
  if (op.grad >= 0 && grad != problem.geometry.OutputShape())
    return Unimplemented("the gradient has another shape than the output");
  problem.has_bias = op.bias >= 0 || op.bias_output >= 0;
  if (op.bias >= 0) {
    Shape bias;
    if (!request.InputShape(op.bias, &bias) || bias != Shape{problem.geometry.out_channels})
      return Unimplemented("the bias is no vector with one element for each output channel");
    problem.has_relu = request.attr<bool>("relu");
  }
  if (op.input >= 0) problem.input_layout = request.inputs[static_cast<size_t>(op.input)].layout;
  if (op.grad >= 0) problem.output_layout = request.inputs[static_cast<size_t>(op.grad)].layout;
  CARILLON_ASSIGN_OR_RETURN(std::unique_ptr<ConvAlgorithm> algorithm,
                            ChooseConvAlgorithm(problem, request.options));
  return std::make_unique<ConvKernel>(op, problem, static_cast<int>(request.inputs.size()),
                                      static_cast<int>(request.outputs.size()),
                                      std::move(algorithm));
}

}  // namespace

void AddConvCpuKernels(KernelTable& table) {
  table.Add({
      {"Conv2D", "cpu", MakeConv<kConv2D>},
      {"_FusedConv2D", "cpu", MakeConv<kFusedConv2D>},
      {"Conv2DBackpropInput", "cpu", MakeConv<kBackpropInput>},
      {"Conv2DBackpropFilter", "cpu", MakeConv<kBackpropFilter>},
      {"_ConvBackpropFilterBias", "cpu", MakeConv<kBackpropFilterBias>},
      {"DepthwiseConv2dNative", "cpu", MakeConv<kDepthwise>},
      {"DepthwiseConv2dNativeBackpropInput", "cpu", MakeConv<kDepthwiseBackpropInput>},
      {"DepthwiseConv2dNativeBackpropFilter", "cpu", MakeConv<kDepthwiseBackpropFilter>},
  });
}

}  // namespace carillon
