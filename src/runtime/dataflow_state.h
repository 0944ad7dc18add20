// What one running step of a dataflow program owns: the iterations of its frames, each with its own
// values. Reused by later steps, so that these allocate nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "carillon/tensor.h"
#include "kernels/context.h"
#include "runtime/dataflow_plan.h"
#include "runtime/resource_store.h"
#include "tensor/memory_charge.h"

namespace carillon {

class FrameRun;

// One iteration of one run of a frame. The arrays are parallel to those of DataflowPlan::FrameInfo.
struct Iteration {
  explicit Iteration(const DataflowPlan& plan, int frame_id);

  FrameRun* frame = nullptr;
  int64_t number = 0;
  LoopPosition position;  // unless the frame is 0
  int64_t busy = 0;       // nodes that are ready or running, and frames entered from here
  std::vector<DataflowPlan::Waiting> waiting;
  std::vector<int32_t> uses;
  std::vector<Tensor> values;
  std::vector<Tensor*> pointers;    // into values and, for outputs that appear elsewhere, null
  std::unique_ptr<bool[]> dies;     // parallel to pointers
  std::vector<FrameRun*> children;  // by place; null when not entered
};

// One run of a frame: a loop that was entered from one iteration of its parent.
class FrameRun {
 public:
  enum class Arrival : uint8_t { kNotYet, kLive, kDead };
  struct Invariant {
    Arrival arrival = Arrival::kNotYet;
    Tensor value;
  };

  int id = 0;                   // in DataflowPlan::frames
  Iteration* parent = nullptr;  // null for frame 0
  int missing_enters = 0;
  std::deque<Iteration*> iterations;  // that are not over, oldest first
  int64_t started = 0;                // iterations so far
  std::vector<Invariant> invariants;
  // What wants to start the next iteration, when no more may run at once.
  std::vector<std::pair<int, Tensor>> held_back;
  // Exits that were dead in the newest iteration.
  std::vector<int> dead_exits;
};

// Frames and iterations that are taken and given back. Not thread-safe. The memory of iterations
// counts against the limit of `allocator`: a loop may have as many at once as its graph says.
class DataflowState {
 public:
  // Throws ResourceExhausted, like NewIteration.
  DataflowState(const Program& program, const DataflowPlan& plan, Allocator* allocator);

  // Iteration 0 of frame 0, with constants in place.
  Iteration* root() { return root_->iterations.front(); }
  FrameRun* NewFrame(int id, Iteration* parent);
  void FreeFrame(FrameRun* frame);
  Iteration* NewIteration(FrameRun* frame);
  void FreeIteration(Iteration* iteration);
  MapResourceStore& resources() { return resources_; }

  // The root as a step finds it, after one that succeeded …
  void RestartRoot() { Clear(root(), plan_.frames[0]); }
  // … and everything, whatever state a failed step left it in.
  void Reset();

 private:
  void StartRoot();
  static void Clear(Iteration* iteration, const DataflowPlan::FrameInfo& info);

  const Program& program_;
  const DataflowPlan& plan_;
  std::vector<std::unique_ptr<FrameRun>> frames_;         // all ever made
  std::vector<std::unique_ptr<Iteration>> iterations_;    // all ever made
  std::vector<std::vector<FrameRun*>> idle_frames_;       // by frame
  std::vector<std::vector<Iteration*>> idle_iterations_;  // by frame
  MemoryCharge charge_;                                   // for iterations_
  FrameRun* root_ = nullptr;
  MapResourceStore resources_;
};

}  // namespace carillon
