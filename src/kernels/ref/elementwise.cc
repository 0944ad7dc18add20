#include "kernels/ref/elementwise.h"

#include <atomic>

#include "base/parallel.h"
#include "kernels/ref/broadcast.h"

namespace carillon {
namespace {

Status Decline(const KernelRequest& request) {
  return Unimplemented("no loop for ", DTypeName(request.input_dtype(0)));
}

// Elements at the same place can be computed in whatever layout they lie, as long as operands that
// move lie in the same one and the result has their dtype. Operands of one element have none.
void TakeLayout(const KernelRequest& request, KernelTraits* traits) {
  Layout layout;
  Shape output;
  if (!request.OutputShape(0, &output)) return;
  for (const ValueInfo& input : request.inputs) {
    Shape shape;
    if (!input.shape.AsShape(&shape) || input.dtype != request.output_dtype(0)) return;
    if (!(shape == output) && shape.num_elements() != 1) return;
    if (layout == nullptr) layout = input.layout;
  }
  if (layout == nullptr) return;
  for (const ValueInfo& input : request.inputs) {
    Shape shape;
    traits->input_layouts.push_back(input.shape.AsShape(&shape) && shape == output ? layout
                                                                                   : nullptr);
  }
  traits->output_layouts = {layout};
}

const char* At(const void* data, int64_t element, size_t size) {
  return static_cast<const char*>(data) + static_cast<size_t>(element) * size;
}
char* At(void* data, int64_t element, size_t size) {
  return static_cast<char*>(data) + static_cast<size_t>(element) * size;
}

class UnaryKernel final : public Kernel {
 public:
  UnaryKernel(const KernelRequest& request, UnaryLoop loop, int64_t grain)
      : loop_(loop),
        grain_(grain),
        in_size_(DTypeSize(request.input_dtype(0))),
        out_size_(DTypeSize(request.output_dtype(0))) {
    if (request.input_dtype(0) == request.output_dtype(0)) traits_.reuses = {{0, 0}};
    TakeLayout(request, &traits_);
  }

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    const void* source = in.raw_data();
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.ReuseOrAllocateOutput(0, {0}, in.shape()));
    void* target = out->mutable_raw_data();
    const int64_t n = out->num_elements();
    if (n <= grain_) {
      loop_(source, target, n);
      return absl::OkStatus();
    }
    ParallelFor(n, grain_, [&](int64_t begin, int64_t end) {
      loop_(At(source, begin, in_size_), At(target, begin, out_size_), end - begin);
    });
    return absl::OkStatus();
  }

 private:
  const UnaryLoop loop_;
  const int64_t grain_;
  const size_t in_size_;
  const size_t out_size_;
};

class BinaryKernel final : public Kernel {
 public:
  BinaryKernel(const KernelRequest& request, BinaryLoop loop, const BinaryTraits& traits)
      : loop_(loop),
        grain_(traits.grain),
        broadcasts_(traits.broadcasts),
        failure_(traits.failure),
        in_size_(DTypeSize(request.input_dtype(0))),
        out_size_(DTypeSize(request.output_dtype(0))) {
    if (request.input_dtype(0) == request.output_dtype(0)) traits_.reuses = {{0, 0}, {1, 0}};
    TakeLayout(request, &traits_);
  }

  Status Run(KernelContext& context) override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    if (a.shape() == b.shape()) return RunFlat(context, a.shape(), 1, 1);
    if (!broadcasts_) {
      return InvalidArgument("inputs should have the same shape but have ", a.shape().ToString(),
                             " and ", b.shape().ToString());
    }
    if (b.num_elements() == 1 && b.rank() <= a.rank()) return RunFlat(context, a.shape(), 1, 0);
    if (a.num_elements() == 1 && a.rank() <= b.rank()) return RunFlat(context, b.shape(), 0, 1);
    return RunBroadcast(context);
  }

 private:
  Status RunFlat(KernelContext& context, const Shape& shape, int64_t a_stride, int64_t b_stride) {
    const void* a = context.input(0).raw_data();
    const void* b = context.input(1).raw_data();
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.ReuseOrAllocateOutput(0, {0, 1}, shape));
    void* target = out->mutable_raw_data();
    const int64_t n = out->num_elements();
    if (n <= grain_) return Check(n == 0 || loop_(a, a_stride, b, b_stride, target, n));
    std::atomic<bool> valid = true;
    ParallelFor(n, grain_, [&](int64_t begin, int64_t end) {
      if (!loop_(At(a, begin * a_stride, in_size_), a_stride, At(b, begin * b_stride, in_size_),
                 b_stride, At(target, begin, out_size_), end - begin))
        valid.store(false, std::memory_order_relaxed);
    });
    return Check(valid);
  }

  Status RunBroadcast(KernelContext& context) {
    CARILLON_ASSIGN_OR_RETURN(const Broadcast walk, Broadcast::Make({&context.input(0).shape(),
                                                                     &context.input(1).shape()}));
    const void* a = context.input(0).raw_data();
    const void* b = context.input(1).raw_data();
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.ReuseOrAllocateOutput(0, {0, 1}, walk.shape));
    void* target = out->mutable_raw_data();
    const auto last = static_cast<size_t>(walk.rank - 1);
    const int64_t a_stride = walk.strides[0][last];
    const int64_t b_stride = walk.strides[1][last];
    std::atomic<bool> valid = true;
    ParallelFor(out->num_elements(), grain_, [&](int64_t begin, int64_t end) {
      bool all_valid = true;
      walk.ForEachRun(begin, end, [&](const auto& offsets, int64_t at, int64_t n) {
        all_valid &= loop_(At(a, offsets[0], in_size_), a_stride, At(b, offsets[1], in_size_),
                           b_stride, At(target, at, out_size_), n);
      });
      if (!all_valid) valid.store(false, std::memory_order_relaxed);
    });
    return Check(valid);
  }

  Status Check(bool valid) const {
    if (valid) [[likely]]
      return absl::OkStatus();
    return InvalidArgument(failure_);
  }

  const BinaryLoop loop_;
  const int64_t grain_;
  const bool broadcasts_;
  const std::string_view failure_;
  const size_t in_size_;
  const size_t out_size_;
};

}  // namespace

KernelResult MakeUnaryKernel(const KernelRequest& request, UnaryLoop loop, int64_t grain) {
  if (loop == nullptr) return Decline(request);
  return std::make_unique<UnaryKernel>(request, loop, grain);
}

KernelResult MakeBinaryKernel(const KernelRequest& request, BinaryLoop loop,
                              const BinaryTraits& traits) {
  if (loop == nullptr) return Decline(request);
  return std::make_unique<BinaryKernel>(request, loop, traits);
}

}  // namespace carillon
