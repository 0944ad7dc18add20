// Products of float matrices: oneDNN's, and loops of our own where calling it costs more than the
// product.
#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/cpu/dnnl_support.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/nn.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/ref/matmul.h"

namespace carillon {
namespace {

// A product of known sizes by oneDNN.
struct Prepared {
  Shape a, b, output;
  std::unique_ptr<DnnlCall> call;
  size_t scratch_bytes = 0;
};

// Batch dimensions, then rows and columns. A dimension along which an operand is repeated has size
// one.
dnnl::memory::desc OperandDesc(const Broadcast& batches, size_t operand, int64_t rows,
                               int64_t columns, int64_t row_stride, int64_t column_stride) {
  dnnl::memory::dims dims, strides;
  for (int i = 0; i < batches.rank; ++i) {
    const int64_t size = batches.dims[static_cast<size_t>(i)];
    if (size == 1) continue;
    const int64_t stride = batches.strides[operand][static_cast<size_t>(i)];
    dims.push_back(stride == 0 ? 1 : size);
    strides.push_back(std::max<int64_t>(stride, 1) * rows * columns);
  }
  dims.insert(dims.end(), {rows, columns});
  strides.insert(strides.end(), {row_stride, column_stride});
  return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, strides);
}

StatusOr<std::shared_ptr<const Prepared>> Prepare(const MatMulPlan& plan, const Shape& a,
                                                  const Shape& b) {
  auto prepared = std::make_shared<Prepared>();
  prepared->a = a;
  prepared->b = b;
  prepared->output = plan.output;
  CARILLON_RETURN_IF_ERROR(CatchDnnl([&] {
    const Broadcast& batches = plan.batches;
    const auto a_desc = OperandDesc(batches, 0, plan.m, plan.k, plan.a_row, plan.a_column);
    const auto b_desc = OperandDesc(batches, 1, plan.k, plan.n, plan.b_row, plan.b_column);
    dnnl::memory::dims out_dims;
    for (int i = 0; i < batches.rank; ++i) {
      const int64_t size = batches.dims[static_cast<size_t>(i)];
      if (size != 1) out_dims.push_back(size);
    }
    out_dims.insert(out_dims.end(), {plan.m, plan.n});
    const auto out_desc = PlainDesc(kFloat, Shape(std::span<const int64_t>(out_dims)));
    const dnnl::engine engine = MakeDnnlEngine();
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc primitive({a_desc, b_desc, out_desc}, attributes, engine);
    prepared->scratch_bytes = primitive.scratchpad_desc().get_size();
    prepared->call = std::make_unique<DnnlCall>(
        engine, dnnl::matmul(primitive),
        std::vector<DnnlCall::Argument>{{DNNL_ARG_SRC, a_desc},
                                        {DNNL_ARG_WEIGHTS, b_desc},
                                        {DNNL_ARG_DST, out_desc},
                                        {DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc()}});
  }));
  return prepared;
}

// Below this many multiplications our own loop is faster than the way into oneDNN.
constexpr int64_t kSmallProduct = 4096;

bool IsSmall(const MatMulPlan& plan) {
  return plan.m * plan.n <= kSmallProduct && plan.m * plan.n * plan.k <= kSmallProduct;
}

void MultiplySmall(const MatMulPlan& plan, const float* a, const float* b, float* out) {
  for (int64_t i = 0; i < plan.m; ++i) {
    float* row = out + i * plan.n;
    std::fill_n(row, plan.n, 0.0f);
    for (int64_t k = 0; k < plan.k; ++k) {
      const float factor = a[i * plan.a_row + k * plan.a_column];
      const float* from = b + k * plan.b_row;
      if (plan.b_column == 1) {
        for (int64_t j = 0; j < plan.n; ++j) row[j] = simd::MulAdd(factor, from[j], row[j]);
      } else {
        for (int64_t j = 0; j < plan.n; ++j)
          row[j] = simd::MulAdd(factor, from[j * plan.b_column], row[j]);
      }
    }
  }
}

class MatMulCpuKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    for (const DType dtype :
         {request.input_dtype(0), request.input_dtype(1), request.output_dtype(0)}) {
      if (dtype != kFloat) return Unimplemented("only for float, not ", DTypeName(dtype));
    }
    auto kernel = std::make_unique<MatMulCpuKernel>(MatMulOptions(request));
    Shape a, b;
    if (request.InputShape(0, &a) && request.InputShape(1, &b)) {
      CARILLON_ASSIGN_OR_RETURN(const MatMulPlan plan, MatMulPlan::Make(kernel->options_, a, b));
      if (plan.output.num_elements() > 0 && plan.k > 0 && !IsSmall(plan)) {
        CARILLON_ASSIGN_OR_RETURN(kernel->expected_, Prepare(plan, a, b));
        kernel->traits_.scratch_bytes = kernel->expected_->scratch_bytes;
      }
    }
    return kernel;
  }
  explicit MatMulCpuKernel(const MatMulOptions& options) : options_(options) {}

  Status Run(KernelContext& context) override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    if (expected_ != nullptr && a.shape() == expected_->a && b.shape() == expected_->b) {
      CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, expected_->output));
      CARILLON_ASSIGN_OR_RETURN(const KernelScratch scratch,
                                KernelScratch::Get(context, expected_->scratch_bytes));
      return expected_->call->Run({a.raw_data(), b.raw_data(), out->raw_data(), scratch.data()});
    }
    CARILLON_ASSIGN_OR_RETURN(const MatMulPlan plan,
                              MatMulPlan::Make(options_, a.shape(), b.shape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, plan.output));
    if (out->num_elements() == 0) return absl::OkStatus();
    if (plan.k == 0) {
      std::ranges::fill(out->mutable_values<float>(), 0.0f);
      return absl::OkStatus();
    }
    if (IsSmall(plan)) {
      RunSmall(plan, a, b, out);
      return absl::OkStatus();
    }
    CARILLON_ASSIGN_OR_RETURN(const std::shared_ptr<const Prepared> prepared,
                              FindOrPrepare(plan, a.shape(), b.shape()));
    CARILLON_ASSIGN_OR_RETURN(
        Tensor scratch,
        context.AllocateTemporary(kUint8, Shape{static_cast<int64_t>(prepared->scratch_bytes)}));
    return prepared->call->Run({a.raw_data(), b.raw_data(), out->raw_data(), scratch.raw_data()});
  }

 private:
  static void RunSmall(const MatMulPlan& plan, const Tensor& a, const Tensor& b, Tensor* out) {
    const Broadcast& batches = plan.batches;
    const auto last = static_cast<size_t>(batches.rank - 1);
    batches.ForEachRun(
        0, batches.shape.num_elements(), [&](const auto& offsets, int64_t at, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            MultiplySmall(
                plan,
                a.data<float>() + (offsets[0] + i * batches.strides[0][last]) * plan.m * plan.k,
                b.data<float>() + (offsets[1] + i * batches.strides[1][last]) * plan.k * plan.n,
                out->mutable_data<float>() + (at + i) * plan.m * plan.n);
          }
        });
  }

  // Where shapes are not known beforehand: those of the last steps are remembered.
  StatusOr<std::shared_ptr<const Prepared>> FindOrPrepare(const MatMulPlan& plan, const Shape& a,
                                                          const Shape& b) {
    constexpr size_t kRemembered = 8;
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& prepared : recent_) {
      if (prepared->a == a && prepared->b == b) return prepared;
    }
    CARILLON_ASSIGN_OR_RETURN(std::shared_ptr<const Prepared> made, Prepare(plan, a, b));
    if (recent_.size() == kRemembered) recent_.erase(recent_.begin());
    recent_.push_back(made);
    return made;
  }

  const MatMulOptions options_;
  std::shared_ptr<const Prepared> expected_;  // null when shapes are not known, or small
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Prepared>> recent_;  // guarded by mutex_
};

}  // namespace

void AddMatMulCpuKernels(KernelTable& table) {
  table.Add({
      {"MatMul", "onednn", FromClass<MatMulCpuKernel>},
      {"BatchMatMul", "onednn", FromClass<MatMulCpuKernel>},
      {"BatchMatMulV2", "onednn", FromClass<MatMulCpuKernel>},
      {"BatchMatMulV3", "onednn", FromClass<MatMulCpuKernel>},
  });
}

}  // namespace carillon
