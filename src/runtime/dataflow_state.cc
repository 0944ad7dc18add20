#include "runtime/dataflow_state.h"

#include "base/throw.h"

namespace carillon {

Iteration::Iteration(const DataflowPlan& plan, int frame_id) {
  const DataflowPlan::FrameInfo& info = plan.frames[static_cast<size_t>(frame_id)];
  waiting.resize(info.waiting.size());
  uses.resize(info.uses.size());
  values.resize(info.uses.size());
  children.resize(info.children.size());
  pointers.reserve(static_cast<size_t>(info.num_pointers));
  dies = std::make_unique<bool[]>(static_cast<size_t>(info.num_pointers));
  const auto point = [&](int slot) {
    const DataflowPlan::Value& value = plan.values[static_cast<size_t>(slot)];
    const bool here = value.frame == frame_id;
    pointers.push_back(here ? &values[static_cast<size_t>(value.local)] : nullptr);
  };
  for (const int node : info.nodes) {
    const Instruction& instruction = *plan.nodes[static_cast<size_t>(node)].instruction;
    for (const int slot : instruction.inputs) point(slot);
    for (const int slot : instruction.outputs) point(slot);
  }
}

// What an iteration takes from the heap, about.
static int64_t BytesOfIteration(const DataflowPlan::FrameInfo& info) {
  const auto pointers = static_cast<size_t>(info.num_pointers);
  return static_cast<int64_t>(sizeof(Iteration) + 7 * size_t{kBlockBytes} +
                              info.waiting.size() * sizeof(DataflowPlan::Waiting) +
                              info.uses.size() * (sizeof(int32_t) + sizeof(Tensor)) +
                              pointers * (sizeof(Tensor*) + sizeof(bool)) +
                              info.children.size() * sizeof(FrameRun*));
}

DataflowState::DataflowState(const Program& program, const DataflowPlan& plan, Allocator* allocator)
    : program_(program),
      plan_(plan),
      idle_frames_(plan.frames.size()),
      idle_iterations_(plan.frames.size()),
      charge_(allocator) {
  StartRoot();
}

void DataflowState::StartRoot() {
  root_ = NewFrame(0, nullptr);
  Iteration* first = NewIteration(root_);
  for (const auto& [slot, value] : program_.constants)
    first->values[static_cast<size_t>(plan_.values[static_cast<size_t>(slot)].local)] = value;
}

FrameRun* DataflowState::NewFrame(int id, Iteration* parent) {
  std::vector<FrameRun*>& idle = idle_frames_[static_cast<size_t>(id)];
  const DataflowPlan::FrameInfo& info = plan_.frames[static_cast<size_t>(id)];
  if (idle.empty()) {
    frames_.push_back(std::make_unique<FrameRun>());
    idle.push_back(frames_.back().get());
    idle.back()->id = id;
    idle.back()->invariants.resize(info.invariants.size());
  }
  FrameRun* frame = idle.back();
  idle.pop_back();
  frame->parent = parent;
  frame->missing_enters = info.num_enters;
  frame->started = 0;
  return frame;
}

void DataflowState::FreeFrame(FrameRun* frame) {
  for (FrameRun::Invariant& invariant : frame->invariants) invariant = {};
  frame->dead_exits.clear();
  frame->held_back.clear();
  idle_frames_[static_cast<size_t>(frame->id)].push_back(frame);
}

Iteration* DataflowState::NewIteration(FrameRun* frame) {
  std::vector<Iteration*>& idle = idle_iterations_[static_cast<size_t>(frame->id)];
  const DataflowPlan::FrameInfo& info = plan_.frames[static_cast<size_t>(frame->id)];
  if (idle.empty()) {
    ThrowIfError(charge_.Add(BytesOfIteration(info)));
    iterations_.push_back(std::make_unique<Iteration>(plan_, frame->id));
    idle.push_back(iterations_.back().get());
    idle.back()->uses = info.uses;
    idle.back()->waiting = info.waiting;
  }
  Iteration* iteration = idle.back();
  idle.pop_back();
  iteration->frame = frame;
  iteration->number = frame->started++;
  const Iteration* outer = frame->parent;
  const bool is_nested = outer != nullptr && outer->frame->id != 0;
  iteration->position = {.outer = is_nested ? &outer->position : nullptr,
                         .iteration = iteration->number};
  frame->iterations.push_back(iteration);
  return iteration;
}

void DataflowState::Clear(Iteration* iteration, const DataflowPlan::FrameInfo& info) {
  for (size_t i = 0; i < iteration->values.size(); ++i) {
    if (iteration->uses[i] != DataflowPlan::kKeep) iteration->values[i] = Tensor();
  }
  iteration->uses = info.uses;
  iteration->waiting = info.waiting;
  iteration->busy = 0;
  for (FrameRun*& child : iteration->children) child = nullptr;
}

void DataflowState::FreeIteration(Iteration* iteration) {
  const int frame = iteration->frame->id;
  Clear(iteration, plan_.frames[static_cast<size_t>(frame)]);
  idle_iterations_[static_cast<size_t>(frame)].push_back(iteration);
}

void DataflowState::Reset() {
  for (auto& idle : idle_frames_) idle.clear();
  for (auto& idle : idle_iterations_) idle.clear();
  for (const auto& frame : frames_) {
    frame->iterations.clear();
    FreeFrame(frame.get());
  }
  for (const auto& iteration : iterations_) {
    for (Tensor& value : iteration->values) value = Tensor();
    FreeIteration(iteration.get());
  }
  resources_.ClearAll();
  StartRoot();
}

}  // namespace carillon
