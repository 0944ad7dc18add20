// Kernels that choose by a condition: Where, Select.
#include <algorithm>
#include <cstring>

#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

template <typename T>
void WriteIndices(std::span<const T> values, const Shape& shape, int64_t* out) {
  int64_t index[kMaxRank] = {};
  const int rank = shape.rank();
  for (const T& value : values) {
    if (value != T(0)) {
      std::copy_n(index, rank, out);
      out += rank;
    }
    for (int d = rank - 1; d >= 0; --d) {
      if (++index[d] < shape.dim(d)) break;
      index[d] = 0;
    }
  }
}

Status RunWhere(KernelContext& context) {
  const Tensor& input = context.input(0);
  if (input.rank() == 0) return InvalidArgument("the input should not be a scalar");
  Status status;
  DispatchPlain(input.dtype(), [&]<typename T>() {
    const std::span<const T> values = input.values<T>();
    int64_t count = 0;
    for (const T& value : values) count += value != T(0) ? 1 : 0;
    StatusOr<Tensor*> output = context.AllocateOutput(0, Shape{count, input.rank()});
    status = output.status();
    if (status.ok()) WriteIndices(values, input.shape(), (*output)->mutable_data<int64_t>());
  });
  return status;
}

// One dimension of a box in which three tensors are read and one is written in order.
struct SelectDim {
  int64_t size;
  int64_t condition;
  int64_t then_value;
  int64_t else_value;
};
using SelectDims = absl::InlinedVector<SelectDim, kMaxRank>;

// Appends an inner dimension, as part of the one before when all three tensors allow it.
void AddDim(SelectDims& dims, const SelectDim& dim) {
  if (dim.size == 1) return;
  if (!dims.empty()) {
    SelectDim& outer = dims.back();
    if (outer.condition == dim.condition * dim.size &&
        outer.then_value == dim.then_value * dim.size &&
        outer.else_value == dim.else_value * dim.size) {
      outer = {outer.size * dim.size, dim.condition, dim.then_value, dim.else_value};
      return;
    }
  }
  dims.push_back(dim);
}

template <typename T>
void SelectLine(const bool* condition, const T* then_value, const T* else_value, T* out,
                const SelectDim& line) {
  if (line.condition == 0) {
    const T* chosen = *condition ? then_value : else_value;
    const int64_t stride = *condition ? line.then_value : line.else_value;
    if (stride == 0) {
      std::fill_n(out, line.size, *chosen);
    } else if (chosen != out) {
      std::copy_n(chosen, line.size, out);
    }
  } else if (line.then_value == 1 && line.else_value == 1) {
    for (int64_t i = 0; i < line.size; ++i) out[i] = condition[i] ? then_value[i] : else_value[i];
  } else {
    for (int64_t i = 0; i < line.size; ++i) {
      out[i] = condition[i] ? then_value[i * line.then_value] : else_value[i * line.else_value];
    }
  }
}

template <typename T>
void SelectBox(const bool* condition, const T* then_value, const T* else_value, T* out,
               const SelectDims& dims) {
  const SelectDim line = dims.empty() ? SelectDim{1, 0, 0, 0} : dims.back();
  const std::span<const SelectDim> outer(dims.data(), dims.empty() ? 0 : dims.size() - 1);
  int64_t lines = 1;
  for (const SelectDim& dim : outer) lines *= dim.size;
  // A single long line is cut into pieces.
  const int64_t piece = lines > 1 ? line.size : std::min(line.size, int64_t{4096});
  const int64_t pieces = (line.size + piece - 1) / piece;
  const auto body = [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t start = task % pieces * piece;
      int64_t position = task / pieces;
      const bool* c = condition + start * line.condition;
      const T* t = then_value + start * line.then_value;
      const T* e = else_value + start * line.else_value;
      T* o = out + position * line.size + start;
      for (size_t i = outer.size(); i-- > 0;) {
        const int64_t index = position % outer[i].size;
        position /= outer[i].size;
        c += index * outer[i].condition;
        t += index * outer[i].then_value;
        e += index * outer[i].else_value;
      }
      SelectLine(
          c, t, e, o,
          {std::min(piece, line.size - start), line.condition, line.then_value, line.else_value});
    }
  };
  ForRanges<T>(lines * pieces, piece, body);
}

Status SelectInto(KernelContext& context, const Shape& shape, const SelectDims& dims) {
  const bool* condition = context.input(0).data<bool>();
  const void* then_value = context.input(1).raw_data();
  const void* else_value = context.input(2).raw_data();
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.ReuseOrAllocateOutput(0, {1, 2}, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  DispatchBySize(output->dtype(), [&]<typename T>() {
    SelectBox(condition, static_cast<const T*>(then_value), static_cast<const T*>(else_value),
              static_cast<T*>(output->mutable_raw_data()), dims);
  });
  return absl::OkStatus();
}

// The condition has the shape of the values, or chooses whole rows of them, or everything.
Status RunSelect(KernelContext& context) {
  const Shape condition = context.input(0).shape();
  const Shape shape = context.input(1).shape();
  if (context.input(2).shape() != shape) {
    return InvalidArgument("the two values should have one shape but have ", shape.ToString(),
                           " and ", context.input(2).shape().ToString());
  }
  int64_t rows = 0;
  if (condition == shape) {
    rows = shape.num_elements();
  } else if (condition.rank() == 0) {
    rows = 1;
  } else if (condition.rank() == 1 && shape.rank() > 0 && condition.dim(0) == shape.dim(0)) {
    rows = shape.dim(0);
  } else {
    return InvalidArgument("a condition of shape ", condition.ToString(),
                           " does not choose between values of shape ", shape.ToString(),
                           ": it should be a scalar, have one element for each row, or have their "
                           "shape");
  }
  SelectDims dims;
  if (shape.num_elements() > 0) {
    const int64_t run = shape.num_elements() / rows;
    AddDim(dims, {rows, 1, run, run});
    AddDim(dims, {run, 0, 1, 1});
  }
  return SelectInto(context, shape, dims);
}

Status RunSelectV2(KernelContext& context) {
  int rank = 0;
  for (int k = 0; k < 3; ++k) rank = std::max(rank, context.input(k).rank());
  Ints sizes(static_cast<size_t>(rank), 1);
  bool fits = true;
  for (int k = 0; k < 3; ++k) {
    const Shape& shape = context.input(k).shape();
    for (int i = 0; i < shape.rank(); ++i) {
      int64_t& size = sizes[static_cast<size_t>(i + rank - shape.rank())];
      fits &= shape.dim(i) == size || shape.dim(i) == 1 || size == 1;
      if (size == 1) size = shape.dim(i);
    }
  }
  if (!fits) {
    return InvalidArgument("condition ", context.input(0).shape().ToString(), ", then ",
                           context.input(1).shape().ToString(), " and else ",
                           context.input(2).shape().ToString(), " cannot be broadcast together");
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(sizes));
  SelectDims dims;
  if (shape.num_elements() > 0) {
    const Strides strides[3] = {RowMajorStrides(context.input(0).shape()),
                                RowMajorStrides(context.input(1).shape()),
                                RowMajorStrides(context.input(2).shape())};
    for (int i = 0; i < rank; ++i) {
      int64_t stride[3] = {};
      for (int k = 0; k < 3; ++k) {
        const int own = i - rank + context.input(k).rank();
        if (own >= 0 && context.input(k).dim(own) != 1)
          stride[k] = strides[k][static_cast<size_t>(own)];
      }
      AddDim(dims, {sizes[static_cast<size_t>(i)], stride[0], stride[1], stride[2]});
    }
  }
  return SelectInto(context, shape, dims);
}

template <KernelFn fn>
KernelResult MakeSelect(const KernelRequest&) {
  KernelTraits traits;
  traits.reuses = {{1, 0}, {2, 0}};
  return MakeFunctionKernel(fn, std::move(traits));
}

}  // namespace

void AddArraySelectKernels(KernelTable& table) {
  table.Add({
      {"Where", "ref", FromFunction<RunWhere>},
      {"Select", "ref", MakeSelect<RunSelect>},
      {"SelectV2", "ref", MakeSelect<RunSelectV2>},
  });
}

}  // namespace carillon
