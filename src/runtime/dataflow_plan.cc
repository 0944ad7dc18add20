#include "runtime/dataflow_plan.h"

#include <algorithm>

#include "base/strings.h"
#include "graph/frames.h"

namespace carillon {
namespace {

using Kind = DataflowPlan::Kind;

bool IsReorder(const Instruction& instruction) { return instruction.kernel_name == "reorder"; }

Kind KindOf(const Instruction& instruction) {
  const Node& node = *instruction.node;
  if (instruction.kernel == nullptr)
    return node.op() == "ControlTrigger" ? Kind::kTrigger : Kind::kNothing;
  if (IsReorder(instruction)) return Kind::kKernel;
  if (node.op() == "_Send") return Kind::kSend;
  if (node.op() == "_Recv") return Kind::kReceive;
  if (instruction.kernel->traits().is_async) return Kind::kAsyncKernel;
  if (IsSwitch(node)) return Kind::kSwitch;
  if (IsMerge(node)) return Kind::kMerge;
  if (IsConstantEnter(node)) return Kind::kConstantEnter;
  if (IsEnter(node)) return Kind::kEnter;
  if (IsExit(node)) return Kind::kExit;
  if (IsNextIteration(node)) return Kind::kNextIteration;
  if (node.op() == "LoopCond" || node.op() == "Identity") return Kind::kForward;
  return Kind::kKernel;
}

class Planner {
 public:
  Planner(const Program& program, const FrameMap& frames) : program_(program), frames_(frames) {}

  StatusOr<DataflowPlan> Make() {
    AddFrames();
    plan_.nodes.resize(program_.instructions.size());
    plan_.values.resize(program_.slots.size());
    PlaceGivenValues();
    for (size_t i = 0; i < program_.instructions.size(); ++i) AddNode(static_cast<int>(i));
    for (size_t i = 0; i < program_.instructions.size(); ++i) Connect(static_cast<int>(i));
    CARILLON_RETURN_IF_ERROR(KeepFetches());
    for (const int node : plan_.frames[0].nodes) {
      DataflowPlan::Waiting& waiting = WaitingOf(node);
      if (waiting.count > 0 || (IsMergeNode(node) && waiting.live_input < 0)) continue;
      waiting.fired = true;
      plan_.roots.push_back(node);
    }
    return std::move(plan_);
  }

 private:
  static size_t Index(int i) { return static_cast<size_t>(i); }
  DataflowPlan::FrameInfo& FrameAt(int i) { return plan_.frames[Index(i)]; }
  DataflowPlan::Waiting& WaitingOf(int node) {
    const DataflowPlan::Node& info = plan_.nodes[Index(node)];
    return FrameAt(info.frame).waiting[Index(info.local)];
  }
  bool IsMergeNode(int node) const { return plan_.nodes[Index(node)].kind == Kind::kMerge; }

  void AddFrames() {
    for (const Frame& frame : frames_.frames()) {
      plan_.frames.push_back({.name = frame.name,
                              .parent = frame.parent,
                              .parallel_iterations = frame.parallel_iterations});
      if (frame.parent < 0) continue;
      std::vector<int>& siblings = FrameAt(frame.parent).children;
      plan_.frames.back().place_in_parent = static_cast<int>(siblings.size());
      siblings.push_back(static_cast<int>(plan_.frames.size()) - 1);
    }
  }

  void PlaceValue(int slot, int frame) {
    std::vector<int32_t>& uses = FrameAt(frame).uses;
    plan_.values[Index(slot)].frame = frame;
    plan_.values[Index(slot)].local = static_cast<int>(uses.size());
    uses.push_back(0);
  }

  // Constants and feeds are there when a step starts; nobody waits for them and they stay.
  void PlaceGivenValues() {
    given_.assign(program_.slots.size(), false);
    const auto give = [&](int slot) {
      if (slot < 0 || given_[Index(slot)]) return;
      given_[Index(slot)] = true;
      PlaceValue(slot, 0);
      FrameAt(0).uses.back() = DataflowPlan::kKeep;
    };
    for (const auto& [slot, value] : program_.constants) give(slot);
    for (const int slot : program_.feeds) give(slot);
  }

  void AddNode(int id) {
    const Instruction& instruction = program_.instructions[Index(id)];
    DataflowPlan::Node& node = plan_.nodes[Index(id)];
    node.instruction = &instruction;
    node.kind = KindOf(instruction);
    int appears_in;
    if (IsReorder(instruction)) {
      node.frame = appears_in = plan_.values[Index(instruction.inputs[0])].frame;
    } else {
      node.frame = frames_.runs_in(*instruction.node);
      appears_in = frames_.appears_in(*instruction.node);
    }
    DataflowPlan::FrameInfo& frame = FrameAt(node.frame);
    node.local = static_cast<int>(frame.nodes.size());
    frame.nodes.push_back(id);
    frame.waiting.emplace_back();
    node.pointers = frame.num_pointers;
    frame.num_pointers += static_cast<int>(instruction.inputs.size() + instruction.outputs.size());
    for (const int slot : instruction.outputs) {
      PlaceValue(slot, appears_in);
      node.has_layouts |= program_.slots[Index(slot)].layout != nullptr;
    }
    if (node.kind == Kind::kEnter || node.kind == Kind::kConstantEnter) {
      DataflowPlan::FrameInfo& entered = FrameAt(appears_in);
      ++entered.num_enters;
      node.enters = entered.place_in_parent;
      if (node.kind == Kind::kConstantEnter) {
        node.invariant = static_cast<int>(entered.invariants.size());
        entered.invariants.push_back(id);
      }
    }
  }

  void Connect(int id) {
    const Instruction& instruction = program_.instructions[Index(id)];
    DataflowPlan::Waiting& waiting = WaitingOf(id);
    for (size_t i = 0; i < instruction.inputs.size(); ++i) {
      const int slot = instruction.inputs[i];
      DataflowPlan::Value& value = plan_.values[Index(slot)];
      if (given_[Index(slot)]) {
        if (IsMergeNode(id) && waiting.live_input < 0) waiting.live_input = static_cast<int32_t>(i);
        continue;
      }
      value.consumers.push_back({id, static_cast<int>(i)});
      ++FrameAt(value.frame).uses[Index(value.local)];
      if (!IsMergeNode(id)) ++waiting.count;
    }
    for (const int before : instruction.control_inputs) {
      plan_.nodes[Index(before)].control_consumers.push_back({id, -1});
      ++waiting.count;
    }
  }

  Status KeepFetches() {
    for (const int slot : program_.fetches) {
      const DataflowPlan::Value& value = plan_.values[Index(slot)];
      if (value.frame != 0) {
        return InvalidArgument("'", program_.slots[Index(slot)].name, "' is inside the loop '",
                               FrameAt(value.frame).name, "' and cannot be fetched");
      }
      FrameAt(0).uses[Index(value.local)] = DataflowPlan::kKeep;
    }
    return absl::OkStatus();
  }

  const Program& program_;
  const FrameMap& frames_;
  DataflowPlan plan_;
  std::vector<bool> given_;  // by slot
};

}  // namespace

StatusOr<DataflowPlan> DataflowPlan::Make(const Program& program) {
  CARILLON_ASSIGN_OR_RETURN(const FrameMap frames, FrameMap::Make(*program.graph));
  return Planner(program, frames).Make();
}

}  // namespace carillon
