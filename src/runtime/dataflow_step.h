// DataflowStep: runs one step of a dataflow program.
//
// Invariants:
//   1. One thread at a time runs kernels, propagates values and touches the state. Kernels that
//      wait report back through the inbox, from any thread. While only such kernels are left, Run
//      waits for them; a step that was started with RunAsync is suspended, and the next report has
//      a background thread take over.
//   2. No lock is held while a kernel runs.
//   3. A node becomes ready once an iteration, when all it waits for has arrived, dead or alive. It
//   is
//      dead when something it waits for is: then its outputs are, and nothing runs. A Merge is
//      ready with its first live input, and dead when all inputs are; a ControlTrigger is never
//      dead.
//   4. An iteration is over when nothing in it is busy, all older ones are over and (the first one)
//      everything that enters the frame has. A frame is over with its last iteration.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "base/throw.h"
#include "kernels/context.h"
#include "runtime/dataflow_plan.h"
#include "runtime/dataflow_state.h"
#include "runtime/executor.h"

namespace carillon {

// Used for one step at a time, and then for the next.
class DataflowStep {
 public:
  DataflowStep(const Program& program, const DataflowPlan& plan, const Device& device);
  ~DataflowStep();

  Status Run(const StepArgs& args, std::vector<Tensor>* fetches);
  // The step may be used again, or destroyed, from inside `done`.
  void RunAsync(const StepArgs& args, std::vector<Tensor>* fetches, Executor::Done done);

 private:
  using Node = DataflowPlan::Node;
  using Consumer = DataflowPlan::Consumer;

  struct Ready {
    Iteration* iteration;
    int node;
  };

  // A kernel that was started and has not reported back.
  struct AsyncRun {
    Iteration* iteration = nullptr;
    int node = 0;
    KernelContext::Frame frame;
    std::optional<KernelContext> context;
    Tensor scratch;
    std::vector<PlannedMemory> planned;
    int64_t start_ns = 0;
    Status status;
    AsyncRun* next = nullptr;
  };

  // Everything that has arrived and everything that follows from it, until nothing is left to run:
  // true. False when it was suspended instead, which only happens without `wait`.
  bool Drain(bool wait);
  void Continue();  // of RunAsync
  void Start(const StepArgs& args);
  Status Finish(std::vector<Tensor>* fetches);
  Status TakeFetches(std::vector<Tensor>* fetches);

  bool HasReady() const { return next_ready_ < ready_.size() || !ready_to_wait_.empty(); }
  void AddReady(const Ready& ready);
  Ready TakeReady();
  void Process(const Ready& ready);
  void ProcessDead(Iteration& iteration, const Node& node);
  // Each runs a live node and hands on its outputs.
  void RunKernel(Iteration& iteration, int id);
  void StartKernel(Iteration& iteration, int id);
  void FinishKernel(AsyncRun* run);
  void RunSwitch(Iteration& iteration, const Node& node);
  void RunMerge(Iteration& iteration, const Node& node);
  void RunEnter(Iteration& iteration, const Node& node, bool live);
  void RunExit(Iteration& iteration, int id, bool live);
  void RunNextIteration(Iteration& iteration, int id);

  // The value of input i, moved out of the iteration when nobody else reads it.
  Tensor TakeInput(Iteration& iteration, const Node& node, int i);
  void ReleaseInputs(Iteration& iteration, const Node& node);
  void ReleaseUse(Iteration& iteration, int slot);
  // Puts `value` (nothing: dead) into output i of `node` in `to` and tells those who wait for it.
  void Deliver(Iteration& to, const Node& node, int i, Tensor value);
  void Announce(Iteration& to, int slot, bool live, bool from_enter);
  void AnnounceControl(Iteration& to, const Node& node, bool live);
  void Arrive(Iteration& to, const Consumer& consumer, int slot, bool live, bool from_enter);
  void AnnounceKernelOutputs(Iteration& iteration, const Node& node);
  void DeliverInvariant(Iteration& to, int frame, size_t i);

  Iteration* StartIteration(FrameRun* frame);
  void EndIterations(FrameRun* frame);
  void EndFrame(FrameRun* frame);
  void Idle(Iteration& iteration);  // one thing less is busy in it

  KernelContext::Frame FrameFor(Iteration& iteration, const Node& node, Tensor* scratch,
                                std::vector<PlannedMemory>* planned);
  void Fail(Status status);
  // There may be no memory for one more iteration.
  template <typename Body>
  void FailIfThrown(Body&& body) {
    if (Status thrown = CatchAsStatus(body); !thrown.ok()) [[unlikely]]
      Fail(std::move(thrown));
  }
  void FailNode(Status status, Iteration& iteration, const Node& node);
  void Record(const Node& node, Iteration& iteration, int64_t start_ns);

  AsyncRun* TakeAsyncRun();
  void Report(AsyncRun* run, Status status);  // from any thread
  // What was reported. With nothing else to do (`idle`) and no report there: waits for one, or
  // returns null with the step suspended.
  AsyncRun* TakeReports(bool idle, bool wait);

  const Program& program_;
  const DataflowPlan& plan_;
  const Device& device_;
  DataflowState state_;
  std::vector<int> step_slots_;        // feeds and fetches: emptied after a step
  std::vector<Tensor> merge_indices_;  // 0, 1, 2, …: what a Merge says arrived

  // Of the step that runs.
  const StepArgs* args_ = nullptr;
  std::optional<StepServices> services_;
  std::vector<Ready> ready_;  // from next_ready_ on
  size_t next_ready_ = 0;
  std::vector<Ready> ready_to_wait_;  // async kernels
  int running_async_ = 0;
  Status status_;
  Tensor scratch_;
  std::vector<PlannedMemory> planned_;

  std::vector<std::unique_ptr<AsyncRun>> async_runs_;
  std::vector<AsyncRun*> idle_async_runs_;
  std::mutex mutex_;
  std::condition_variable reported_;
  AsyncRun* reports_ = nullptr;  // under mutex_
  bool suspended_ = false;       // under mutex_
  std::vector<Tensor>* async_fetches_ = nullptr;
  Executor::Done async_done_;
};

}  // namespace carillon
