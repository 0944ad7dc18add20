// Executor: runs steps of one Program.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/cancellation.h"
#include "runtime/device.h"
#include "runtime/program.h"
#include "runtime/rendezvous.h"
#include "runtime/trace.h"

namespace carillon {

// What one step is given. Everything must stay valid until the step is done.
struct StepArgs {
  int64_t step_id = 0;
  int threads = 1;  // that a kernel may use
  std::span<const Tensor> feeds;
  ResourceStore* resources = nullptr;
  CancellationSource* cancellation = nullptr;  // required
  StepRendezvous* rendezvous = nullptr;
  StepTrace* trace = nullptr;  // null: no tracing
};

// Thread-safe: several steps may run at once. Errors name node, op, device and input shapes and
// carry the mark [[{{node NAME}}]] by which TensorFlow's client finds the op.
class Executor {
 public:
  virtual ~Executor() = default;
  // On success fetches->at(i) is fetch i. The vector is reused: a steady step allocates nothing.
  virtual Status Run(const StepArgs& args, std::vector<Tensor>* fetches) = 0;

  // The same without holding a thread while kernels wait. `done` is called once, from any thread
  // and maybe before this returns; until then the executor, `args` and `fetches` must live.
  using Done = std::function<void(Status)>;
  virtual void RunAsync(const StepArgs& args, std::vector<Tensor>* fetches, Done done) = 0;
};

// `program` and `device` must outlive the executor.
std::unique_ptr<Executor> MakeStraightLineExecutor(const Program& program, const Device& device);
// InvalidArgument when the program's loops are malformed or a fetch is inside one.
StatusOr<std::unique_ptr<Executor>> MakeDataflowExecutor(const Program& program,
                                                         const Device& device);

// The error of a kernel run, with all that a user needs to find it.
Status DescribeKernelError(const Status& status, const Instruction& instruction,
                           const KernelContext::Frame& frame, const Device& device);

}  // namespace carillon
