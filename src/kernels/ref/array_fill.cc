// Kernels that make tensors: fills, sequences, one-hot encodings.
#include <type_traits>

#include "graph/ops/array_rules.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/dispatch.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

Status RunFill(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const Shape shape,
                            ReadShape(context.input(0), "dims", /*scalar_ok=*/true));
  const Tensor& value = context.input(1);
  if (value.num_elements() != 1) {
    return InvalidArgument("value should be a scalar but has shape ", value.shape().ToString());
  }
  CARILLON_RETURN_IF_ERROR(
      CheckRoomOutside(context.services().allocator, shape.num_elements(), TextBytes(value)));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  FillElements(value.dtype(), output->mutable_raw_data(), shape.num_elements(), value.raw_data());
  return absl::OkStatus();
}

Status RunZerosLike(KernelContext& context) {
  const Shape shape = context.input(0).shape();
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.ReuseOrAllocateOutput(0, {0}, shape));
  ZeroElements(output->dtype(), output->mutable_raw_data(), shape.num_elements());
  return absl::OkStatus();
}

KernelResult MakeZerosLike(const KernelRequest& request) {
  const DType dtype = request.input_dtype(0);
  if (dtype == DType::kResource || dtype == DType::kVariant) {
    return Unimplemented("there is no zero of dtype ", DTypeName(dtype));
  }
  return FromElementwise<RunZerosLike>(request);
}

Status RunOnesLike(KernelContext& context) {
  const Shape shape = context.input(0).shape();
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.ReuseOrAllocateOutput(0, {0}, shape));
  DispatchPlain(output->dtype(), [&]<typename T>() {
    const T one = static_cast<T>(1);
    FillElements(output->dtype(), output->mutable_raw_data(), shape.num_elements(), &one);
  });
  return absl::OkStatus();
}

class EmptyKernel final : public Kernel {
 public:
  explicit EmptyKernel(const KernelRequest& request) : clears_(request.attr<bool>("init")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(0), "shape"));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (clears_) ZeroElements(output->dtype(), output->mutable_raw_data(), shape.num_elements());
    return absl::OkStatus();
  }

 private:
  const bool clears_;
};

// out[i] = start + i * delta. Sums follow in a second pass, so that no fused multiply-add rounds
// otherwise than TensorFlow does.
template <typename T>
void WriteSequence(T start, T delta, int64_t count, T* out) {
  if constexpr (std::is_integral_v<T>) {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<T>(static_cast<uint64_t>(start) +
                              static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<T>(static_cast<T>(static_cast<double>(i)) * delta);
    }
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(start + out[i]);
  }
}

Status RunRange(KernelContext& context) {
  for (int i = 0; i < 3; ++i) {
    if (context.input(i).num_elements() != 1) {
      return InvalidArgument("start, limit and delta should be scalars but input ", i,
                             " has shape ", context.input(i).shape().ToString());
    }
  }
  Status status;
  DispatchNumber(context.input(0).dtype(), [&]<typename T>() {
    const T start = context.input(0).data<T>()[0];
    const T delta = context.input(2).data<T>()[0];
    status = [&]() -> Status {
      CARILLON_ASSIGN_OR_RETURN(const int64_t size,
                                RangeSize(start, context.input(1).data<T>()[0], delta));
      CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, Shape{size}));
      WriteSequence(start, delta, size, output->mutable_data<T>());
      return absl::OkStatus();
    }();
  });
  return status;
}

Status RunLinSpace(KernelContext& context) {
  for (int i = 0; i < 3; ++i) {
    if (context.input(i).rank() != 0) {
      return InvalidArgument("start, stop and num should be scalars but input ", i, " has shape ",
                             context.input(i).shape().ToString());
    }
  }
  CARILLON_ASSIGN_OR_RETURN(const int64_t num, ReadScalarInt(context.input(2), "num"));
  if (num <= 0) return InvalidArgument("num should be positive but is ", num);
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, Shape{num}));
  DispatchFloating(output->dtype(), [&]<typename T>() {
    const T start = context.input(0).data<T>()[0];
    const T stop = context.input(1).data<T>()[0];
    T* out = output->mutable_data<T>();
    if (num > 1) {
      const T distance = static_cast<T>(stop - start);
      const T step = static_cast<T>(distance / static_cast<T>(static_cast<double>(num - 1)));
      WriteSequence(start, step, num - 1, out);
      out[num - 1] = stop;
    } else {
      out[0] = start;
    }
  });
  return absl::OkStatus();
}

class OneHotKernel final : public Kernel {
 public:
  explicit OneHotKernel(const KernelRequest& request) : axis_(request.attr<int64_t>("axis")) {}

  Status Run(KernelContext& context) override {
    const Tensor& indices = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const int64_t depth, ReadScalarInt(context.input(1), "depth"));
    for (int i = 2; i < 4; ++i) {
      if (context.input(i).rank() != 0) {
        return InvalidArgument(i == 2 ? "on_value" : "off_value",
                               " should be a scalar but has shape ",
                               context.input(i).shape().ToString());
      }
    }
    if (depth < 0) return InvalidArgument("depth should not be negative but is ", depth);
    if (axis_ < -1 || axis_ > indices.rank()) {
      return InvalidArgument("axis should be -1 or in [0, ", indices.rank(), "] but is ", axis_);
    }
    const int axis = axis_ == -1 ? indices.rank() : static_cast<int>(axis_);
    Ints dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.begin() + axis, depth);
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    const DType dtype = output->dtype();
    FillElements(dtype, output->mutable_raw_data(), shape.num_elements(),
                 context.input(3).raw_data());
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t suffix = ElementsFrom(indices.shape(), axis);
    DispatchInteger(indices.dtype(), [&]<typename Index>() {
      DispatchBySize(dtype, [&]<typename T>() {
        Mark(indices.values<Index>(), depth, suffix,
             *static_cast<const T*>(context.input(2).raw_data()),
             static_cast<T*>(output->mutable_raw_data()));
      });
    });
    return absl::OkStatus();
  }

 private:
  // Indices outside the depth mark nothing.
  template <typename Index, typename T>
  static void Mark(std::span<const Index> indices, int64_t depth, int64_t suffix, const T& on,
                   T* out) {
    const int64_t count = static_cast<int64_t>(indices.size());
    for (int64_t begin = 0; begin < count; begin += suffix, out += depth * suffix) {
      for (int64_t k = 0; k < suffix; ++k) {
        const int64_t index = static_cast<int64_t>(indices[static_cast<size_t>(begin + k)]);
        if (index >= 0 && index < depth) out[index * suffix + k] = on;
      }
    }
  }

  const int64_t axis_;
};

}  // namespace

void AddArrayFillKernels(KernelTable& table) {
  table.Add({
      {"Fill", "ref", FromFunction<RunFill>},
      {"ZerosLike", "ref", MakeZerosLike},
      {"OnesLike", "ref", FromElementwise<RunOnesLike>},
      {"Empty", "ref", FromClass<EmptyKernel>},
      {"Range", "ref", FromFunction<RunRange>},
      {"LinSpace", "ref", FromFunction<RunLinSpace>},
      {"OneHot", "ref", FromClass<OneHotKernel>},
  });
}

}  // namespace carillon
