#include "kernels/cpu/image_layout.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/parallel.h"

namespace carillon {
namespace {

using dnnl::memory;

// Where dimension i of the tensor goes in N, C, H, W.
std::vector<int> ToNchw(const ImageFormat& format) {
  std::vector<int> permutation(4);
  permutation[static_cast<size_t>(format.batch)] = 0;
  permutation[static_cast<size_t>(format.channels)] = 1;
  permutation[static_cast<size_t>(format.height)] = 2;
  permutation[static_cast<size_t>(format.width)] = 3;
  return permutation;
}

// Where dimension i of N, C, H, W goes in the tensor.
std::vector<int> FromNchw(const ImageFormat& format) {
  return {format.batch, format.channels, format.height, format.width};
}

bool IsPlainBlocking(const memory::desc& desc) {
  const dnnl_memory_desc_t& d = desc.data;
  if (d.format_kind != dnnl_blocked || d.offset0 != 0 || d.extra.flags != 0) return false;
  for (int i = 0; i < d.ndims; ++i) {
    if (d.dims[i] != d.padded_dims[i]) return false;
  }
  return true;
}

// Row-major, whatever the strides of dimensions of size 1.
bool IsRowMajor(const memory::desc& desc) {
  const dnnl_memory_desc_t& d = desc.data;
  if (d.format_desc.blocking.inner_nblks != 0) return false;
  int64_t stride = 1;
  for (int i = d.ndims; i-- > 0;) {
    if (d.dims[i] != 1 && d.format_desc.blocking.strides[i] != stride) return false;
    stride *= d.dims[i];
  }
  return true;
}

}  // namespace

memory::dims ImageDims(const Shape& shape, const ImageFormat& format) {
  return {shape.dim(format.batch), shape.dim(format.channels), shape.dim(format.height),
          shape.dim(format.width)};
}

memory::desc ImageDesc(const Layout& layout, const Shape& shape, const ImageFormat& format) {
  return DescOf(layout, DType::kFloat, shape).permute_axes(ToNchw(format));
}

std::optional<Layout> ImageLayout(const memory::desc& desc, const Shape& shape,
                                  const ImageFormat& format) {
  if (!IsPlainBlocking(desc)) return std::nullopt;
  const memory::desc own = desc.permute_axes(FromNchw(format));
  if (IsRowMajor(own)) return Layout();
  return std::make_shared<DnnlLayout>(own);
}

Layout BlockedImageLayout(const Shape& shape, const ImageFormat& format, int64_t block) {
  const int64_t channels = shape.dim(format.channels);
  if (channels % block != 0 || channels == 0) return nullptr;
  const memory::desc desc(ImageDims(shape, format), memory::data_type::f32,
                          block == 16  ? memory::format_tag::nChw16c
                          : block == 8 ? memory::format_tag::nChw8c
                                       : memory::format_tag::nhwc);
  return ImageLayout(desc, shape, format).value_or(nullptr);
}

std::optional<ChannelBlocks> ViewAsBlocks(const Layout& layout, const Shape& shape,
                                          const ImageFormat& format) {
  ChannelBlocks view;
  const int64_t channels = shape.dim(format.channels);
  view.batch = shape.dim(format.batch);
  view.height = shape.dim(format.height);
  view.width = shape.dim(format.width);
  if (layout == nullptr) {
    view.block = format.channels_last() ? channels : 1;
  } else {
    view.block = 0;
    for (const int64_t block : {int64_t{16}, int64_t{8}}) {
      const Layout blocked = BlockedImageLayout(shape, format, block);
      if (blocked != nullptr && SameLayout(layout, blocked)) view.block = block;
    }
    // A row-major tensor of the other format.
    if (view.block == 0) {
      const dnnl_memory_desc_t d = ImageDesc(layout, shape, format).data;
      if (d.format_desc.blocking.inner_nblks != 0) return std::nullopt;
      const auto tagged = [&](memory::format_tag tag) {
        return memory::desc(ImageDims(shape, format), memory::data_type::f32, tag) ==
               ImageDesc(layout, shape, format);
      };
      if (tagged(memory::format_tag::nhwc)) {
        view.block = channels;
      } else if (tagged(memory::format_tag::nchw)) {
        view.block = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  view.blocks = view.block == 0 ? 0 : channels / view.block;
  return view;
}

namespace {

// Any layout into any other, by oneDNN.
class DnnlReorderKernel final : public Kernel {
 public:
  // Throws dnnl::error. A reorder insists on memory of its own engine.
  DnnlReorderKernel(const dnnl::engine& engine, const memory::desc& from, const memory::desc& to,
                    const Shape& shape)
      : call_(engine, dnnl::reorder(dnnl::reorder::primitive_desc(engine, from, engine, to)),
              {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}),
        shape_(shape) {}
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    if (input.shape() != shape_) {
      return Internal("a reorder made for ", shape_.ToString(), " got ", input.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.dtype(), shape_));
    return call_.Run({input.raw_data(), output->raw_data()});
  }

 private:
  DnnlCall call_;
  const Shape shape_;
};

}  // namespace

KernelResult MakeCpuReorder(const ValueInfo& from, const Layout& to, const KernelOptions&) {
  Shape shape;
  if (!from.shape.AsShape(&shape))
    return Internal("a layout was chosen for a value whose shape is not known");
  std::unique_ptr<Kernel> kernel;
  CARILLON_RETURN_IF_ERROR(CatchDnnl([&] {
    kernel = std::make_unique<DnnlReorderKernel>(MakeDnnlEngine(),
                                                 DescOf(from.layout, from.dtype, shape),
                                                 DescOf(to, from.dtype, shape), shape);
  }));
  return kernel;
}

}  // namespace carillon
