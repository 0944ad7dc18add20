// Comparisons and logic: results are bool.
#include <cmath>
#include <string>

#include "kernels/ref/broadcast.h"
#include "kernels/ref/elementwise.h"
#include "kernels/ref/math.h"

namespace carillon {
namespace {

struct Equal {
  static constexpr bool kWhenShapesDiffer = false;
  template <typename T>
  static bool Apply(const T& a, const T& b) {
    return a == b;
  }
};
struct NotEqual {
  static constexpr bool kWhenShapesDiffer = true;
  template <typename T>
  static bool Apply(const T& a, const T& b) {
    return a != b;
  }
};
struct Less {
  template <typename T>
  static bool Apply(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <typename T>
  static bool Apply(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <typename T>
  static bool Apply(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <typename T>
  static bool Apply(T a, T b) {
    return a >= b;
  }
};
struct LogicalAnd {
  template <typename T>
  static bool Apply(T a, T b) {
    return a & b;
  }
};
struct LogicalOr {
  template <typename T>
  static bool Apply(T a, T b) {
    return a | b;
  }
};

// Equality of shapes that cannot be broadcast together is one bool when the node asks for that.
class LenientKernel final : public Kernel {
 public:
  LenientKernel(std::unique_ptr<Kernel> inner, bool when_shapes_differ)
      : inner_(std::move(inner)), when_shapes_differ_(when_shapes_differ) {}

  Status Run(KernelContext& context) override {
    if (BroadcastShape(context.input(0).shape(), context.input(1).shape()).ok())
      return inner_->Run(context);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, Shape{}));
    out->mutable_data<bool>()[0] = when_shapes_differ_;
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<Kernel> inner_;
  const bool when_shapes_differ_;
};

template <typename Op>
KernelResult MakeEquality(const KernelRequest& request) {
  using EqualityTypes = Types<float, double, int32_t, int64_t, bool, std::string, Half, Bfloat16,
                              uint8_t, int8_t, int16_t, uint16_t, uint32_t, uint64_t>;
  KernelResult strict = FromBinary<Op, EqualityTypes, kCheapGrain, bool>(request);
  if (!strict.ok() || request.attr<bool>("incompatible_shape_error")) return strict;
  return std::make_unique<LenientKernel>(*std::move(strict), Op::kWhenShapesDiffer);
}

class ApproximateEqualKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const DType dtype = request.input_dtype(0);
    if (dtype != kFloat && dtype != kDouble)
      return Unimplemented("only for float and double, not ", DTypeName(dtype));
    return std::make_unique<ApproximateEqualKernel>(request.attr<float>("tolerance"));
  }
  explicit ApproximateEqualKernel(float tolerance) : tolerance_(tolerance) {}

  Status Run(KernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& y = context.input(1);
    if (!(x.shape() == y.shape())) {
      return InvalidArgument("x and y should have the same shape but have ", x.shape().ToString(),
                             " and ", y.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, x.shape()));
    bool* close = out->mutable_data<bool>();
    DispatchAmong<float, double>(x.dtype(), [&]<typename T>() {
      const T* a = x.data<T>();
      const T* b = y.data<T>();
      for (int64_t i = 0; i < x.num_elements(); ++i)
        close[i] = std::abs(a[i] - b[i]) < static_cast<T>(tolerance_);
    });
    return absl::OkStatus();
  }

 private:
  const float tolerance_;
};

}  // namespace

void AddMathCompareKernels(KernelTable& table) {
  using BoolOnly = Types<bool>;
  table.Add({
      {"Equal", "ref", MakeEquality<Equal>},
      {"NotEqual", "ref", MakeEquality<NotEqual>},
      {"ApproximateEqual", "ref", FromClass<ApproximateEqualKernel>},
      {"Less", "ref", FromBinary<Less, NumberTypes, kCheapGrain, bool>},
      {"LessEqual", "ref", FromBinary<LessEqual, NumberTypes, kCheapGrain, bool>},
      {"Greater", "ref", FromBinary<Greater, NumberTypes, kCheapGrain, bool>},
      {"GreaterEqual", "ref", FromBinary<GreaterEqual, NumberTypes, kCheapGrain, bool>},
      {"LogicalAnd", "ref", FromBinary<LogicalAnd, BoolOnly>},
      {"LogicalOr", "ref", FromBinary<LogicalOr, BoolOnly>},
  });
}

}  // namespace carillon
