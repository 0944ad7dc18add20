// Sums of many tensors, clipping, cross products, histograms.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "kernels/ref/arithmetic.h"
#include "kernels/ref/index_values.h"
#include "kernels/ref/math.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// The sum of all inputs in one pass over memory: a block of the output stays in the cache until it
// is complete.
class AddNKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const DType dtype = request.input_dtype(0);
    const BinaryLoop add = FindArithmeticLoop(Arithmetic::kAdd, dtype);
    if (add == nullptr) return Unimplemented("no sum of ", DTypeName(dtype));
    return std::make_unique<AddNKernel>(add, DTypeSize(dtype), request.node.num_inputs());
  }
  AddNKernel(BinaryLoop add, size_t size, int inputs) : add_(add), size_(size) {
    traits_.reuses.push_back({0, 0});
    if (inputs > 1) traits_.reuses.push_back({1, 0});
  }

  Status Run(KernelContext& context) override {
    const Shape& shape = context.input(0).shape();
    const int inputs = context.num_inputs();
    for (int i = 1; i < inputs; ++i) {
      if (!(context.input(i).shape() == shape)) {
        return InvalidArgument("inputs must have the same shape, but input 0 has ",
                               shape.ToString(), " and input ", i, " has ",
                               context.input(i).shape().ToString());
      }
    }
    const char* first = static_cast<const char*>(context.input(0).raw_data());
    // Only the first two are read before anything is written.
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, inputs > 1
                                                ? context.ReuseOrAllocateOutput(0, {0, 1}, shape)
                                                : context.ReuseOrAllocateOutput(0, {0}, shape));
    char* target = static_cast<char*>(out->mutable_raw_data());
    if (inputs == 1) {
      if (target != first && out->num_elements() > 0) std::memcpy(target, first, out->num_bytes());
      return absl::OkStatus();
    }
    constexpr int64_t kBlock = 2048;
    ParallelFor(out->num_elements(), kCheapGrain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += kBlock) {
        const int64_t n = std::min(kBlock, end - at);
        const size_t offset = static_cast<size_t>(at) * size_;
        const char* left = first + offset;
        for (int i = 1; i < inputs; ++i) {
          const char* right = static_cast<const char*>(context.input(i).raw_data()) + offset;
          add_(left, 1, right, 1, target + offset, n);
          left = target + offset;
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  const BinaryLoop add_;
  const size_t size_;
};

// Bounds are scalars or as large as the input. NaN passes, and a NaN bound does not bind.
Status RunClipByValue(KernelContext& context) {
  const Tensor& in = context.input(0);
  const Tensor& low = context.input(1);
  const Tensor& high = context.input(2);
  for (const Tensor* bound : {&low, &high}) {
    if (bound->rank() != 0 && !(bound->shape() == in.shape())) {
      return InvalidArgument(
          "clip_value_min and clip_value_max must be either of the same shape as input, or a "
          "scalar. input shape: ",
          in.shape().ToString(), " clip_value_min shape: ", low.shape().ToString(),
          " clip_value_max shape: ", high.shape().ToString());
    }
  }
  const void* source = in.raw_data();
  const int64_t low_stride = low.rank() == 0 ? 0 : 1;
  const int64_t high_stride = high.rank() == 0 ? 0 : 1;
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.ReuseOrAllocateOutput(0, {0}, in.shape()));
  DispatchNumber(out->dtype(), [&]<typename T>() {
    using C = Compute<T>;
    const T* from = static_cast<const T*>(source);
    T* to = out->mutable_data<T>();
    const auto clip = [](C x, C least, C most) {
      x = x > most ? most : x;
      return static_cast<T>(x < least ? least : x);
    };
    ParallelFor(out->num_elements(), kCheapGrain, [&](int64_t begin, int64_t end) {
      const T* least = low.data<T>();
      const T* most = high.data<T>();
      if (low_stride == 0 && high_stride == 0) {
        const C bottom = least[0], top = most[0];
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) to[i] = clip(from[i], bottom, top);
      } else {
        for (int64_t i = begin; i < end; ++i)
          to[i] = clip(from[i], least[i * low_stride], most[i * high_stride]);
      }
    });
  });
  return absl::OkStatus();
}

KernelResult MakeClipByValue(const KernelRequest&) {
  return MakeFunctionKernel(RunClipByValue, {.reuses = {{0, 0}}});
}

Status RunCross(KernelContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  if (!(a.shape() == b.shape())) {
    return InvalidArgument("Both inputs must be of same shape: ", a.shape().ToString(), " vs. ",
                           b.shape().ToString());
  }
  if (a.rank() == 0) return InvalidArgument("Input must be at least 1D");
  if (a.dim(a.rank() - 1) != 3)
    return FailedPrecondition("Cross-products are only defined for 3-element vectors.");
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, a.shape()));
  DispatchNumber(a.dtype(), [&]<typename T>() {
    using C = Compute<T>;
    const T* u = a.data<T>();
    const T* v = b.data<T>();
    T* w = out->mutable_data<T>();
    for (int64_t i = 0; i < a.num_elements(); i += 3) {
      for (int64_t j = 0; j < 3; ++j) {
        const int64_t p = i + (j + 1) % 3;
        const int64_t q = i + (j + 2) % 3;
        w[i + j] = static_cast<T>(WrapSub(WrapMul<C>(u[p], v[q]), WrapMul<C>(u[q], v[p])));
      }
    }
  });
  return absl::OkStatus();
}

// Counts the values of each row for itself: values and weights are [rows, columns], out is [rows,
// size]. With `is_binary` only whether there are any.
void CountRows(const Tensor& values, const Tensor& weights, int64_t rows, int64_t size,
               bool is_binary, Tensor* out) {
  const bool is_weighted = weights.num_elements() > 0 && !is_binary;
  DispatchNumber(out->dtype(), [&]<typename T>() {
    using C = Compute<T>;
    T* counts = out->mutable_data<T>();
    std::fill_n(counts, out->num_elements(), T(0));
    if (values.num_elements() == 0) return;  // of any number of rows
    const int64_t columns = values.num_elements() / rows;
    for (int64_t row = 0, i = 0; row < rows; ++row, counts += size) {
      for (const int64_t end = i + columns; i < end; ++i) {
        const int64_t bin = IndexAt(values, i);
        if (bin >= size) continue;
        const C weight = is_weighted ? static_cast<C>(weights.data<T>()[i]) : C(1);
        counts[bin] = is_binary ? T(1) : static_cast<T>(WrapAdd<C>(counts[bin], weight));
      }
    }
  });
}

Status CheckBins(const Tensor& values, std::string_view what) {
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    if (IndexAt(values, i) < 0) return InvalidArgument("Input ", what, " must be non-negative!");
  }
  return absl::OkStatus();
}

Status RunBincount(KernelContext& context) {
  const Tensor& values = context.input(0);
  const Tensor& weights = context.input(2);
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, ScalarIndex(context.input(1), "size"));
  if (size < 0) return InvalidArgument("size (", size, ") must be non-negative");
  if (weights.num_elements() > 0 && weights.num_elements() != values.num_elements()) {
    return InvalidArgument("weights should have as many elements as arr or none, but have ",
                           weights.num_elements(), " and arr has ", values.num_elements());
  }
  CARILLON_RETURN_IF_ERROR(CheckBins(values, "arr"));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, Shape{size}));
  CountRows(values, weights, 1, size, /*is_binary=*/false, out);
  return absl::OkStatus();
}

class DenseBincountKernel final : public Kernel {
 public:
  explicit DenseBincountKernel(const KernelRequest& request)
      : is_binary_(request.attr<bool>("binary_output")) {}

  Status Run(KernelContext& context) override {
    const Tensor& values = context.input(0);
    const Tensor& weights = context.input(2);
    if (values.rank() > 2) {
      return InvalidArgument("input must have at most 2 dimensions, not shape ",
                             values.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(const int64_t size, ScalarIndex(context.input(1), "size"));
    if (size < 0) return InvalidArgument("size (", size, ") must be non-negative");
    if (weights.num_elements() > 0 && !(weights.shape() == values.shape())) {
      return InvalidArgument("weights should have the shape of input or no elements, but have ",
                             weights.shape().ToString(), " and input has ",
                             values.shape().ToString());
    }
    CARILLON_RETURN_IF_ERROR(CheckBins(values, "input"));
    const int64_t rows = values.rank() == 2 ? values.dim(0) : 1;
    Shape shape{size};
    if (values.rank() == 2 && !Shape::TryMake(std::array{rows, size}, &shape))
      return InvalidArgument("size = ", size, " makes the output too large");
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    CountRows(values, weights, rows, size, is_binary_, out);
    return absl::OkStatus();
  }

 private:
  const bool is_binary_;
};

Status RunHistogramFixedWidth(KernelContext& context) {
  const Tensor& values = context.input(0);
  const Tensor& range = context.input(1);
  CARILLON_ASSIGN_OR_RETURN(const int64_t bins, ScalarIndex(context.input(2), "nbins"));
  if (range.rank() != 1 || range.dim(0) != 2)
    return InvalidArgument("value_range should be a vector of 2 elements.");
  if (bins <= 0) return InvalidArgument("nbins should be a positive number, but got '", bins, "'");
  Status status;
  DispatchAmong<float, double, int32_t, int64_t>(values.dtype(), [&]<typename T>() {
    const T low = range.data<T>()[0];
    const T high = range.data<T>()[1];
    if (!(low < high)) {
      status =
          InvalidArgument("value_range should satisfy value_range[0] < value_range[1], but got '[",
                          low, ", ", high, "]'");
      return;
    }
    const T* from = values.data<T>();
    if (std::any_of(from, from + values.num_elements(), [](T x) { return x != x; })) {
      status = InvalidArgument("Histogram values must not contain NaN");
      return;
    }
    StatusOr<Tensor*> out = context.AllocateOutput(0, Shape{bins});
    if (!out.ok()) {
      status = out.status();
      return;
    }
    std::memset((*out)->mutable_raw_data(), 0, (*out)->num_bytes());
    const double step =
        (static_cast<double>(high) - static_cast<double>(low)) / static_cast<double>(bins);
    DispatchAmong<int32_t, int64_t>((*out)->dtype(), [&]<typename Count>() {
      Count* counts = (*out)->template mutable_data<Count>();
      for (int64_t i = 0; i < values.num_elements(); ++i) {
        const double place = (static_cast<double>(from[i]) - static_cast<double>(low)) / step;
        // Compared before it is made an integer: it may be infinite.
        const int64_t bin = place < 0                                ? 0
                            : place >= static_cast<double>(bins - 1) ? bins - 1
                                                                     : static_cast<int64_t>(place);
        ++counts[bin];
      }
    });
  });
  return status;
}

class BucketizeKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const auto& boundaries = request.attr<std::vector<float>>("boundaries");
    if (!std::is_sorted(boundaries.begin(), boundaries.end()))
      return InvalidArgument("Expected sorted boundaries");
    return std::make_unique<BucketizeKernel>(boundaries);
  }
  explicit BucketizeKernel(std::vector<float> boundaries) : boundaries_(std::move(boundaries)) {}

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
    int32_t* buckets = out->mutable_data<int32_t>();
    DispatchAmong<float, double, int32_t, int64_t>(in.dtype(), [&]<typename T>() {
      const T* from = in.data<T>();
      ParallelFor(in.num_elements(), kCostlyGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), from[i],
                                              [](T x, float boundary) { return x < boundary; });
          buckets[i] = static_cast<int32_t>(above - boundaries_.begin());
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  const std::vector<float> boundaries_;
};

// Of real numbers, which is all there is here, the conjugate is the number itself.
KernelResult MakeConj(const KernelRequest&) {
  return MakeFunctionKernel(
      [](KernelContext& context) {
        context.set_output(0, context.input(0));
        return absl::OkStatus();
      },
      {.aliases = {{0, 0}}});
}

}  // namespace

void AddMathMiscKernels(KernelTable& table) {
  table.Add({
      {"AddN", "ref", FromClass<AddNKernel>},
      {"AccumulateNV2", "ref", FromClass<AddNKernel>},
      {"ClipByValue", "ref", MakeClipByValue},
      {"Cross", "ref", FromFunction<RunCross>},
      {"Bincount", "ref", FromFunction<RunBincount>},
      {"DenseBincount", "ref", FromClass<DenseBincountKernel>},
      {"HistogramFixedWidth", "ref", FromFunction<RunHistogramFixedWidth>},
      {"Bucketize", "ref", FromClass<BucketizeKernel>},
      {"Conj", "ref", MakeConj},
  });
}

}  // namespace carillon
