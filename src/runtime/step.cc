#include "runtime/step.h"

#include "tensor/buffer.h"

namespace carillon {

std::unique_ptr<StepState> StepState::Make(const Program& program, Allocator* allocator) {
  std::unique_ptr<StepState> state(new StepState);
  if (program.arena_bytes > 0) {
    state->arena_ = Buffer::AllocateTransient(program.arena_bytes, allocator);
    if (state->arena_ == nullptr) return nullptr;
  }
  state->slots_.resize(program.slots.size());
  for (const auto& [slot, value] : program.constants)
    state->slots_[static_cast<size_t>(slot)] = value;
  size_t pointers = 0, outputs = 0;
  for (const Instruction& instruction : program.instructions) {
    pointers += instruction.inputs.size() + instruction.outputs.size();
    outputs += instruction.outputs.size();
  }
  state->pointers_.reserve(pointers);  // frames point into these: they must not move
  state->planned_.reserve(outputs);
  char* base = state->arena_ == nullptr ? nullptr : static_cast<char*>(state->arena_->data());
  for (const Instruction& instruction : program.instructions) {
    KernelContext::Frame frame;
    frame.node = instruction.node;
    frame.traits = instruction.kernel == nullptr ? nullptr : &instruction.kernel->traits();
    frame.num_inputs = static_cast<int>(instruction.inputs.size());
    frame.num_outputs = static_cast<int>(instruction.outputs.size());
    frame.input_dies = instruction.input_dies.get();
    frame.inputs = state->pointers_.data() + state->pointers_.size();
    for (const int slot : instruction.inputs)
      state->pointers_.push_back(&state->slots_[static_cast<size_t>(slot)]);
    frame.outputs = state->pointers_.data() + state->pointers_.size();
    frame.planned = state->planned_.data() + state->planned_.size();
    for (const int slot : instruction.outputs) {
      state->pointers_.push_back(&state->slots_[static_cast<size_t>(slot)]);
      const Slot& info = program.slots[static_cast<size_t>(slot)];
      PlannedMemory planned;
      if (info.offset != Slot::kNotPlanned)
        planned = {state->arena_, base + info.offset, info.bytes};
      state->planned_.push_back(planned);
    }
    if (instruction.scratch_offset != Slot::kNotPlanned)
      frame.scratch = base + instruction.scratch_offset;
    state->frames_.push_back(frame);
  }
  return state;
}

StepState::~StepState() {
  slots_.clear();
  if (arena_ != nullptr) arena_->Unref();
}

void StepState::Reset(const Program& program) {
  for (Tensor& slot : slots_) slot = Tensor();
  for (const auto& [slot, value] : program.constants) slots_[static_cast<size_t>(slot)] = value;
  resources_.ClearAll();
}

}  // namespace carillon
