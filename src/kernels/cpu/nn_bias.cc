// BiasAdd and its gradient on vectors of channels, whichever way the channels lie.
#include <algorithm>
#include <string>

#include "base/parallel.h"
#include "kernels/cpu/image_layout.h"
#include "kernels/cpu/nn.h"
#include "kernels/cpu/vec.h"

namespace carillon {
namespace {

// The tensor as channel blocks. Of a tensor that is no image the channels are innermost and all
// other dimensions are rows.
struct BiasProblem {
  Shape shape;
  Layout layout;
  ChannelBlocks view;
};

StatusOr<BiasProblem> MakeProblem(const KernelRequest& request, int input) {
  if (request.output_dtype(0) != DType::kFloat) return Unimplemented("only float");
  BiasProblem p;
  if (!request.InputShape(input, &p.shape)) return Unimplemented("the shapes are not known");
  if (p.shape.num_elements() == 0) return Unimplemented("there are no elements");
  p.layout = request.inputs[static_cast<size_t>(input)].layout;
  const AttrValue* attr = request.node.FindAttr("data_format");
  const bool nchw = attr != nullptr && request.attr<std::string>("data_format") == "NCHW";
  if (p.shape.rank() == 4) {
    CARILLON_ASSIGN_OR_RETURN(const ImageFormat format, ImageFormat::Parse(nchw ? "NCHW" : "NHWC"));
    const std::optional<ChannelBlocks> view = ViewAsBlocks(p.layout, p.shape, format);
    if (!view) return Unimplemented("the layout ", p.layout->ToString(), " is not known here");
    p.view = *view;
  } else {
    if (nchw || p.layout != nullptr || p.shape.rank() < 2)
      return Unimplemented("only images and row-major matrices");
    const int64_t channels = p.shape.dim(p.shape.rank() - 1);
    p.view = {p.shape.num_elements() / channels, 1, 1, 1, channels};
  }
  if (p.view.block < kVec / 2) return Unimplemented("too few channels lie side by side");
  return p;
}

// Rows of whole pixels of one channel block, to be shared among threads.
int64_t PlaneGrain(const ChannelBlocks& view) {
  return std::max<int64_t>(1, 32768 / std::max<int64_t>(1, view.plane()));
}

class BiasAddKernel final : public Kernel {
 public:
  explicit BiasAddKernel(BiasProblem problem) : problem_(std::move(problem)) {
    traits_.input_layouts = {problem_.layout, nullptr};
    traits_.output_layouts = {problem_.layout};
    traits_.reuses = {{0, 0}};
  }
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(BiasProblem problem, MakeProblem(request, 0));
    return std::make_unique<BiasAddKernel>(std::move(problem));
  }
  Status Run(KernelContext& context) override {
    const ChannelBlocks& view = problem_.view;
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 0, problem_.shape));
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 1, Shape{view.channels()}));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output,
                              context.ReuseOrAllocateOutput(0, {0}, problem_.shape));
    const float* const value = context.input(0).data<float>();
    const float* const bias = context.input(1).data<float>();
    float* const to = output->mutable_data<float>();
    ParallelFor(view.batch * view.blocks, PlaneGrain(view), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const float* shift = bias + plane % view.blocks * view.block;
        const int64_t from = plane * view.plane();
        if (view.block == kVec) {
          const Vec constant = Load(shift);
          for (int64_t i = from; i < from + view.plane(); i += kVec)
            Store(to + i, Load(value + i) + constant);
          continue;
        }
        for (int64_t pixel = from; pixel < from + view.plane(); pixel += view.block) {
          for (int64_t c = 0; c < view.block; ++c) to[pixel + c] = value[pixel + c] + shift[c];
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  const BiasProblem problem_;
};

// Every thread sums a range of images into a row of its own; the rows are added last.
class BiasAddGradKernel final : public Kernel {
 public:
  BiasAddGradKernel(BiasProblem problem, int threads)
      : problem_(std::move(problem)), parts_(std::max(1, threads)) {
    traits_.input_layouts = {problem_.layout};
    traits_.scratch_bytes = static_cast<size_t>(parts_ * problem_.view.channels()) * sizeof(float);
  }
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(BiasProblem problem, MakeProblem(request, 0));
    return std::make_unique<BiasAddGradKernel>(std::move(problem), request.options.threads);
  }
  Status Run(KernelContext& context) override {
    const ChannelBlocks& view = problem_.view;
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 0, problem_.shape));
    const int64_t channels = view.channels();
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, Shape{channels}));
    CARILLON_ASSIGN_OR_RETURN(const KernelScratch scratch,
                              KernelScratch::Get(context, traits_.scratch_bytes));
    const float* const grad = context.input(0).data<float>();
    auto* const rows = static_cast<float*>(scratch.data());
    const bool small = problem_.shape.num_elements() < 65536;
    const int64_t parts = std::min(view.batch, small ? 1 : parts_);
    ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        SumImages(grad, view.batch * part / parts, view.batch * (part + 1) / parts,
                  rows + part * channels);
    });
    float* const to = output->mutable_data<float>();
    std::copy_n(rows, channels, to);
    for (int64_t part = 1; part < parts; ++part) {
      for (int64_t c = 0; c < channels; ++c) to[c] += rows[part * channels + c];
    }
    return absl::OkStatus();
  }

 private:
  void SumImages(const float* grad, int64_t first, int64_t last, float* sums) const {
    const ChannelBlocks& view = problem_.view;
    std::fill_n(sums, view.channels(), 0.0f);
    for (int64_t n = first; n < last; ++n) {
      for (int64_t block = 0; block < view.blocks; ++block) {
        const float* from = grad + (n * view.blocks + block) * view.plane();
        float* to = sums + block * view.block;
        if (view.block == kVec) {
          Vec even{}, odd{};
          int64_t i = 0;
          for (; i + 2 * kVec <= view.plane(); i += 2 * kVec) {
            even += Load(from + i);
            odd += Load(from + i + kVec);
          }
          if (i < view.plane()) even += Load(from + i);
          Store(to, Load(to) + (even + odd));
          continue;
        }
        for (int64_t pixel = 0; pixel < view.plane(); pixel += view.block) {
          for (int64_t c = 0; c < view.block; ++c) to[c] += from[pixel + c];
        }
      }
    }
  }

  const BiasProblem problem_;
  const int64_t parts_;
};

}  // namespace

void AddBiasCpuKernels(KernelTable& table) {
  table.Add({
      {"BiasAdd", "cpu", FromClass<BiasAddKernel>},
      {"BiasAddV1", "cpu", FromClass<BiasAddKernel>},
      {"BiasAddGrad", "cpu", FromClass<BiasAddGradKernel>},
  });
}

}  // namespace carillon
