// Kernels whose work blocks in the file system.
#pragma once

#include <utility>

#include "base/background.h"
#include "kernels/kernel.h"
#include "kernels/work.h"

namespace carillon {

// Works on a background thread, so that no thread that computes waits for a disk.
class BlockingKernel : public AsyncKernel {
 public:
  void RunAsync(KernelContext& context, Done done) final {
    auto work = [this, &context, done = std::move(done)] {
      done(RunOnAccount(context.services(), [&] { return Work(context); }));
    };
    if (context.services().background == nullptr) {
      work();
    } else {
      context.services().background->Start(std::move(work));
    }
  }

 protected:
  // Computes all outputs; may block, may run for several steps at once.
  virtual Status Work(KernelContext& context) const = 0;
};

// For the tables: an entry whose kernel is one function that blocks.
template <KernelFn fn>
KernelResult FromBlockingFunction(const KernelRequest&) {
  class FunctionKernel final : public BlockingKernel {
    Status Work(KernelContext& context) const override { return fn(context); }
  };
  return std::make_unique<FunctionKernel>();
}

}  // namespace carillon
