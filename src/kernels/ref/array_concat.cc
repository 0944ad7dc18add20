// Kernels that join tensors along a dimension, and that take them apart.
#include <algorithm>

#include "graph/shape_context.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"

namespace carillon {
namespace {

// Copies `rows` runs of `run` elements each between tensors in which they lie that far apart.
void CopyRows(DType dtype, const void* from, int64_t from_stride, void* to, int64_t to_stride,
              int64_t rows, int64_t run) {
  CopyStrided(dtype, from, to, {{rows, from_stride, to_stride}, {run, 1, 1}});
}

// Inputs [first, first + count) joined along `axis`.
Status Join(KernelContext& context, int first, int count, int64_t given_axis) {
  const Shape& leader = context.input(first).shape();
  if (leader.rank() == 0) return InvalidArgument("scalars cannot be concatenated: pack them");
  CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(given_axis, leader.rank()));
  Ints dims(leader.dims().begin(), leader.dims().end());
  int64_t& joined = dims[static_cast<size_t>(axis)];
  for (int i = 1; i < count; ++i) {
    const Shape& shape = context.input(first + i).shape();
    bool fits = shape.rank() == leader.rank();
    for (int k = 0; fits && k < shape.rank(); ++k)
      fits = k == axis || shape.dim(k) == leader.dim(k);
    if (!fits) {
      return InvalidArgument("value ", i, " of shape ", shape.ToString(),
                             " cannot be joined to value 0 of shape ", leader.ToString(),
                             " along dimension ", axis, ": ranks and other dimensions must agree");
    }
    if (__builtin_add_overflow(joined, shape.dim(axis), &joined)) {
      return InvalidArgument("the joined tensor would be too large");
    }
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const int64_t rows = ElementsBefore(shape, axis);
  const int64_t stride = ElementsFrom(shape, axis);
  int64_t offset = 0;
  for (int i = 0; i < count; ++i) {
    const Tensor& value = context.input(first + i);
    const int64_t run = ElementsFrom(value.shape(), axis);
    CopyRows(value.dtype(), value.raw_data(), run, At(*output, offset), stride, rows, run);
    offset += run;
  }
  return absl::OkStatus();
}

Status RunConcat(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t axis, ReadOneInt(context.input(0), "concat_dim"));
  return Join(context, 1, context.num_inputs() - 1, axis);
}

Status RunConcatV2(KernelContext& context) {
  const int count = context.num_inputs() - 1;
  CARILLON_ASSIGN_OR_RETURN(const int64_t axis, ReadOneInt(context.input(count), "axis"));
  return Join(context, 0, count, axis);
}

// Where each of the shapes begins in their concatenation.
Status RunConcatOffset(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t given, ReadScalarInt(context.input(0), "concat_dim"));
  const Tensor& leader = context.input(1);
  if (leader.rank() != 1) {
    return InvalidArgument("shapes should be vectors but the first has shape ",
                           leader.shape().ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(
      const int axis,
      ResolveAxis(given, static_cast<int>(std::min<int64_t>(leader.dim(0), 1 << 20))));
  const Ints first = ReadInts(leader);
  int64_t offset = 0;
  for (int i = 0; i < context.num_outputs(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(const Ints sizes,
                              ReadVector(context.input(1 + i), leader.dim(0), "a shape"));
    for (size_t k = 0; k < sizes.size(); ++k) {
      if (static_cast<int>(k) != axis && sizes[k] != first[k]) {
        return InvalidArgument("shapes should agree in all dimensions but ", axis, "; shape ", i,
                               " differs from shape 0 in dimension ", k, ": ", sizes[k],
                               " instead of ", first[k]);
      }
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, leader.shape()));
    ZeroElements(output->dtype(), output->mutable_raw_data(), output->num_elements());
    if (output->dtype() == DType::kInt64) {
      output->mutable_data<int64_t>()[axis] = offset;
    } else {
      output->mutable_data<int32_t>()[axis] = static_cast<int32_t>(offset);
    }
    if (__builtin_add_overflow(offset, sizes[static_cast<size_t>(axis)], &offset)) {
      return InvalidArgument("the sizes along dimension ", axis, " add up to too much");
    }
  }
  return absl::OkStatus();
}

// Cuts `value` along `axis` into one piece of sizes[i] for each output.
Status Cut(KernelContext& context, const Tensor& value, int axis, std::span<const int64_t> sizes) {
  int64_t offset = 0;
  const int64_t stride = ElementsFrom(value.shape(), axis);
  for (int i = 0; i < context.num_outputs(); ++i) {
    Shape shape = value.shape();
    if (value.num_elements() == 0) {
      Ints dims(shape.dims().begin(), shape.dims().end());
      dims[static_cast<size_t>(axis)] = sizes[static_cast<size_t>(i)];
      CARILLON_ASSIGN_OR_RETURN(shape, MakeShape(dims));
    } else {
      shape.set_dim(axis, sizes[static_cast<size_t>(i)]);
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, shape));
    if (shape.num_elements() == 0) continue;
    const int64_t run = ElementsFrom(shape, axis);
    CopyRows(value.dtype(), At(value, offset), stride, output->mutable_raw_data(), run,
             ElementsBefore(shape, axis), run);
    offset += run;
  }
  return absl::OkStatus();
}

Status RunSplit(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t given, ReadScalarInt(context.input(0), "split_dim"));
  const Tensor& value = context.input(1);
  CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(given, value.rank()));
  const int64_t pieces = context.num_outputs();
  if (value.dim(axis) % pieces != 0) {
    return InvalidArgument("dimension ", axis, " of size ", value.dim(axis),
                           " cannot be split into ", pieces, " equal pieces");
  }
  const absl::InlinedVector<int64_t, 16> sizes(static_cast<size_t>(pieces),
                                               value.dim(axis) / pieces);
  return Cut(context, value, axis, sizes);
}

Status RunSplitV(KernelContext& context) {
  const Tensor& value = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(Ints sizes,
                            ReadVector(context.input(1), context.num_outputs(), "size_splits"));
  CARILLON_ASSIGN_OR_RETURN(const int64_t given, ReadOneInt(context.input(2), "split_dim"));
  CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(given, value.rank()));
  int64_t* open = nullptr;
  int64_t total = 0;
  for (int64_t& size : sizes) {
    if (size == -1) {
      if (open != nullptr) return InvalidArgument("only one of size_splits may be -1");
      open = &size;
    } else if (size < 0) {
      return InvalidArgument("size_splits should not be negative but one is ", size);
    } else if (__builtin_add_overflow(total, size, &total)) {
      return InvalidArgument("size_splits add up to too much");
    }
  }
  if (open == nullptr ? total != value.dim(axis) : total > value.dim(axis)) {
    return InvalidArgument("size_splits add up to ", total, " but dimension ", axis,
                           " of the value has size ", value.dim(axis));
  }
  if (open != nullptr) *open = value.dim(axis) - total;
  return Cut(context, value, axis, sizes);
}

class PackKernel final : public Kernel {
 public:
  explicit PackKernel(const KernelRequest& request) : axis_(request.attr<int64_t>("axis")) {}

  Status Run(KernelContext& context) override {
    const Shape& each = context.input(0).shape();
    const int64_t count = context.num_inputs();
    for (int i = 1; i < count; ++i) {
      if (context.input(i).shape() != each) {
        return InvalidArgument("all values should have one shape, but value 0 has ",
                               each.ToString(), " and value ", i, " has ",
                               context.input(i).shape().ToString());
      }
    }
    CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(axis_, each.rank() + 1));
    Ints dims(each.dims().begin(), each.dims().end());
    dims.insert(dims.begin() + axis, count);
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t rows = ElementsBefore(each, axis);
    const int64_t run = ElementsFrom(each, axis);
    for (int i = 0; i < count; ++i) {
      const Tensor& value = context.input(i);
      CopyRows(value.dtype(), value.raw_data(), run, At(*output, i * run), count * run, rows, run);
    }
    return absl::OkStatus();
  }

 private:
  const int64_t axis_;
};

class UnpackKernel final : public Kernel {
 public:
  explicit UnpackKernel(const KernelRequest& request) : axis_(request.attr<int64_t>("axis")) {}

  Status Run(KernelContext& context) override {
    const Tensor& value = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(axis_, value.rank()));
    const int64_t count = context.num_outputs();
    if (value.dim(axis) != count) {
      return InvalidArgument("dimension ", axis, " of shape ", value.shape().ToString(),
                             " should be ", count, ", the number of outputs");
    }
    if (count == 0) return absl::OkStatus();
    Ints dims(value.shape().dims().begin(), value.shape().dims().end());
    dims.erase(dims.begin() + axis);
    CARILLON_ASSIGN_OR_RETURN(const Shape each, MakeShape(dims));
    const int64_t rows = ElementsBefore(each, axis);
    const int64_t run = ElementsFrom(each, axis);
    for (int i = 0; i < count; ++i) {
      CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, each));
      if (each.num_elements() == 0) continue;
      CopyRows(value.dtype(), At(value, i * run), count * run, output->mutable_raw_data(), run,
               rows, run);
    }
    return absl::OkStatus();
  }

 private:
  const int64_t axis_;
};

}  // namespace

void AddArrayConcatKernels(KernelTable& table) {
  table.Add({
      {"Concat", "ref", FromFunction<RunConcat>},
      {"ConcatV2", "ref", FromFunction<RunConcatV2>},
      {"ConcatOffset", "ref", FromFunction<RunConcatOffset>},
      {"Split", "ref", FromFunction<RunSplit>},
      {"SplitV", "ref", FromFunction<RunSplitV>},
      {"Pack", "ref", FromClass<PackKernel>},
      {"Unpack", "ref", FromClass<UnpackKernel>},
  });
}

}  // namespace carillon
