// StepState: what one running step of a straight-line program owns. Reused by later steps, so that
// these allocate nothing.
#pragma once

#include <memory>
#include <vector>

#include "kernels/context.h"
#include "runtime/program.h"
#include "runtime/resource_store.h"

namespace carillon {

class StepState {
 public:
  // Null when there is no memory for the arena.
  static std::unique_ptr<StepState> Make(const Program& program, Allocator* allocator);
  ~StepState();
  StepState(const StepState&) = delete;
  StepState& operator=(const StepState&) = delete;

  std::vector<Tensor>& slots() { return slots_; }
  const KernelContext::Frame& frame(size_t instruction) const { return frames_[instruction]; }
  MapResourceStore& resources() { return resources_; }
  // Empties every slot that a step filled, after a failure.
  void Reset(const Program& program);

 private:
  StepState() = default;
  Buffer* arena_ = nullptr;
  std::vector<Tensor> slots_;
  std::vector<KernelContext::Frame> frames_;
  std::vector<Tensor*> pointers_;       // what the frames' inputs and outputs point into
  std::vector<PlannedMemory> planned_;  // likewise
  MapResourceStore resources_;
};

}  // namespace carillon
