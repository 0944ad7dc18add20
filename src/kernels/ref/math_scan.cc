// Running sums and products along an axis.
#include <algorithm>

#include "base/parallel.h"
#include "kernels/ref/arithmetic.h"
#include "kernels/ref/index_values.h"
#include "kernels/ref/math.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

struct Sum {
  static constexpr int kNothing = 0;
  template <typename T>
  static T Step(T a, T b) {
    return WrapAdd(a, b);
  }
};
struct Product {
  static constexpr int kNothing = 1;
  template <typename T>
  static T Step(T a, T b) {
    return WrapMul(a, b);
  }
};

constexpr int64_t kColumns = 256;  // running results that are kept side by side

// Scans `width` neighbouring columns of one slice.
template <typename Op, typename T>
void ScanColumns(const T* in, T* out, const AxisView& view, int64_t width, bool exclusive,
                 bool reverse) {
  using C = Compute<T>;
  C running[kColumns];
  std::fill_n(running, width, C(Op::kNothing));
  for (int64_t step = 0; step < view.size; ++step) {
    const int64_t at = (reverse ? view.size - 1 - step : step) * view.inner;
    for (int64_t j = 0; j < width; ++j) {
      const C next = Op::Step(running[j], static_cast<C>(in[at + j]));
      out[at + j] = static_cast<T>(exclusive ? running[j] : next);
      running[j] = next;
    }
  }
}

template <typename Op>
class ScanKernel final : public Kernel {
 public:
  explicit ScanKernel(const KernelRequest& request)
      : exclusive_(request.attr<bool>("exclusive")), reverse_(request.attr<bool>("reverse")) {
    traits_.reuses = {{0, 0}};
  }

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const int axis, ScalarAxis(context.input(1), in.rank(), "scan axis"));
    const void* source = in.raw_data();
    const AxisView view(in.shape(), axis);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.ReuseOrAllocateOutput(0, {0}, in.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    const int64_t chunks = (view.inner + kColumns - 1) / kColumns;
    const int64_t chunk_work = view.size * std::min(view.inner, kColumns);
    DispatchNumber(out->dtype(), [&]<typename T>() {
      const T* from = static_cast<const T*>(source);
      T* to = out->mutable_data<T>();
      ParallelFor(view.outer * chunks, std::max<int64_t>(1, 32 * 1024 / chunk_work),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      const int64_t column = i % chunks * kColumns;
                      const int64_t at = i / chunks * view.size * view.inner + column;
                      ScanColumns<Op>(from + at, to + at, view,
                                      std::min(kColumns, view.inner - column), exclusive_,
                                      reverse_);
                    }
                  });
    });
    return absl::OkStatus();
  }

 private:
  const bool exclusive_;
  const bool reverse_;
};

}  // namespace

void AddMathScanKernels(KernelTable& table) {
  table.Add({
      {"Cumsum", "ref", FromClass<ScanKernel<Sum>>},
      {"Cumprod", "ref", FromClass<ScanKernel<Product>>},
  });
}

}  // namespace carillon
