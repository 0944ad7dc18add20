// Kernels that put a border around a tensor, constant or mirrored.
#include <utility>

#include "kernels/ref/arithmetic.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// What stands before and behind each dimension.
struct Border {
  Ints before;
  Ints after;
};

StatusOr<Border> ReadBorder(const Tensor& paddings, int rank) {
  if (paddings.rank() != 2 || paddings.dim(0) != rank || paddings.dim(1) != 2) {
    return InvalidArgument("paddings should have shape [", rank, ",2] but have ",
                           paddings.shape().ToString());
  }
  const Ints pairs = ReadInts(paddings);
  Border border;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (pairs[i] < 0 || pairs[i + 1] < 0) {
      return InvalidArgument("paddings should not be negative but are ", pairs[i], " and ",
                             pairs[i + 1], " for dimension ", i / 2);
    }
    border.before.push_back(pairs[i]);
    border.after.push_back(pairs[i + 1]);
  }
  return border;
}

StatusOr<Shape> Padded(const Shape& shape, const Border& border) {
  Ints dims;
  for (size_t i = 0; i < border.before.size(); ++i) {
    int64_t size = shape.dim(static_cast<int>(i));
    if (__builtin_add_overflow(size, border.before[i], &size) ||
        __builtin_add_overflow(size, border.after[i], &size)) {
      return InvalidArgument("the padding of dimension ", i, " makes the result too large");
    }
    dims.push_back(size);
  }
  return MakeShape(dims);
}

// Where the inner tensor begins in the padded one.
int64_t InnerOffset(const Strides& strides, const Border& border) {
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) offset += border.before[i] * strides[i];
  return offset;
}

// The border is cut into boxes that do not overlap: for each dimension what stands before and
// behind it, over the inner range of the dimensions outside of it and the whole range of those
// inside. Calls box(dimension, is_before, offset of the box in the padded tensor, dims), where dims
// hold the padded tensor's strides on both sides.
template <typename Box>
void ForBorderBoxes(const Shape& inner, const Shape& padded, const Border& border,
                    bool outermost_first, Box&& box) {
  const Strides strides = RowMajorStrides(padded);
  const int rank = padded.rank();
  for (int step = 0; step < rank; ++step) {
    const int d = outermost_first ? step : rank - 1 - step;
    for (const bool is_before : {true, false}) {
      const int64_t width = (is_before ? border.before : border.after)[static_cast<size_t>(d)];
      if (width == 0) continue;
      CopyDims dims;
      int64_t offset = 0;
      for (int i = 0; i < rank; ++i) {
        const size_t k = static_cast<size_t>(i);
        const int64_t size = i < d ? inner.dim(i) : i == d ? width : padded.dim(i);
        if (i < d) offset += border.before[k] * strides[k];
        if (i == d && !is_before) offset += (border.before[k] + inner.dim(i)) * strides[k];
        dims.push_back({size, strides[k], strides[k]});
      }
      box(d, is_before, offset, std::move(dims));
    }
  }
}

void CopyInner(const Tensor& from, const Strides& to_strides, int64_t offset, Tensor& to) {
  const Strides from_strides = RowMajorStrides(from.shape());
  CopyDims dims;
  for (int i = 0; i < from.rank(); ++i) {
    const size_t k = static_cast<size_t>(i);
    dims.push_back({from.dim(i), from_strides[k], to_strides[k]});
  }
  CopyStrided(from.dtype(), from.raw_data(), At(to, offset), std::move(dims));
}

Status Pad(KernelContext& context, const void* value) {
  const Tensor& input = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const Border border, ReadBorder(context.input(1), input.rank()));
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, Padded(input.shape(), border));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const Strides strides = RowMajorStrides(shape);
  CopyInner(input, strides, InnerOffset(strides, border), *output);
  ForBorderBoxes(input.shape(), shape, border, true, [&](int, bool, int64_t offset, CopyDims dims) {
    for (CopyDim& dim : dims) dim.from = 0;
    CopyStrided(input.dtype(), value, At(*output, offset), std::move(dims));
  });
  return absl::OkStatus();
}

Status RunPad(KernelContext& context) {
  Status status;
  DispatchBySize(context.input(0).dtype(), [&]<typename T>() {
    const T zero{};
    status = Pad(context, &zero);
  });
  return status;
}

Status RunPadV2(KernelContext& context) {
  const Tensor& value = context.input(2);
  if (value.rank() != 0) {
    return InvalidArgument("constant_values should be a scalar but has shape ",
                           value.shape().ToString());
  }
  return Pad(context, value.raw_data());
}

// How a border box reads its mirror image: as far as the edge element itself is repeated
// (SYMMETRIC) or not (REFLECT).
class Mirror {
 public:
  explicit Mirror(const KernelRequest& request)
      : skips_edge_(request.attr<std::string>("mode") == "REFLECT" ? 1 : 0) {}

  Status Check(const Shape& inner, const Border& border) const {
    for (int i = 0; i < inner.rank(); ++i) {
      const size_t k = static_cast<size_t>(i);
      const int64_t most = inner.dim(i) - skips_edge_;
      if (border.before[k] > most || border.after[k] > most) {
        return InvalidArgument("paddings ", border.before[k], " and ", border.after[k],
                               " of dimension ", i, " should be at most ", most,
                               ": what can be mirrored of its size ", inner.dim(i));
      }
    }
    return absl::OkStatus();
  }

  // From the first element of a border box to that of its mirror image, in steps of dimension d.
  int64_t Distance(bool is_before, int64_t width) const {
    return is_before ? 2 * width - 1 + skips_edge_ : -1 - skips_edge_;
  }

 private:
  const int64_t skips_edge_;
};

class MirrorPadKernel final : public Kernel {
 public:
  explicit MirrorPadKernel(const KernelRequest& request) : mirror_(request) {}

  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const Border border, ReadBorder(context.input(1), input.rank()));
    CARILLON_RETURN_IF_ERROR(mirror_.Check(input.shape(), border));
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, Padded(input.shape(), border));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const Strides strides = RowMajorStrides(shape);
    CopyInner(input, strides, InnerOffset(strides, border), *output);
    // Innermost first: outer borders mirror the inner ones too.
    ForBorderBoxes(
        input.shape(), shape, border, false,
        [&](int d, bool is_before, int64_t offset, CopyDims dims) {
          CopyDim& mirrored = dims[static_cast<size_t>(d)];
          const int64_t image = offset + mirror_.Distance(is_before, mirrored.size) * mirrored.from;
          mirrored.from = -mirrored.from;
          CopyStrided(input.dtype(), At(*output, image), At(*output, offset), std::move(dims));
        });
    return absl::OkStatus();
  }

 private:
  const Mirror mirror_;
};

// to[…] += from[…] over a box of one tensor.
template <typename T>
void AddBox(const T* from, T* to, const CopyDims& dims, size_t depth = 0) {
  if (depth == dims.size()) {
    *to = WrapAdd(*to, *from);
    return;
  }
  const CopyDim& dim = dims[depth];
  for (int64_t i = 0; i < dim.size; ++i)
    AddBox(from + i * dim.from, to + i * dim.to, dims, depth + 1);
}

class MirrorPadGradKernel final : public Kernel {
 public:
  explicit MirrorPadGradKernel(const KernelRequest& request) : mirror_(request) {}

  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const Border border, ReadBorder(context.input(1), input.rank()));
    Ints dims;
    for (int i = 0; i < input.rank(); ++i) {
      const size_t k = static_cast<size_t>(i);
      if (border.before[k] > input.dim(i) || border.after[k] >= input.dim(i) - border.before[k]) {
        return InvalidArgument("paddings ", border.before[k], " and ", border.after[k],
                               " should be less than dimension ", i, " of size ", input.dim(i));
      }
      dims.push_back(input.dim(i) - border.before[k] - border.after[k]);
    }
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    CARILLON_RETURN_IF_ERROR(mirror_.Check(shape, border));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    CARILLON_ASSIGN_OR_RETURN(Tensor folded,
                              context.AllocateTemporary(input.dtype(), input.shape()));
    CopyElements(input.dtype(), input.raw_data(), folded.mutable_raw_data(), input.num_elements());
    if (!DispatchNumber(input.dtype(), [&]<typename T>() { Fold<T>(shape, border, folded); })) {
      return Unimplemented("dtype ", DTypeName(input.dtype()), " cannot be summed");
    }
    const Strides from = RowMajorStrides(input.shape());
    const Strides to = RowMajorStrides(shape);
    CopyDims box;
    for (int i = 0; i < shape.rank(); ++i) {
      const size_t k = static_cast<size_t>(i);
      box.push_back({shape.dim(i), from[k], to[k]});
    }
    CopyStrided(input.dtype(), At(std::as_const(folded), InnerOffset(from, border)),
                output->mutable_raw_data(), std::move(box));
    return absl::OkStatus();
  }

 private:
  // Adds every border element to the one it mirrors, outermost first: the reverse of the padding.
  template <typename T>
  void Fold(const Shape& inner, const Border& border, Tensor& folded) const {
    T* data = folded.mutable_data<T>();
    ForBorderBoxes(inner, folded.shape(), border, true,
                   [&](int d, bool is_before, int64_t offset, CopyDims dims) {
                     CopyDim& mirrored = dims[static_cast<size_t>(d)];
                     const int64_t image =
                         offset + mirror_.Distance(is_before, mirrored.size) * mirrored.to;
                     mirrored.to = -mirrored.to;
                     AddBox(data + offset, data + image, dims);
                   });
  }

  const Mirror mirror_;
};

}  // namespace

void AddArrayPadKernels(KernelTable& table) {
  table.Add({
      {"Pad", "ref", FromFunction<RunPad>},
      {"PadV2", "ref", FromFunction<RunPadV2>},
      {"MirrorPad", "ref", FromClass<MirrorPadKernel>},
      {"MirrorPadGrad", "ref", FromClass<MirrorPadGradKernel>},
  });
}

}  // namespace carillon
