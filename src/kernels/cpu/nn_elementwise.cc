// Element-wise ops on tensors that lie in a layout of their own: they work on memory as it is and
// hand the layout on. Row-major tensors are the business of the plain kernels, but for the few ops
// that are worth vector code.
#include <algorithm>

#include "base/parallel.h"
#include "kernels/cpu/nn.h"
#include "kernels/cpu/vec.h"

namespace carillon {
namespace {

constexpr int64_t kGrain = 32768;

struct ReluOf {
  static constexpr int kInputs = 1;
  // NaN goes through.
  static Vec Of(const Vec& x, const Vec&) { return x < Vec{} ? Vec{} : x; }
};

struct ReluGradOf {
  static constexpr int kInputs = 2;
  static Vec Of(const Vec& gradient, const Vec& feature) {
    return gradient * (feature > Vec{} ? Splat(1.0f) : Vec{});
  }
};

struct AddOf {
  static constexpr int kInputs = 2;
  static Vec Of(const Vec& a, const Vec& b) { return a + b; }
};

struct SubOf {
  static constexpr int kInputs = 2;
  static Vec Of(const Vec& a, const Vec& b) { return a - b; }
};

struct MulOf {
  static constexpr int kInputs = 2;
  static Vec Of(const Vec& a, const Vec& b) { return a * b; }
};

template <typename F>
void Apply(const float* a, const float* b, float* to, int64_t n) {
  ParallelFor((n + kVec - 1) / kVec, kGrain / kVec, [=](int64_t begin, int64_t end) {
    const int64_t whole = std::min(end, n / kVec);
    for (int64_t i = begin * kVec; i < whole * kVec; i += kVec)
      Store(to + i, F::Of(Load(a + i), F::kInputs > 1 ? Load(b + i) : Vec{}));
    if (whole < end) {
      const int64_t i = whole * kVec;
      StorePart(to + i,
                F::Of(LoadPart(a + i, n - i), F::kInputs > 1 ? LoadPart(b + i, n - i) : Vec{}),
                n - i);
    }
  });
}

template <typename F>
class LayoutedKernel final : public Kernel {
 public:
  LayoutedKernel(const Shape& shape, const Layout& layout) : shape_(shape) {
    for (int i = 0; i < F::kInputs; ++i) {
      traits_.input_layouts.push_back(layout);
      traits_.reuses.push_back({i, 0});
    }
    traits_.output_layouts.push_back(layout);
  }
  Status Run(KernelContext& context) override {
    for (int i = 0; i < F::kInputs; ++i) CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, i, shape_));
    StatusOr<Tensor*> output = F::kInputs > 1 ? context.ReuseOrAllocateOutput(0, {0, 1}, shape_)
                                              : context.ReuseOrAllocateOutput(0, {0}, shape_);
    CARILLON_RETURN_IF_ERROR(output.status());
    Apply<F>(context.input(0).data<float>(),
             F::kInputs > 1 ? context.input(1).data<float>() : nullptr,
             (*output)->mutable_data<float>(), shape_.num_elements());
    return absl::OkStatus();
  }

 private:
  const Shape shape_;
};

// The layout that the inputs lie in, when all have one known shape and at least one of them has a
// layout; else why not.
StatusOr<Layout> CommonLayout(const KernelRequest& request, Shape* shape) {
  if (request.output_dtype(0) != DType::kFloat) return Unimplemented("only float");
  Layout layout;
  for (const ValueInfo& input : request.inputs) {
    if (layout == nullptr) layout = input.layout;
  }
  if (layout == nullptr) return Unimplemented("all inputs are row-major");
  for (int i = 0; i < static_cast<int>(request.inputs.size()); ++i) {
    Shape own;
    if (!request.InputShape(i, &own)) return Unimplemented("the shapes are not known");
    if (i > 0 && own != *shape) return Unimplemented("the inputs differ in shape");
    *shape = own;
  }
  return layout;
}

template <typename F>
KernelResult MakeLayouted(const KernelRequest& request) {
  Shape shape;
  CARILLON_ASSIGN_OR_RETURN(const Layout layout, CommonLayout(request, &shape));
  return std::make_unique<LayoutedKernel<F>>(shape, layout);
}

// Row-major tensors too: the hot activations.
template <typename F>
KernelResult MakeAnyLayout(const KernelRequest& request) {
  Shape shape;
  const StatusOr<Layout> layout = CommonLayout(request, &shape);
  if (layout.ok()) return std::make_unique<LayoutedKernel<F>>(shape, *layout);
  if (request.output_dtype(0) != DType::kFloat) return layout.status();
  for (int i = 0; i < static_cast<int>(request.inputs.size()); ++i) {
    Shape own;
    if (!request.InputShape(i, &own)) return Unimplemented("the shapes are not known");
    if (i > 0 && own != shape) return Unimplemented("the inputs differ in shape");
    shape = own;
  }
  return std::make_unique<LayoutedKernel<F>>(shape, nullptr);
}

// The sum of any number of tensors in one layout.
class LayoutedAddNKernel final : public Kernel {
 public:
  LayoutedAddNKernel(const Shape& shape, const Layout& layout, int inputs)
      : shape_(shape), inputs_(inputs) {
    traits_.input_layouts.assign(static_cast<size_t>(inputs), layout);
    traits_.output_layouts.push_back(layout);
    traits_.reuses.push_back({0, 0});
  }
  Status Run(KernelContext& context) override {
    for (int i = 0; i < inputs_; ++i) CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, i, shape_));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.ReuseOrAllocateOutput(0, {0}, shape_));
    float* const to = output->mutable_data<float>();
    const float* const first = context.input(0).data<float>();
    if (inputs_ == 1) {
      if (to != first) std::copy_n(first, shape_.num_elements(), to);
      return absl::OkStatus();
    }
    Apply<AddOf>(first, context.input(1).data<float>(), to, shape_.num_elements());
    for (int i = 2; i < inputs_; ++i)
      Apply<AddOf>(to, context.input(i).data<float>(), to, shape_.num_elements());
    return absl::OkStatus();
  }

  static KernelResult Make(const KernelRequest& request) {
    Shape shape;
    CARILLON_ASSIGN_OR_RETURN(const Layout layout, CommonLayout(request, &shape));
    return std::make_unique<LayoutedAddNKernel>(shape, layout,
                                                static_cast<int>(request.inputs.size()));
  }

 private:
  const Shape shape_;
  const int inputs_;
};

// Identity and the like: the same memory in the same layout.
class LayoutedIdentityKernel final : public Kernel {
 public:
  explicit LayoutedIdentityKernel(const Layout& layout) {
    traits_.input_layouts.push_back(layout);
    traits_.output_layouts.push_back(layout);
    traits_.aliases.push_back({0, 0});
  }
  Status Run(KernelContext& context) override {
    context.set_output(0, context.input(0));
    return absl::OkStatus();
  }
  static KernelResult Make(const KernelRequest& request) {
    if (request.InputIsPlain(0)) return Unimplemented("the input is row-major");
    Shape shape;
    if (!request.OutputShape(0, &shape)) return Unimplemented("the shapes are not known");
    return std::make_unique<LayoutedIdentityKernel>(request.inputs[0].layout);
  }
};

}  // namespace

void AddLayoutedElementwiseCpuKernels(KernelTable& table) {
  table.Add({
      {"Relu", "cpu", MakeAnyLayout<ReluOf>},
      {"ReluGrad", "cpu", MakeAnyLayout<ReluGradOf>},
      {"Add", "cpu-layout", MakeLayouted<AddOf>},
      {"AddV2", "cpu-layout", MakeLayouted<AddOf>},
      {"Sub", "cpu-layout", MakeLayouted<SubOf>},
      {"Mul", "cpu-layout", MakeLayouted<MulOf>},
      {"AddN", "cpu-layout", FromClass<LayoutedAddNKernel>},
      {"Identity", "cpu-layout", FromClass<LayoutedIdentityKernel>},
      {"StopGradient", "cpu-layout", FromClass<LayoutedIdentityKernel>},
  });
}

}  // namespace carillon
