// Kernels that move blocks of space into the batch or the depth, and back.
#include <algorithm>

#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"

namespace carillon {
namespace {

// The blocks of dimensions 1 … m and what is padded to (or cropped from) each.
struct Blocks {
  Ints size;
  Ints before;
  Ints after;
  int64_t count = 1;  // the product of the sizes
};

StatusOr<Blocks> ReadBlocks(std::span<const int64_t> sizes, const Tensor& borders,
                            std::string_view what, int rank) {
  const int64_t m = static_cast<int64_t>(sizes.size());
  if (rank < 1 + m) {
    return InvalidArgument("the input should have at least ", 1 + m, " dimensions but has ", rank);
  }
  if (borders.rank() != 2 || borders.dim(0) != m || borders.dim(1) != 2) {
    return InvalidArgument(what, " should have shape [", m, ",2] but have ",
                           borders.shape().ToString());
  }
  const Ints pairs = ReadInts(borders);
  Blocks blocks;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1) {
      return InvalidArgument("block sizes should be positive but one is ", sizes[i]);
    }
    if (pairs[2 * i] < 0 || pairs[2 * i + 1] < 0) {
      return InvalidArgument(what, " should not be negative but are ", pairs[2 * i], " and ",
                             pairs[2 * i + 1]);
    }
    if (__builtin_mul_overflow(blocks.count, sizes[i], &blocks.count)) {
      return InvalidArgument("the product of the block sizes is too large");
    }
    blocks.size.push_back(sizes[i]);
    blocks.before.push_back(pairs[2 * i]);
    blocks.after.push_back(pairs[2 * i + 1]);
  }
  return blocks;
}

// Walks over all blocks. For each calls copy(space offset, batch offset, dims) with the strides of
// the space side in `from` and those of the batch side in `to`. `batch_side` is the shape whose
// first dimension holds the blocks, `space_side` the other.
template <typename Copy>
void ForBlocks(const Shape& space_side, const Shape& batch_side, const Blocks& blocks,
               Copy&& copy) {
  const Strides space = RowMajorStrides(space_side);
  const Strides batch = RowMajorStrides(batch_side);
  const size_t m = blocks.size.size();
  const int64_t batches = space_side.dim(0);
  for (int64_t block = 0; block < blocks.count; ++block) {
    CopyDims dims;
    dims.push_back({batches, space[0], batch[0]});
    int64_t space_offset = 0;
    int64_t batch_offset = block * batches * batch[0];
    int64_t rest = block;
    Ints position(m);
    for (size_t i = m; i-- > 0;) {
      position[i] = rest % blocks.size[i];
      rest /= blocks.size[i];
    }
    bool empty = false;
    for (size_t i = 0; i < m; ++i) {
      const int64_t step = blocks.size[i];
      const int64_t size = space_side.dim(static_cast<int>(i) + 1);
      // Element k of the block is element k * step + shift of the space side; k runs over those
      // that are inside.
      const int64_t shift = position[i] - blocks.before[i];
      const int64_t first = shift < 0 ? (-shift + step - 1) / step : 0;
      const int64_t past = std::min(batch_side.dim(static_cast<int>(i) + 1),
                                    size > shift ? (size - shift + step - 1) / step : int64_t{0});
      if (first >= past) {
        empty = true;
        break;
      }
      space_offset += (first * step + shift) * space[i + 1];
      batch_offset += first * batch[i + 1];
      dims.push_back({past - first, step * space[i + 1], batch[i + 1]});
    }
    if (empty) continue;
    for (int i = static_cast<int>(m) + 1; i < space_side.rank(); ++i) {
      dims.push_back(
          {space_side.dim(i), space[static_cast<size_t>(i)], batch[static_cast<size_t>(i)]});
    }
    copy(space_offset, batch_offset, std::move(dims));
  }
}

Status SpaceToBatch(KernelContext& context, std::span<const int64_t> sizes,
                    const Tensor& paddings) {
  const Tensor& input = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const Blocks blocks,
                            ReadBlocks(sizes, paddings, "paddings", input.rank()));
  Ints dims(input.shape().dims().begin(), input.shape().dims().end());
  bool padded = false;
  if (__builtin_mul_overflow(dims[0], blocks.count, &dims[0])) {
    return InvalidArgument("the product of the block sizes is too large");
  }
  for (size_t i = 0; i < blocks.size.size(); ++i) {
    int64_t& size = dims[i + 1];
    if (__builtin_add_overflow(size, blocks.before[i], &size) ||
        __builtin_add_overflow(size, blocks.after[i], &size)) {
      return InvalidArgument("paddings of dimension ", i + 1, " are too large");
    }
    if (size % blocks.size[i] != 0) {
      return InvalidArgument("dimension ", i + 1, " is ", size,
                             " with its padding, which is not divisible by the block size ",
                             blocks.size[i]);
    }
    size /= blocks.size[i];
    padded |= blocks.before[i] > 0 || blocks.after[i] > 0;
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  if (padded) ZeroElements(output->dtype(), output->mutable_raw_data(), shape.num_elements());
  if (input.num_elements() == 0) return absl::OkStatus();
  ForBlocks(input.shape(), shape, blocks, [&](int64_t from, int64_t to, CopyDims box) {
    CopyStrided(input.dtype(), At(input, from), At(*output, to), std::move(box));
  });
  return absl::OkStatus();
}

Status BatchToSpace(KernelContext& context, std::span<const int64_t> sizes, const Tensor& crops) {
  const Tensor& input = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const Blocks blocks, ReadBlocks(sizes, crops, "crops", input.rank()));
  Ints dims(input.shape().dims().begin(), input.shape().dims().end());
  if (dims[0] % blocks.count != 0) {
    return InvalidArgument("the batch of ", dims[0], " is not divisible by ", blocks.count,
                           ", the product of the block sizes");
  }
  dims[0] /= blocks.count;
  for (size_t i = 0; i < blocks.size.size(); ++i) {
    int64_t& size = dims[i + 1];
    int64_t cropped = 0;
    if (__builtin_mul_overflow(size, blocks.size[i], &size) ||
        __builtin_add_overflow(blocks.before[i], blocks.after[i], &cropped) || cropped > size) {
      return InvalidArgument("crops ", blocks.before[i], " and ", blocks.after[i], " of dimension ",
                             i + 1, " are more than there is");
    }
    size -= cropped;
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  ForBlocks(shape, input.shape(), blocks, [&](int64_t to, int64_t from, CopyDims box) {
    for (CopyDim& dim : box) std::swap(dim.from, dim.to);
    CopyStrided(input.dtype(), At(input, from), At(*output, to), std::move(box));
  });
  return absl::OkStatus();
}

using BlockFn = Status (*)(KernelContext&, std::span<const int64_t>, const Tensor&);

// SpaceToBatchND and BatchToSpaceND: the block sizes are an input.
template <BlockFn fn>
Status RunWithBlockShape(KernelContext& context) {
  const Tensor& block_shape = context.input(1);
  if (block_shape.rank() != 1 || block_shape.dim(0) >= kMaxRank) {
    return InvalidArgument(
        "block_shape should be a vector with fewer elements than the input has "
        "dimensions but has shape ",
        block_shape.shape().ToString());
  }
  return fn(context, ReadInts(block_shape), context.input(2));
}

// SpaceToBatch and BatchToSpace: images of four dimensions, square blocks.
template <BlockFn fn>
class SquareBlockKernel final : public Kernel {
 public:
  explicit SquareBlockKernel(const KernelRequest& request)
      : block_size_(request.attr<int64_t>("block_size")) {}
  Status Run(KernelContext& context) override {
    if (context.input(0).rank() != 4) {
      return InvalidArgument("the input should have four dimensions but has shape ",
                             context.input(0).shape().ToString());
    }
    const int64_t sizes[2] = {block_size_, block_size_};
    return fn(context, std::span<const int64_t>(sizes), context.input(1));
  }

 private:
  const int64_t block_size_;
};

// SpaceToDepth and DepthToSpace: a permutation of the tensor seen as
// [batch, height, block, width, block, depth] (NHWC) or [batch, depth, height, block, width,
// block].
class DepthKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const std::string& format = request.attr<std::string>("data_format");
    if (format == "NCHW_VECT_C") return Unimplemented("the layout NCHW_VECT_C is not supported");
    return std::make_unique<DepthKernel>(request.attr<int64_t>("block_size"), format == "NCHW",
                                         request.node.op() == "SpaceToDepth");
  }
  DepthKernel(int64_t block, bool channels_first, bool to_depth)
      : block_(block), channels_first_(channels_first), to_depth_(to_depth) {}

  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    if (input.rank() != 4) {
      return InvalidArgument("the input should have four dimensions but has shape ",
                             input.shape().ToString());
    }
    const int h = channels_first_ ? 2 : 1;
    const int w = h + 1;
    const int c = channels_first_ ? 1 : 3;
    Ints dims(input.shape().dims().begin(), input.shape().dims().end());
    int64_t& height = dims[static_cast<size_t>(h)];
    int64_t& width = dims[static_cast<size_t>(w)];
    int64_t& depth = dims[static_cast<size_t>(c)];
    int64_t area = 0;
    if (__builtin_mul_overflow(block_, block_, &area)) {
      return InvalidArgument("block_size ", block_, " is too large");
    }
    bool fits = true;
    if (to_depth_) {
      fits = height % block_ == 0 && width % block_ == 0 &&
             !__builtin_mul_overflow(depth, area, &depth);
      height /= block_;
      width /= block_;
    } else {
      fits = depth % area == 0 && !__builtin_mul_overflow(height, block_, &height) &&
             !__builtin_mul_overflow(width, block_, &width);
      depth /= area;
    }
    if (!fits) {
      return InvalidArgument("shape ", input.shape().ToString(),
                             " cannot be divided into blocks of size ", block_);
    }
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();

    // Both sides see the dimensions small height, block, small width, block, small depth.
    const Shape& space_shape = to_depth_ ? input.shape() : shape;
    const Shape& depth_shape = to_depth_ ? shape : input.shape();
    const Strides space = RowMajorStrides(space_shape);
    const Strides deep = RowMajorStrides(depth_shape);
    const size_t hh = static_cast<size_t>(h), ww = static_cast<size_t>(w),
                 cc = static_cast<size_t>(c);
    const int64_t small_depth = space_shape.dim(c);
    const CopyDim batch{shape.dim(0), space[0], deep[0]};
    const CopyDim rows{depth_shape.dim(h), space[hh] * block_, deep[hh]};
    const CopyDim block_rows{block_, space[hh], block_ * small_depth * deep[cc]};
    const CopyDim columns{depth_shape.dim(w), space[ww] * block_, deep[ww]};
    const CopyDim block_columns{block_, space[ww], small_depth * deep[cc]};
    const CopyDim channels{small_depth, space[cc], deep[cc]};
    // In the order of the destination's memory.
    CopyDims box;
    if (channels_first_) {
      if (to_depth_) {
        box = {batch, block_rows, block_columns, channels, rows, columns};
      } else {
        box = {batch, channels, rows, block_rows, columns, block_columns};
      }
    } else if (to_depth_) {
      box = {batch, rows, columns, block_rows, block_columns, channels};
    } else {
      box = {batch, rows, block_rows, columns, block_columns, channels};
    }
    if (!to_depth_) {
      for (CopyDim& dim : box) std::swap(dim.from, dim.to);
    }
    CopyStrided(input.dtype(), input.raw_data(), output->mutable_raw_data(), std::move(box));
    return absl::OkStatus();
  }

 private:
  const int64_t block_;
  const bool channels_first_;
  const bool to_depth_;
};

}  // namespace

void AddArraySpaceKernels(KernelTable& table) {
  table.Add({
      {"SpaceToBatch", "ref", FromClass<SquareBlockKernel<SpaceToBatch>>},
      {"BatchToSpace", "ref", FromClass<SquareBlockKernel<BatchToSpace>>},
      {"SpaceToBatchND", "ref", FromFunction<RunWithBlockShape<SpaceToBatch>>},
      {"BatchToSpaceND", "ref", FromFunction<RunWithBlockShape<BatchToSpace>>},
      {"SpaceToDepth", "ref", FromClass<DepthKernel>},
      {"DepthToSpace", "ref", FromClass<DepthKernel>},
  });
}

}  // namespace carillon
