// Products of float matrices: oneDNN's, and loops of our own where calling it costs more than the
// product.
#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/dnnl_support.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/nn.h"
#include "kernels/cpu/simd_math.h"
#include "kernels/ref/matmul.h"
#include "kernels/work.h"

namespace carillon {
namespace {

// A product of known sizes by oneDNN: all at once, or piece by piece.
class Prepared {
 public:
  static StatusOr<std::shared_ptr<const Prepared>> Make(const MatMulPlan& plan, const Shape& a,
                                                        const Shape& b);
  bool IsFor(const Shape& a, const Shape& b) const { return a == a_ && b == b_; }
  const Shape& output() const { return plan_.output; }
  size_t scratch_bytes() const { return scratch_bytes_; }
  // Cancelled when nobody waits for it any more.
  Status Run(const float* a, const float* b, float* out, void* scratch) const;

 private:
  Prepared(const MatMulPlan& plan, const Shape& a, const Shape& b);
  void Prepare(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
               const dnnl::memory::desc& out);
  void PrepareAll();
  void PreparePiece();
  Status RunPieces(const float* a, const float* b, float* out, void* scratch) const;

  const MatMulPlan plan_;
  const Shape a_, b_;
  // Of a piece: matrices along the last batch dimension, and rows of each.
  int64_t matrices_ = 0, rows_ = 0;
  bool in_pieces_ = false;
  std::unique_ptr<DnnlCall> call_;
  size_t scratch_bytes_ = 0;
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

Prepared::Prepared(const MatMulPlan& plan, const Shape& a, const Shape& b)
    : plan_(plan), a_(a), b_(b) {
  const auto last = static_cast<size_t>(plan.batches.rank - 1);
  const double row = static_cast<double>(plan.k) * static_cast<double>(plan.n);
  const double matrix = static_cast<double>(plan.m) * row;
  rows_ = PieceOf(plan.m, row);
  matrices_ = PieceOf(plan.batches.dims[last], matrix);
  const int64_t all = plan.batches.shape.num_elements();
  in_pieces_ = rows_ < plan.m || PieceOf(all, matrix) < all;
}

StatusOr<std::shared_ptr<const Prepared>> Prepared::Make(const MatMulPlan& plan, const Shape& a,
                                                         const Shape& b) {
  std::shared_ptr<Prepared> prepared(new Prepared(plan, a, b));
  CARILLON_RETURN_IF_ERROR(
      CatchDnnl([&] { prepared->in_pieces_ ? prepared->PreparePiece() : prepared->PrepareAll(); }));
  return prepared;
}

void Prepared::PrepareAll() {
  const Broadcast& batches = plan_.batches;
  dnnl::memory::dims out_dims;
  for (int i = 0; i < batches.rank; ++i) {
    const int64_t size = batches.dims[static_cast<size_t>(i)];
    if (size != 1) out_dims.push_back(size);
  }
  out_dims.insert(out_dims.end(), {plan_.m, plan_.n});
  Prepare(OperandDesc(batches, 0, plan_.m, plan_.k, plan_.a_row, plan_.a_column),
          OperandDesc(batches, 1, plan_.k, plan_.n, plan_.b_row, plan_.b_column),
          PlainDesc(kFloat, Shape(std::span<const int64_t>(out_dims))));
}

void Prepared::PreparePiece() {
  const auto last = static_cast<size_t>(plan_.batches.rank - 1);
  // Matrices have `size` elements, and `step` is 0 where one is for all.
  const auto desc = [this](int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride,
                           int64_t size, int64_t step) {
    dnnl::memory::dims dims = {rows, columns}, strides = {row_stride, column_stride};
    if (matrices_ > 1) {
      dims.insert(dims.begin(), step == 0 ? 1 : matrices_);
      strides.insert(strides.begin(), size);
    }
    return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, strides);
  };
  Prepare(desc(rows_, plan_.k, plan_.a_row, plan_.a_column, plan_.m * plan_.k,
               plan_.batches.strides[0][last]),
          desc(plan_.k, plan_.n, plan_.b_row, plan_.b_column, plan_.k * plan_.n,
               plan_.batches.strides[1][last]),
          desc(rows_, plan_.n, plan_.n, 1, plan_.m * plan_.n, 1));
}

void Prepared::Prepare(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                       const dnnl::memory::desc& out) {
  const dnnl::engine engine = MakeDnnlEngine();
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::matmul::primitive_desc primitive({a, b, out}, attributes, engine);
  scratch_bytes_ = primitive.scratchpad_desc().get_size();
  call_ = std::make_unique<DnnlCall>(
      engine, dnnl::matmul(primitive),
      std::vector<DnnlCall::Argument>{{DNNL_ARG_SRC, a},
                                      {DNNL_ARG_WEIGHTS, b},
                                      {DNNL_ARG_DST, out},
                                      {DNNL_ARG_SCRATCHPAD, primitive.scratchpad_desc()}});
}

Status Prepared::Run(const float* a, const float* b, float* out, void* scratch) const {
  return in_pieces_ ? RunPieces(a, b, out, scratch) : call_->Run({a, b, out, scratch});
}

Status Prepared::RunPieces(const float* a, const float* b, float* out, void* scratch) const {
  const Broadcast& batches = plan_.batches;
  const auto last = static_cast<size_t>(batches.rank - 1);
  const int64_t m = plan_.m, n = plan_.n, k = plan_.k;
  Status status;
  batches.ForEachRun(
      0, batches.shape.num_elements(), [&](const auto& offsets, int64_t at, int64_t count) {
        for (int64_t i = 0; i < count; i += matrices_) {
          const int64_t first = std::min(i, count - matrices_);
          const float* left = a + (offsets[0] + first * batches.strides[0][last]) * m * k;
          const float* right = b + (offsets[1] + first * batches.strides[1][last]) * k * n;
          for (int64_t j = 0; j < m; j += rows_) {
            const int64_t row = std::min(j, m - rows_);
            if (status.ok()) status = CheckWanted();
            if (!status.ok()) return;
            status = call_->Run(
                {left + row * plan_.a_row, right, out + ((at + first) * m + row) * n, scratch});
          }
        }
      });
  return status;
}

constexpr int64_t kWidth = 16;  // floats that are computed side by side

// Our own loop is faster than the way into oneDNN for small products.
bool IsSmall(const MatMulPlan& plan) {
  constexpr int64_t kMostProducts = 4096;
  return plan.m * plan.n <= kMostProducts && plan.m * plan.n * plan.k <= kMostProducts;
}

// b is packed in panels of kWidth columns, the last one filled up with zeros, which settles
// transposition and leaves an inner loop of fixed size.
void MultiplySmall(const MatMulPlan& plan, const float* a, const float* b, float* out) {
  constexpr int64_t kMostRows = 256;  // of a panel; longer products are summed up in parts
  float panel[kMostRows][kWidth];
  for (int64_t column = 0; column < plan.n; column += kWidth) {
    const int64_t width = std::min(kWidth, plan.n - column);
    for (int64_t first = 0; first < plan.k; first += kMostRows) {
      const int64_t length = std::min(kMostRows, plan.k - first);
      for (int64_t k = 0; k < length; ++k) {
        const float* from = b + (first + k) * plan.b_row + column * plan.b_column;
        for (int64_t j = 0; j < kWidth; ++j) panel[k][j] = j < width ? from[j * plan.b_column] : 0;
      }
      for (int64_t i = 0; i < plan.m; ++i) {
        const float* row = a + i * plan.a_row + first * plan.a_column;
        float sums[kWidth] = {};
        for (int64_t k = 0; k < length; ++k) {
          const float factor = row[k * plan.a_column];
          for (int64_t j = 0; j < kWidth; ++j) sums[j] = simd::MulAdd(factor, panel[k][j], sums[j]);
        }
        float* to = out + i * plan.n + column;
        for (int64_t j = 0; j < width; ++j) to[j] = first == 0 ? sums[j] : to[j] + sums[j];
      }
    }
  }
}

float Dot(const float* a, const float* b, int64_t n) {
  constexpr int64_t kLanes = 4 * kWidth;
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = simd::MulAdd(a[i + lane], b[i + lane], lanes[lane]);
  }
  for (int64_t lane = 0; i < n; ++i, ++lane) lanes[lane] = simd::MulAdd(a[i], b[i], lanes[lane]);
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

// out[i] = Σ matrix[i * row + k * column] vector[k]: a product in which one operand is a vector.
// One of the strides is 1.
void MultiplyVector(const float* matrix, int64_t rows, int64_t length, int64_t row, int64_t column,
                    const float* vector, float* out) {
  constexpr int64_t kGrain = 32 * 1024;
  if (column == 1) {
    ParallelFor(rows, std::max<int64_t>(1, kGrain / length), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = Dot(matrix + i * row, vector, length);
    });
    return;
  }
  ParallelFor(rows, std::max(4 * kWidth, kGrain / length), [=](int64_t begin, int64_t end) {
    std::fill(out + begin, out + end, 0.0f);
    int64_t k = 0;
    for (; k + 4 <= length; k += 4) {  // four at a time: fewer passes over the output
      const float* from = matrix + k * column;
      const float* v = vector + k;
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) {
        const float two = simd::MulAdd(from[i + column], v[1], from[i] * v[0]);
        const float four = simd::MulAdd(from[i + 3 * column], v[3], from[i + 2 * column] * v[2]);
        out[i] += two + four;
      }
    }
    for (; k < length; ++k) {
      const float* from = matrix + k * column;
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) out[i] = simd::MulAdd(from[i], vector[k], out[i]);
    }
  });
}

bool NeedsDnnl(const MatMulPlan& plan) {
  return plan.output.num_elements() > 0 && plan.m > 1 && plan.n > 1 && plan.k > 0 && !IsSmall(plan);
}

// What does not.
void MultiplyOwn(const MatMulPlan& plan, const float* a, const float* b, float* out) {
  if (plan.n == 1) {
    MultiplyVector(a, plan.m, plan.k, plan.a_row, plan.a_column, b, out);
  } else if (plan.m == 1) {
    MultiplyVector(b, plan.n, plan.k, plan.b_column, plan.b_row, a, out);
  } else {
    MultiplySmall(plan, a, b, out);
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
      if (NeedsDnnl(plan)) {
        CARILLON_ASSIGN_OR_RETURN(kernel->expected_, Prepared::Make(plan, a, b));
        kernel->traits_.scratch_bytes = kernel->expected_->scratch_bytes();
      }
    }
    return kernel;
  }
  explicit MatMulCpuKernel(const MatMulOptions& options) : options_(options) {}

  Status Run(KernelContext& context) override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    if (expected_ != nullptr && expected_->IsFor(a.shape(), b.shape())) {
      CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, expected_->output()));
      CARILLON_ASSIGN_OR_RETURN(const KernelScratch scratch,
                                KernelScratch::Get(context, expected_->scratch_bytes()));
      return expected_->Run(a.data<float>(), b.data<float>(), out->mutable_data<float>(),
                            scratch.data());
    }
    CARILLON_ASSIGN_OR_RETURN(const MatMulPlan plan,
                              MatMulPlan::Make(options_, a.shape(), b.shape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, plan.output));
    if (out->num_elements() == 0) return absl::OkStatus();
    if (plan.k == 0) {
      std::ranges::fill(out->mutable_values<float>(), 0.0f);
      return absl::OkStatus();
    }
    if (!NeedsDnnl(plan)) {
      return RunOwn(plan, a, b, out);
    }
    CARILLON_ASSIGN_OR_RETURN(const std::shared_ptr<const Prepared> prepared,
                              FindOrPrepare(plan, a.shape(), b.shape()));
    CARILLON_ASSIGN_OR_RETURN(
        Tensor scratch,
        context.AllocateTemporary(kUint8, Shape{static_cast<int64_t>(prepared->scratch_bytes())}));
    return prepared->Run(a.data<float>(), b.data<float>(), out->mutable_data<float>(),
                         scratch.mutable_raw_data());
  }

 private:
  static Status RunOwn(const MatMulPlan& plan, const Tensor& a, const Tensor& b, Tensor* out) {
    constexpr int64_t kLook = 1 << 20;  // products between two looks whether to go on
    const Broadcast& batches = plan.batches;
    const int64_t products = plan.m * plan.n * plan.k;
    int64_t since_look = 0;
    const auto last = static_cast<size_t>(batches.rank - 1);
    batches.ForEachRun(
        0, batches.shape.num_elements(), [&](const auto& offsets, int64_t at, int64_t n) {
          for (int64_t i = 0; i < n; ++i) {
            if (since_look += products; since_look >= kLook) {
              if (WorkIsCancelled()) return;
              since_look = 0;
            }
            MultiplyOwn(
                plan,
                a.data<float>() + (offsets[0] + i * batches.strides[0][last]) * plan.m * plan.k,
                b.data<float>() + (offsets[1] + i * batches.strides[1][last]) * plan.k * plan.n,
                out->mutable_data<float>() + (at + i) * plan.m * plan.n);
          }
        });
    return CheckWanted();
  }

  // Where shapes are not known beforehand: those of the last steps are remembered.
  StatusOr<std::shared_ptr<const Prepared>> FindOrPrepare(const MatMulPlan& plan, const Shape& a,
                                                          const Shape& b) {
    constexpr size_t kRemembered = 8;
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& prepared : recent_) {
      if (prepared->IsFor(a, b)) return prepared;
    }
    CARILLON_ASSIGN_OR_RETURN(std::shared_ptr<const Prepared> made, Prepared::Make(plan, a, b));
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
