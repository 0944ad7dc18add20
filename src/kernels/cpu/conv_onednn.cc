// Convolutions by oneDNN.
#include <dnnl.hpp>
#include <optional>
#include <utility>

#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/image_layout.h"

namespace carillon {
namespace {

using dnnl::algorithm;
using dnnl::memory;

size_t Aligned(size_t bytes) { return (bytes + kTensorAlignment - 1) & ~(kTensorAlignment - 1); }

// The row-major filter under oneDNN's dimensions: (groups,) out, in, height, width.
memory::desc FilterDesc(const ConvProblem& problem) {
  const ConvGeometry& g = problem.geometry;
  const int64_t outs = g.out_channels;
  const int64_t ins = problem.depthwise ? 1 : g.filter_in_channels();
  const int64_t column = (problem.depthwise ? 1 : ins) * outs;  // from one tap to the next
  const int64_t row = g.width.size * column;
  if (g.groups == 1 && !problem.depthwise) {
    return memory::desc({outs, ins, g.height.size, g.width.size}, memory::data_type::f32,
                        memory::dims{1, outs, row, column});
  }
  const int64_t group_outs = outs / g.groups;
  return memory::desc({g.groups, group_outs, ins, g.height.size, g.width.size},
                      memory::data_type::f32, memory::dims{group_outs, 1, outs, row, column});
}

// One primitive, whichever the pass.
struct ConvPrimitive {
  dnnl::primitive primitive;
  memory::desc input, filter, output, scratchpad;
  std::string implementation;  // "jit:avx512_core", "ref:any", …
};

struct ConvDescs {
  memory::desc input, filter, bias, output;
  memory::dims strides, dilations, pads_before, pads_after;
};

ConvPrimitive MakeForward(const ConvProblem& problem, algorithm how, const ConvDescs& d,
                          const dnnl::engine& engine) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (problem.has_relu) {
    dnnl::post_ops ops;
    ops.append_eltwise(1.0f, algorithm::eltwise_relu, 0.0f, 0.0f);
    attr.set_post_ops(ops);
  }
  using dnnl::convolution_forward;
  const auto kind = dnnl::prop_kind::forward_training;
  const auto desc =
      problem.has_bias
          ? convolution_forward::desc(kind, how, d.input, d.filter, d.bias, d.output, d.strides,
                                      d.dilations, d.pads_before, d.pads_after)
          : convolution_forward::desc(kind, how, d.input, d.filter, d.output, d.strides,
                                      d.dilations, d.pads_before, d.pads_after);
  const convolution_forward::primitive_desc made(desc, attr, engine);
  return {convolution_forward(made), made.src_desc(),        made.weights_desc(),
          made.dst_desc(),           made.scratchpad_desc(), made.impl_info_str()};
}

// Backward primitives ask for a forward one as a hint; any that exists will do.
dnnl::convolution_forward::primitive_desc MakeHint(algorithm how, const ConvDescs& d,
                                                   const dnnl::engine& engine) {
  using dnnl::convolution_forward;
  const auto make = [&](algorithm forward) {
    const convolution_forward::desc desc(dnnl::prop_kind::forward_training, forward, d.input,
                                         d.filter, d.output, d.strides, d.dilations, d.pads_before,
                                         d.pads_after);
    return convolution_forward::primitive_desc(desc, engine);
  };
  try {
    return make(how);
  } catch (const dnnl::error&) {
    return make(algorithm::convolution_direct);
  }
}

ConvPrimitive MakeBackwardInput(algorithm how, const ConvDescs& d, const dnnl::engine& engine) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  using dnnl::convolution_backward_data;
  const convolution_backward_data::desc desc(how, d.input, d.filter, d.output, d.strides,
                                             d.dilations, d.pads_before, d.pads_after);
  const convolution_backward_data::primitive_desc made(desc, attr, engine,
                                                       MakeHint(how, d, engine));
  return {convolution_backward_data(made),
          made.diff_src_desc(),
          made.weights_desc(),
          made.diff_dst_desc(),
          made.scratchpad_desc(),
          made.impl_info_str()};
}

ConvPrimitive MakeBackwardFilter(const ConvProblem& problem, algorithm how, const ConvDescs& d,
                                 const dnnl::engine& engine) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  using dnnl::convolution_backward_weights;
  const auto desc =
      problem.has_bias
          ? convolution_backward_weights::desc(how, d.input, d.filter, d.bias, d.output, d.strides,
                                               d.dilations, d.pads_before, d.pads_after)
          : convolution_backward_weights::desc(how, d.input, d.filter, d.output, d.strides,
                                               d.dilations, d.pads_before, d.pads_after);
  const convolution_backward_weights::primitive_desc made(desc, attr, engine,
                                                          MakeHint(how, d, engine));
  return {convolution_backward_weights(made),
          made.src_desc(),
          made.diff_weights_desc(),
          made.diff_dst_desc(),
          made.scratchpad_desc(),
          made.impl_info_str()};
}

// The filter is turned into the primitive's own layout (or, of gradients, back) in scratch memory:
// first the filter, behind it oneDNN's scratchpad.
class DnnlConv final : public ConvAlgorithm {
 public:
  DnnlConv(const ConvProblem& problem, std::string name, const dnnl::engine& engine,
           const ConvPrimitive& made, Layout input_layout, Layout output_layout)
      : pass_(problem.pass), has_bias_(problem.has_bias) {
    name_ = std::move(name);
    input_layout_ = std::move(input_layout);
    output_layout_ = std::move(output_layout);
    const memory::desc plain = FilterDesc(problem);
    if (made.filter != plain) {
      filter_bytes_ = Aligned(made.filter.get_size());
      const bool back = pass_ == ConvPass::kBackwardFilter;
      const memory::desc& from = back ? made.filter : plain;
      const memory::desc& to = back ? plain : made.filter;
      reorder_ = std::make_unique<DnnlCall>(
          engine, dnnl::reorder(dnnl::reorder::primitive_desc(engine, from, engine, to)),
          std::vector<DnnlCall::Argument>{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    }
    scratch_bytes_ = filter_bytes_ + Aligned(made.scratchpad.get_size());
    std::vector<DnnlCall::Argument> arguments;
    const memory::desc bias({problem.geometry.out_channels}, memory::data_type::f32,
                            memory::format_tag::a);
    switch (pass_) {
      case ConvPass::kForward:
        arguments = {{DNNL_ARG_SRC, made.input},
                     {DNNL_ARG_WEIGHTS, made.filter},
                     {DNNL_ARG_DST, made.output},
                     {DNNL_ARG_SCRATCHPAD, made.scratchpad}};
        if (has_bias_) arguments.push_back({DNNL_ARG_BIAS, bias});
        break;
      case ConvPass::kBackwardInput:
        arguments = {{DNNL_ARG_DIFF_SRC, made.input},
                     {DNNL_ARG_WEIGHTS, made.filter},
                     {DNNL_ARG_DIFF_DST, made.output},
                     {DNNL_ARG_SCRATCHPAD, made.scratchpad}};
        break;
      case ConvPass::kBackwardFilter:
        arguments = {{DNNL_ARG_SRC, made.input},
                     {DNNL_ARG_DIFF_WEIGHTS, made.filter},
                     {DNNL_ARG_DIFF_DST, made.output},
                     {DNNL_ARG_SCRATCHPAD, made.scratchpad}};
        if (has_bias_) arguments.push_back({DNNL_ARG_DIFF_BIAS, bias});
        break;
    }
    call_ = std::make_unique<DnnlCall>(engine, made.primitive, std::move(arguments));
  }

  Status Run(const Buffers& b) override {
    char* const scratch = static_cast<char*>(b.scratch);
    void* const filter = reorder_ == nullptr ? b.filter : scratch;
    void* const scratchpad = scratch == nullptr ? nullptr : scratch + filter_bytes_;
    if (reorder_ != nullptr && pass_ != ConvPass::kBackwardFilter)
      CARILLON_RETURN_IF_ERROR(reorder_->Run({b.filter, filter}));
    if (has_bias_) {
      CARILLON_RETURN_IF_ERROR(call_->Run({b.input, filter, b.output, scratchpad, b.bias}));
    } else {
      CARILLON_RETURN_IF_ERROR(call_->Run({b.input, filter, b.output, scratchpad}));
    }
    if (reorder_ != nullptr && pass_ == ConvPass::kBackwardFilter)
      CARILLON_RETURN_IF_ERROR(reorder_->Run({filter, b.filter}));
    return absl::OkStatus();
  }

 private:
  const ConvPass pass_;
  const bool has_bias_;
  size_t filter_bytes_ = 0;
  std::unique_ptr<DnnlCall> reorder_;  // null when the primitive takes the filter as it is
  std::unique_ptr<DnnlCall> call_;
};

// How the two images should lie; undefined: as oneDNN likes.
struct WantedImages {
  std::optional<memory::desc> input, output;
};

ConvAlgorithmResult MakeDnnlConv(const ConvProblem& problem, const char* name, algorithm how,
                                 const WantedImages& wanted) {
  const ConvGeometry& g = problem.geometry;
  const Shape input_shape = g.InputShape();
  const Shape output_shape = g.OutputShape();
  ConvAlgorithmResult result = Unimplemented("not made");
  const Status status = CatchDnnl([&] {
    const dnnl::engine engine = MakeDnnlEngine();
    const auto any = [](const memory::dims& dims) {
      return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
    };
    ConvDescs d;
    d.input = wanted.input.value_or(any(ImageDims(input_shape, g.format)));
    d.output = wanted.output.value_or(any(ImageDims(output_shape, g.format)));
    d.filter = any(FilterDesc(problem).dims());
    d.bias = memory::desc({g.out_channels}, memory::data_type::f32, memory::format_tag::a);
    d.strides = {g.height.stride, g.width.stride};
    d.dilations = {g.height.dilation - 1, g.width.dilation - 1};
    // Padding behind the image that no window reaches is left out; oneDNN derives the output size.
    const auto pad_after = [](const WindowDim& w) {
      return (w.output - 1) * w.stride + (w.size - 1) * w.dilation + 1 - w.input - w.pad_before;
    };
    d.pads_before = {g.height.pad_before, g.width.pad_before};
    d.pads_after = {pad_after(g.height), pad_after(g.width)};
    const ConvPrimitive made =
        problem.pass == ConvPass::kForward         ? MakeForward(problem, how, d, engine)
        : problem.pass == ConvPass::kBackwardInput ? MakeBackwardInput(how, d, engine)
                                                   : MakeBackwardFilter(problem, how, d, engine);
    if (made.implementation.starts_with("ref")) {
      result = Unimplemented("oneDNN has only plain loops for it");
      return;
    }
    const std::optional<Layout> input = ImageLayout(made.input, input_shape, g.format);
    const std::optional<Layout> output = ImageLayout(made.output, output_shape, g.format);
    if (!input || !output) {
      result = Unimplemented("oneDNN would pad the channels");
      return;
    }
    result = std::make_unique<DnnlConv>(problem, name, engine, made, *input, *output);
  });
  CARILLON_RETURN_IF_ERROR(status);
  return result;
}

memory::desc ChannelsLast(const Shape& shape, const ImageFormat& format) {
  return memory::desc(ImageDims(shape, format), memory::data_type::f32, memory::format_tag::nhwc);
}

}  // namespace

ConvAlgorithmResult MakeDirectBlockedConv(const ConvProblem& problem) {
  return MakeDnnlConv(problem, "direct/blocked", algorithm::convolution_direct, {});
}

ConvAlgorithmResult MakeDirectChannelsLastConv(const ConvProblem& problem) {
  const ConvGeometry& g = problem.geometry;
  return MakeDnnlConv(
      problem, "direct/channels-last", algorithm::convolution_direct,
      {ChannelsLast(g.InputShape(), g.format), ChannelsLast(g.OutputShape(), g.format)});
}

ConvAlgorithmResult MakeDirectAsGivenConv(const ConvProblem& problem) {
  const ConvGeometry& g = problem.geometry;
  WantedImages wanted;
  if (problem.pass != ConvPass::kBackwardInput)
    wanted.input = ImageDesc(problem.input_layout, g.InputShape(), g.format);
  if (problem.pass != ConvPass::kForward)
    wanted.output = ImageDesc(problem.output_layout, g.OutputShape(), g.format);
  return MakeDnnlConv(problem, "direct/as-given", algorithm::convolution_direct, wanted);
}

ConvAlgorithmResult MakeWinogradConv(const ConvProblem& problem) {
  return MakeDnnlConv(problem, "winograd/blocked", algorithm::convolution_winograd, {});
}

}  // namespace carillon
