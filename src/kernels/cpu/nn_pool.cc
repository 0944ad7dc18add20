// Pooling on vectors of channels, whichever way the channels lie.
#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "kernels/cpu/image_layout.h"
#include "kernels/cpu/nn.h"
#include "kernels/cpu/vec.h"
#include "kernels/work.h"

namespace carillon {
namespace {

// The taps of one window that lie inside the image.
struct Taps {
  int64_t begin, end;
  Taps(const WindowDim& window, int64_t start)
      : begin(std::max<int64_t>(0, start)), end(std::min(window.input, start + window.size)) {}
};

struct PoolProblem {
  PoolGeometry geometry;
  ChannelBlocks in, out;
  Layout input_layout, output_layout;
  Shape input_shape, output_shape;

  bool windows_overlap() const {
    return geometry.height.size > geometry.height.stride ||
           geometry.width.size > geometry.width.stride;
  }
  // Every input element lies under exactly one window.
  bool windows_tile() const {
    const auto tiles = [](const WindowDim& w) {
      return w.size == w.stride && w.output * w.stride - w.pad_before >= w.input;
    };
    return tiles(geometry.height) && tiles(geometry.width);
  }
};

// Calls body(offset of the vector inside a pixel, number of its elements) until `block` is covered.
template <typename Body>
CARILLON_ALWAYS_INLINE void ForEachVector(int64_t block, const Body& body) {
  int64_t at = 0;
  for (; at + kVec <= block; at += kVec) body(at, kVec);
  if (at < block) body(at, block - at);
}

CARILLON_ALWAYS_INLINE Vec LoadUpTo(const float* from, int64_t n) {
  return n == kVec ? Load(from) : LoadPart(from, n);
}

CARILLON_ALWAYS_INLINE void StoreUpTo(float* to, const Vec& v, int64_t n) {
  n == kVec ? Store(to, v) : StorePart(to, v, n);
}

// From one element block to the same of the next pixel, and the planes of all images and blocks in
// turn: `block` is a constant for the usual layout.
template <typename Body>
void ForEachPlane(const PoolProblem& p, const Body& body) {
  const double work = static_cast<double>(p.in.plane());
  const auto grain = static_cast<int64_t>(std::max(1.0, 32768 / std::max(1.0, work)));
  ParallelFor(p.in.batch * p.in.blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) body(plane);
  });
}

void MaxPool(const PoolProblem& p, const float* input, float* output) {
  const PoolGeometry& g = p.geometry;
  ForEachPlane(p, [&](int64_t plane) {
    const int64_t block = p.in.block;
    const float* from = input + plane * p.in.plane();
    float* to = output + plane * p.out.plane();
    for (int64_t y = 0; y < g.height.output; ++y) {
      if (WorkIsCancelled()) return;
      const Taps ty(g.height, g.height.Start(y));
      for (int64_t x = 0; x < g.width.output; ++x) {
        const Taps tx(g.width, g.width.Start(x));
        ForEachVector(block, [&](int64_t at, int64_t n) {
          // Starts from the lowest finite number, so that NaN never wins, as in TensorFlow.
          Vec best = Splat(std::numeric_limits<float>::lowest());
          for (int64_t i = ty.begin; i < ty.end; ++i) {
            const float* row = from + i * g.width.input * block + at;
            for (int64_t j = tx.begin; j < tx.end; ++j)
              best = MaxOf(LoadUpTo(row + j * block, n), best);
          }
          StoreUpTo(to + (y * g.width.output + x) * block + at, best, n);
        });
      }
    }
  });
}

// The gradient of each window goes to its maximum, the first in row-major order. With `relu` the
// input is the output of a Relu whose gradient is taken too: nothing passes where the maximum is
// not positive.
template <bool relu>
void MaxPoolGrad(const PoolProblem& p, const float* input, const float* grad, float* result) {
  const PoolGeometry& g = p.geometry;
  const bool tile = p.windows_tile();
  const bool overlap = p.windows_overlap();
  ForEachPlane(p, [&](int64_t plane) {
    const int64_t block = p.in.block;
    const float* from = input + plane * p.in.plane();
    const float* grads = grad + plane * p.out.plane();
    float* to = result + plane * p.in.plane();
    if (!tile) std::fill_n(to, p.in.plane(), 0.0f);
    for (int64_t y = 0; y < g.height.output; ++y) {
      if (WorkIsCancelled()) return;
      const Taps ty(g.height, g.height.Start(y));
      for (int64_t x = 0; x < g.width.output; ++x) {
        const Taps tx(g.width, g.width.Start(x));
        if (ty.begin >= ty.end || tx.begin >= tx.end) continue;
        ForEachVector(block, [&](int64_t at, int64_t n) {
          Vec best = LoadUpTo(from + (ty.begin * g.width.input + tx.begin) * block + at, n);
          VecInt which{};
          int32_t tap = 0;
          for (int64_t i = ty.begin; i < ty.end; ++i) {
            const float* row = from + i * g.width.input * block + at;
            for (int64_t j = tx.begin; j < tx.end; ++j, ++tap) {
              const Vec value = LoadUpTo(row + j * block, n);
              const VecInt larger = value > best;
              best = larger ? value : best;
              which = larger ? tap - VecInt{} : which;
            }
          }
          Vec gradient = LoadUpTo(grads + (y * g.width.output + x) * block + at, n);
          if constexpr (relu) gradient = best > Vec{} ? gradient : Vec{};
          tap = 0;
          for (int64_t i = ty.begin; i < ty.end; ++i) {
            float* row = to + i * g.width.input * block + at;
            for (int64_t j = tx.begin; j < tx.end; ++j, ++tap) {
              Vec part = which == tap - VecInt{} ? gradient : Vec{};
              if (overlap) part += LoadUpTo(row + j * block, n);
              StoreUpTo(row + j * block, part, n);
            }
          }
        });
      }
    }
  });
}

void AvgPool(const PoolProblem& p, const float* input, float* output) {
  const PoolGeometry& g = p.geometry;
  ForEachPlane(p, [&](int64_t plane) {
    const int64_t block = p.in.block;
    const float* from = input + plane * p.in.plane();
    float* to = output + plane * p.out.plane();
    for (int64_t y = 0; y < g.height.output; ++y) {
      if (WorkIsCancelled()) return;
      const Taps ty(g.height, g.height.Start(y));
      for (int64_t x = 0; x < g.width.output; ++x) {
        const Taps tx(g.width, g.width.Start(x));
        const auto count = static_cast<float>((ty.end - ty.begin) * (tx.end - tx.begin));
        ForEachVector(block, [&](int64_t at, int64_t n) {
          Vec sum{};
          for (int64_t i = ty.begin; i < ty.end; ++i) {
            const float* row = from + i * g.width.input * block + at;
            for (int64_t j = tx.begin; j < tx.end; ++j) sum += LoadUpTo(row + j * block, n);
          }
          StoreUpTo(to + (y * g.width.output + x) * block + at, sum / count, n);
        });
      }
    }
  });
}

void AvgPoolGrad(const PoolProblem& p, const float* grad, float* result) {
  const PoolGeometry& g = p.geometry;
  ForEachPlane(p, [&](int64_t plane) {
    const int64_t block = p.in.block;
    const float* grads = grad + plane * p.out.plane();
    float* to = result + plane * p.in.plane();
    std::fill_n(to, p.in.plane(), 0.0f);
    for (int64_t y = 0; y < g.height.output; ++y) {
      if (WorkIsCancelled()) return;
      const Taps ty(g.height, g.height.Start(y));
      for (int64_t x = 0; x < g.width.output; ++x) {
        const Taps tx(g.width, g.width.Start(x));
        const auto count = static_cast<float>((ty.end - ty.begin) * (tx.end - tx.begin));
        ForEachVector(block, [&](int64_t at, int64_t n) {
          const Vec share = LoadUpTo(grads + (y * g.width.output + x) * block + at, n) / count;
          for (int64_t i = ty.begin; i < ty.end; ++i) {
            float* row = to + i * g.width.input * block + at;
            for (int64_t j = tx.begin; j < tx.end; ++j)
              StoreUpTo(row + j * block, LoadUpTo(row + j * block, n) + share, n);
          }
        });
      }
    }
  });
}

// A pool over an input of known shape that lies in `layout`, in float.
StatusOr<PoolProblem> MakeProblem(const KernelRequest& request, const Shape& input,
                                  const Layout& layout) {
  if (request.output_dtype(0) != DType::kFloat) return Unimplemented("only float");
  CARILLON_ASSIGN_OR_RETURN(const WindowAttrs attrs, WindowAttrs::Read(request.node));
  if (!attrs.spatial_only) return Unimplemented("only windows over height and width");
  PoolProblem p;
  CARILLON_ASSIGN_OR_RETURN(p.geometry, MakePoolGeometry(attrs, input));
  p.input_shape = input;
  p.output_shape = p.geometry.OutputShape();
  if (input.num_elements() == 0 || p.output_shape.num_elements() == 0)
    return Unimplemented("there are no elements");
  // One pixel of the output is computed in one go, whether the step is still wanted or not.
  constexpr int64_t kMostTaps = 1 << 16;
  if (p.geometry.height.size * p.geometry.width.size > kMostTaps)
    return Unimplemented("the window is too large");
  const std::optional<ChannelBlocks> in = ViewAsBlocks(layout, input, attrs.format);
  if (!in) return Unimplemented("the layout ", layout->ToString(), " is not known here");
  if (in->block < kVec / 2) return Unimplemented("too few channels lie side by side");
  p.in = *in;
  p.out = *in;
  p.out.height = p.geometry.height.output;
  p.out.width = p.geometry.width.output;
  p.input_layout = layout;
  if (layout != nullptr) {
    p.output_layout = BlockedImageLayout(p.output_shape, attrs.format, p.in.block);
    if (p.output_layout == nullptr)
      return Unimplemented("the output cannot have the layout of the input");
  }
  return p;
}

class MaxPoolKernel final : public Kernel {
 public:
  explicit MaxPoolKernel(PoolProblem problem) : problem_(std::move(problem)) {
    traits_.input_layouts = {problem_.input_layout};
    traits_.output_layouts = {problem_.output_layout};
  }
  static KernelResult Make(const KernelRequest& request) {
    Shape input;
    if (!request.InputShape(0, &input)) return Unimplemented("the shapes are not known");
    CARILLON_ASSIGN_OR_RETURN(PoolProblem problem,
                              MakeProblem(request, input, request.inputs[0].layout));
    return std::make_unique<MaxPoolKernel>(std::move(problem));
  }
  Status Run(KernelContext& context) override {
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 0, problem_.input_shape));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, problem_.output_shape));
    MaxPool(problem_, context.input(0).data<float>(), output->mutable_data<float>());
    return CheckWanted();
  }

 private:
  const PoolProblem problem_;
};

template <bool relu>
class MaxPoolGradKernel final : public Kernel {
 public:
  // The maxima are found again in the input: the pool's output itself is never read, and may lie as
  // it does.
  MaxPoolGradKernel(PoolProblem problem, const Layout& unread) : problem_(std::move(problem)) {
    traits_.input_layouts = {problem_.input_layout, unread, problem_.output_layout};
    traits_.output_layouts = {problem_.input_layout};
  }
  static KernelResult Make(const KernelRequest& request) {
    Shape input, output, grad;
    if (!request.InputShape(0, &input) || !request.InputShape(1, &output) ||
        !request.InputShape(2, &grad)) {
      return Unimplemented("the shapes are not known");
    }
    CARILLON_ASSIGN_OR_RETURN(PoolProblem problem,
                              MakeProblem(request, input, request.inputs[0].layout));
    if (output != problem.output_shape || grad != problem.output_shape)
      return Unimplemented("the gradient has another shape than the output");
    return std::make_unique<MaxPoolGradKernel>(std::move(problem), request.inputs[1].layout);
  }
  Status Run(KernelContext& context) override {
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 0, problem_.input_shape));
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 2, problem_.output_shape));
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, problem_.input_shape));
    MaxPoolGrad<relu>(problem_, context.input(0).data<float>(), context.input(2).data<float>(),
                      result->mutable_data<float>());
    return CheckWanted();
  }

 private:
  const PoolProblem problem_;
};

class AvgPoolKernel final : public Kernel {
 public:
  explicit AvgPoolKernel(PoolProblem problem) : problem_(std::move(problem)) {
    traits_.input_layouts = {problem_.input_layout};
    traits_.output_layouts = {problem_.output_layout};
  }
  static KernelResult Make(const KernelRequest& request) {
    Shape input;
    if (!request.InputShape(0, &input)) return Unimplemented("the shapes are not known");
    CARILLON_ASSIGN_OR_RETURN(PoolProblem problem,
                              MakeProblem(request, input, request.inputs[0].layout));
    return std::make_unique<AvgPoolKernel>(std::move(problem));
  }
  Status Run(KernelContext& context) override {
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 0, problem_.input_shape));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, problem_.output_shape));
    AvgPool(problem_, context.input(0).data<float>(), output->mutable_data<float>());
    return CheckWanted();
  }

 private:
  const PoolProblem problem_;
};

class AvgPoolGradKernel final : public Kernel {
 public:
  explicit AvgPoolGradKernel(PoolProblem problem) : problem_(std::move(problem)) {
    traits_.input_layouts = {nullptr, problem_.output_layout};
    traits_.output_layouts = {problem_.input_layout};
  }
  static KernelResult Make(const KernelRequest& request) {
    Shape input, grad;
    if (!request.OutputShape(0, &input) || !request.InputShape(1, &grad))
      return Unimplemented("the shapes are not known");
    CARILLON_ASSIGN_OR_RETURN(const WindowAttrs attrs, WindowAttrs::Read(request.node));
    // The result lies as the gradient does.
    Layout layout;
    const Layout& given = request.inputs[1].layout;
    if (given != nullptr && grad.rank() == 4 && input.rank() == 4) {
      const std::optional<ChannelBlocks> blocks = ViewAsBlocks(given, grad, attrs.format);
      if (blocks) layout = BlockedImageLayout(input, attrs.format, blocks->block);
    }
    CARILLON_ASSIGN_OR_RETURN(PoolProblem problem, MakeProblem(request, input, layout));
    if (grad != problem.output_shape)
      return Unimplemented("the gradient has another shape than the output");
    return std::make_unique<AvgPoolGradKernel>(std::move(problem));
  }
  Status Run(KernelContext& context) override {
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 1, problem_.output_shape));
    CARILLON_ASSIGN_OR_RETURN(Tensor * result, context.AllocateOutput(0, problem_.input_shape));
    AvgPoolGrad(problem_, context.input(1).data<float>(), result->mutable_data<float>());
    return CheckWanted();
  }

 private:
  const PoolProblem problem_;
};

}  // namespace

void AddPoolCpuKernels(KernelTable& table) {
  table.Add({
      {"MaxPool", "cpu", FromClass<MaxPoolKernel>},
      {"MaxPoolGrad", "cpu", FromClass<MaxPoolGradKernel<false>>},
      {"_FusedReluPoolGrad", "cpu", FromClass<MaxPoolGradKernel<true>>},
      {"AvgPool", "cpu", FromClass<AvgPoolKernel>},
      {"AvgPoolGrad", "cpu", FromClass<AvgPoolGradKernel>},
  });
}

}  // namespace carillon
