// Runs the instructions of a program as their inputs arrive: what has control flow or kernels that
// wait.
#include "runtime/dataflow_plan.h"
#include "runtime/dataflow_step.h"
#include "runtime/executor.h"

namespace carillon {
namespace {

class DataflowExecutor final : public Executor {
 public:
  DataflowExecutor(const Program& program, const Device& device, DataflowPlan plan)
      : program_(program), device_(device), plan_(std::move(plan)) {}

  Status Run(const StepArgs& args, std::vector<Tensor>* fetches) override {
    std::unique_ptr<DataflowStep> step = TakeStep();
    Status status = step->Run(args, fetches);
    ReturnStep(std::move(step));
    return status;
  }

  void RunAsync(const StepArgs& args, std::vector<Tensor>* fetches, Done done) override {
    DataflowStep* step = TakeStep().release();
    step->RunAsync(args, fetches, [this, step, done = std::move(done)](Status status) {
      ReturnStep(std::unique_ptr<DataflowStep>(step));
      done(std::move(status));
    });
  }

 private:
  std::unique_ptr<DataflowStep> TakeStep() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<DataflowStep> step = std::move(idle_.back());
        idle_.pop_back();
        return step;
      }
    }
    return std::make_unique<DataflowStep>(program_, plan_, device_);
  }

  void ReturnStep(std::unique_ptr<DataflowStep> step) {
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(step));
  }

  const Program& program_;
  const Device& device_;
  const DataflowPlan plan_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DataflowStep>> idle_;  // under mutex_
};

}  // namespace

StatusOr<std::unique_ptr<Executor>> MakeDataflowExecutor(const Program& program,
                                                         const Device& device) {
  CARILLON_ASSIGN_OR_RETURN(DataflowPlan plan, DataflowPlan::Make(program));
  return std::make_unique<DataflowExecutor>(program, device, std::move(plan));
}

}  // namespace carillon
