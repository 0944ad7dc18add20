// The files that together make the fast nn kernels of the CPU, and what they share.
#pragma once

#include <cstddef>

#include "base/parallel.h"
#include "kernels/kernel.h"

namespace carillon {

void AddConvCpuKernels(KernelTable& table);
void AddPoolCpuKernels(KernelTable& table);
void AddBiasCpuKernels(KernelTable& table);
void AddLayoutedElementwiseCpuKernels(KernelTable& table);
void AddBatchNormCpuKernels(KernelTable& table);
void AddSoftmaxCpuKernels(KernelTable& table);
void AddFusedMatMulCpuKernels(KernelTable& table);

// oneDNN makes primitives for the number of threads that is set at that moment.
class WithKernelThreads {
 public:
  explicit WithKernelThreads(int threads) : before_(KernelThreads()) { SetKernelThreads(threads); }
  ~WithKernelThreads() { SetKernelThreads(before_); }
  WithKernelThreads(const WithKernelThreads&) = delete;
  WithKernelThreads& operator=(const WithKernelThreads&) = delete;

 private:
  const int before_;
};

// traits().scratch_bytes bytes for one run: those that the executor set aside, or else memory of
// the step's own.
class KernelScratch {
 public:
  static StatusOr<KernelScratch> Get(KernelContext& context, size_t bytes) {
    KernelScratch scratch;
    scratch.data_ = context.scratch();
    if (scratch.data_ == nullptr && bytes > 0) {
      CARILLON_ASSIGN_OR_RETURN(
          scratch.own_,
          context.AllocateTemporary(DType::kUint8, Shape{static_cast<int64_t>(bytes)}));
      scratch.data_ = scratch.own_.mutable_raw_data();
    }
    return scratch;
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  Tensor own_;
};

// For kernels that were made for known shapes.
inline Status CheckMadeFor(const KernelContext& context, int input, const Shape& shape) {
  if (context.input(input).shape() == shape) [[likely]]
    return absl::OkStatus();
  return Internal("input ", input, " of node ", context.node().Describe(), " is ",
                  context.input(input).shape().ToString(), " but the kernel was made for ",
                  shape.ToString());
}

}  // namespace carillon
