// Runs the instructions of a program as their inputs arrive: what has control flow or kernels that
// wait.
#include "base/throw.h"
#include "base/work_scope.h"
#include "runtime/dataflow_plan.h"
#include "runtime/dataflow_step.h"
#include "runtime/executor.h"

namespace carillon {
namespace {

class DataflowExecutor final : public Executor {
 public:
  DataflowExecutor(const Program& program, const Device& device, DataflowPlan plan)
      : program_(program), device_(device), plan_(std::move(plan)), idle_(device.idle.get()) {}

  Status Run(const StepArgs& args, std::vector<Tensor>* fetches) override {
    const WorkPause pause;  // of a kernel that runs this for itself
    CARILLON_ASSIGN_OR_RETURN(std::unique_ptr<DataflowStep> step, TakeStep());
    Status status = step->Run(args, fetches);
    idle_.Return(std::move(step));
    return status;
  }

  void RunAsync(const StepArgs& args, std::vector<Tensor>* fetches, Done done) override {
    const WorkPause pause;
    StatusOr<std::unique_ptr<DataflowStep>> taken = TakeStep();
    if (!taken.ok()) return done(taken.status());
    DataflowStep* step = taken->release();
    step->RunAsync(args, fetches, [this, step, done = std::move(done)](Status status) {
      idle_.Return(std::unique_ptr<DataflowStep>(step));
      done(std::move(status));
    });
  }

 private:
  StatusOr<std::unique_ptr<DataflowStep>> TakeStep() {
    std::unique_ptr<DataflowStep> step = idle_.Take();
    if (step == nullptr) {
      CARILLON_RETURN_IF_ERROR(
          CatchAsStatus([&] { step = std::make_unique<DataflowStep>(program_, plan_, device_); }));
    }
    return step;
  }

  const Program& program_;
  const Device& device_;
  const DataflowPlan plan_;
  IdleStates<DataflowStep> idle_;
};

}  // namespace

StatusOr<std::unique_ptr<Executor>> MakeDataflowExecutor(const Program& program,
                                                         const Device& device) {
  CARILLON_ASSIGN_OR_RETURN(DataflowPlan plan, DataflowPlan::Make(program));
  return std::make_unique<DataflowExecutor>(program, device, std::move(plan));
}

}  // namespace carillon
