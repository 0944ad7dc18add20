// StepProgram: a signature of a graph, ready to run, wherever that is: on a device of this process
// (Executable) or on several tasks.
#pragma once

#include <atomic>
#include <chrono>
#include <limits>
#include <vector>

#include "carillon/session.h"
#include "runtime/executor.h"

namespace carillon {

// Thread-safe: several steps may run at once.
class StepProgram {
 public:
  virtual ~StepProgram() = default;

  // As Executor's.
  virtual Status Run(const StepArgs& args, std::vector<Tensor>* fetches) = 0;
  virtual void RunAsync(const StepArgs& args, std::vector<Tensor>* fetches,
                        Executor::Done done) = 0;

  // Whether a step takes about as long whatever its feeds hold and whatever other steps do: no
  // loops, no waiting, nothing that outlives the step (variables, generators), all values small.
  virtual bool has_fixed_work() const { return false; }
  // The graphs that run, one for each device.
  virtual std::vector<const NodeGraph*> graphs() const = 0;
  // What runs in this process; null when that is not all of it.
  virtual const Program* local_program() const { return nullptr; }

  // How long the last step took, what its caller did at its end left out (the answer to a client
  // takes longer than many steps); the longest time there is before the first.
  std::chrono::nanoseconds last_run() const {
    return std::chrono::nanoseconds(last_run_.load(std::memory_order_relaxed));
  }
  void set_last_run(std::chrono::nanoseconds time) {
    last_run_.store(time.count(), std::memory_order_relaxed);
  }

 private:
  std::atomic<int64_t> last_run_{std::numeric_limits<int64_t>::max()};
};

}  // namespace carillon
