#include "runtime/lowering.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "base/work_scope.h"
#include "graph/frames.h"
#include "graph/liveness.h"
#include "graph/node_mark.h"
#include "runtime/memory_plan.h"

namespace carillon {
namespace {

// Nodes that only order others.
bool DoesNothing(const std::string& op) {
  return op == "NoOp" || op == "_Targets" || op == "ControlTrigger";
}

bool IsAsync(const Instruction& instruction) {
  return instruction.kernel != nullptr && instruction.kernel->traits().is_async;
}

// Stands for a kernel that cannot be had, in a branch that may not be taken.
class FailingKernel final : public Kernel {
 public:
  explicit FailingKernel(Status status) : status_(std::move(status)) {}
  Status Run(KernelContext&) override { return status_; }

 private:
  const Status status_;
};

class Lowering {
 public:
  // `straight_line`: instructions will run in order, so that what only orders them can be left out.
  Lowering(std::unique_ptr<NodeGraph> graph, bool straight_line, const Device& device,
           ResourceStore* session_state, const LoweringOptions& options)
      : device_(device),
        session_state_(session_state),
        options_(options),
        program_(std::make_unique<Program>()) {
    options_.kernels.allocator = device.allocator.get();
    program_->graph = std::move(graph);
    program_->straight_line = straight_line;
  }

  StatusOr<std::unique_ptr<Program>> Run() {
    CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, program_->graph->TopologicalOrder());
    position_.assign(program_->graph->nodes().size(), -1);
    for (Node* node : order) CARILLON_RETURN_IF_ERROR(LowerNode(node));
    for (const auto& [instruction, input, from] : open_) {
      program_->instructions[Index(instruction)].inputs[Index(input)] =
          slots_.at({from.node, from.index});
    }
    return std::move(program_);
  }

 private:
  using SlotKey = std::pair<const Node*, int>;
  struct OpenInput {
    int instruction;
    int input;
    Endpoint from;
  };

  static size_t Index(int i) { return static_cast<size_t>(i); }

  int NewSlot(const Node& node, int output, Layout layout = nullptr) {
    const OutputInfo& info = node.output(output);
    // A reference is held as a handle.
    program_->slots.push_back({.dtype = info.is_ref ? DType::kResource : info.dtype,
                               .shape = info.is_ref ? PartialShape(Shape{}) : info.shape,
                               .layout = std::move(layout),
                               .name = StrCat(node.name(), ":", output)});
    return static_cast<int>(program_->slots.size()) - 1;
  }

  static void Place(std::vector<int>* list, int64_t index, int slot) {
    if (list->size() <= static_cast<size_t>(index))
      list->resize(static_cast<size_t>(index) + 1, -1);
    (*list)[static_cast<size_t>(index)] = slot;
  }

  Status LowerNode(Node* node) {
    const std::string& op = node->op();
    if (op == "_Arg") {
      const int slot = slots_[{node, 0}] = NewSlot(*node, 0);
      Place(&program_->feeds, node->attr<int64_t>("index"), slot);
      return absl::OkStatus();
    }
    if (op == "_Retval") {
      CARILLON_ASSIGN_OR_RETURN(const int slot, InputSlot(*node, 0, nullptr));
      Place(&program_->fetches, node->attr<int64_t>("index"), slot);
      return absl::OkStatus();
    }
    // A constant that waits for something belongs to a branch or loop: it is made when that runs.
    if (op == "Const" && (program_->straight_line || node->control_inputs().empty())) {
      const int slot = slots_[{node, 0}] = NewSlot(*node, 0);
      program_->slots[Index(slot)].shape = node->attr<Tensor>("value").shape();
      program_->constants.emplace_back(slot, node->attr<Tensor>("value"));
      return absl::OkStatus();
    }
    if (DoesNothing(op) && program_->straight_line) return absl::OkStatus();
    return LowerToInstruction(node);
  }

  Status LowerToInstruction(Node* node) {
    Instruction instruction{.node = node};
    if (!DoesNothing(node->op())) {
      CARILLON_RETURN_IF_ERROR(ChooseKernel(node, &instruction));
      const KernelTraits& traits = instruction.kernel->traits();
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Endpoint& from = node->input(i);
        if (!slots_.contains({from.node, from.index})) {  // the back edge of a loop
          open_.push_back({-1, i, from});
          instruction.inputs.push_back(-1);
          continue;
        }
        CARILLON_ASSIGN_OR_RETURN(
            const int slot,
            InputSlot(*node, i,
                      traits.input_layouts.empty() ? nullptr : traits.input_layouts[Index(i)]));
        instruction.inputs.push_back(slot);
      }
      for (int i = 0; i < node->num_outputs(); ++i) {
        const int slot = NewSlot(
            *node, i, traits.output_layouts.empty() ? nullptr : traits.output_layouts[Index(i)]);
        slots_[{node, i}] = slot;
        instruction.outputs.push_back(slot);
        instruction.makes_text |= node->output(i).dtype == DType::kString;
      }
    }
    for (const Node* before : node->control_inputs()) {
      if (position_[Index(before->id())] >= 0)
        instruction.control_inputs.push_back(position_[Index(before->id())]);
    }
    // Reorders may have been added in front: take the position now.
    position_[Index(node->id())] = static_cast<int>(program_->instructions.size());
    for (OpenInput& open : open_) {
      if (open.instruction < 0) open.instruction = position_[Index(node->id())];
    }
    program_->instructions.push_back(std::move(instruction));
    return absl::OkStatus();
  }

  ValueInfo InputInfo(const Node& node, int i) const {
    const Endpoint& from = node.input(i);
    const OutputInfo& output = from.node->output(from.index);
    ValueInfo info{.dtype = output.dtype, .shape = output.shape};
    if (const auto slot = slots_.find({from.node, from.index}); slot != slots_.end())
      info.layout = program_->slots[Index(slot->second)].layout;
    if (from.node->op() == "Const") info.constant = &from.node->attr<Tensor>("value");
    return info;
  }

  Status ChooseKernel(Node* node, Instruction* instruction) {
    std::vector<ValueInfo> inputs, outputs;
    for (int i = 0; i < node->num_inputs(); ++i) inputs.push_back(InputInfo(*node, i));
    for (int i = 0; i < node->num_outputs(); ++i)
      outputs.push_back({.dtype = node->output(i).dtype, .shape = node->output(i).shape});
    const KernelRequest request{
        *node, inputs, outputs, options_.kernels, session_state_, options_.functions};
    const WorkPause pause;  // libraries are not made for what operator new may throw
    KernelResult kernel =
        device_.kernels->Make(request, &instruction->kernel_name, options_.log_choice);
    if (!kernel.ok()) {
      Status status(kernel.status().code(), StrCat("node ", node->Describe(), " on ", device_.name,
                                                   ", inputs ", DescribeValues(inputs), ": ",
                                                   kernel.status().message(), NodeMark(*node)));
      if (!MayNotRun(*node)) return status;
      kernel = std::make_unique<FailingKernel>(std::move(status));
      instruction->kernel_name = "fails";
    }
    instruction->kernel = *std::move(kernel);
    return absl::OkStatus();
  }

  bool MayNotRun(const Node& node) {
    if (program_->straight_line) return false;
    if (may_not_run_.empty()) may_not_run_ = NodesThatMayNotRun(*program_->graph);
    return may_not_run_[Index(node.id())];
  }

  static std::string DescribeValues(const std::vector<ValueInfo>& values) {
    return absl::StrJoin(values, ", ", [](std::string* out, const ValueInfo& value) {
      StrAppend(out, DTypeName(value.dtype), value.shape.ToString());
    });
  }

  // The slot of input i in the wanted layout, through a reorder when its producer left it in
  // another.
  StatusOr<int> InputSlot(const Node& node, int i, const Layout& wanted) {
    const Endpoint& from = node.input(i);
    const int slot = slots_.at({from.node, from.index});
    const Layout& given = program_->slots[Index(slot)].layout;
    if (SameLayout(given, wanted)) return slot;
    for (const auto& [layout, reordered] : reorders_[slot]) {
      if (SameLayout(layout, wanted)) return reordered;
    }
    if (device_.kernels->reorder() == nullptr)
      return Internal("node ", node.Describe(), " wants a layout but the device has no reorders");
    const OutputInfo& output = from.node->output(from.index);
    const ValueInfo info{.dtype = output.dtype, .shape = output.shape, .layout = given};
    Instruction reorder{.node = &node, .kernel_name = "reorder"};
    CARILLON_ASSIGN_OR_RETURN(reorder.kernel,
                              device_.kernels->reorder()(info, wanted, options_.kernels));
    const int made = NewSlot(*from.node, from.index, wanted);
    StrAppend(&program_->slots[Index(made)].name,
              wanted == nullptr ? std::string("/plain") : StrCat("/", wanted->ToString()));
    reorder.inputs = {slot};
    reorder.outputs = {made};
    program_->instructions.push_back(std::move(reorder));
    reorders_[slot].emplace_back(wanted, made);
    return made;
  }

  const Device& device_;
  ResourceStore* const session_state_;
  LoweringOptions options_;
  std::unique_ptr<Program> program_;
  std::map<SlotKey, int> slots_;
  std::map<int, std::vector<std::pair<Layout, int>>> reorders_;
  std::vector<int> position_;  // of each node's instruction; -1 when it has none
  std::vector<OpenInput> open_;
  std::vector<bool> may_not_run_;  // by node id; found out when it is first asked
};

// Kernels on fewer bytes are done before a message would be sent.
constexpr int64_t kFewBytes = 32 << 10;

void MarkLongInstructions(Program* program) {
  const auto is_much = [&](int slot) {
    if (slot < 0) return false;
    const Slot& value = program->slots[static_cast<size_t>(slot)];
    Shape shape;
    if (!IsPlainData(value.dtype)) return false;
    // No product of the two: a graph may ask for any shape.
    return !value.shape.AsShape(&shape) ||
           shape.num_elements() > kFewBytes / static_cast<int64_t>(DTypeSize(value.dtype));
  };
  for (Instruction& instruction : program->instructions) {
    instruction.takes_long = instruction.kernel != nullptr && instruction.node->op() != "_Send" &&
                             (std::ranges::any_of(instruction.inputs, is_much) ||
                              std::ranges::any_of(instruction.outputs, is_much));
  }
}

}  // namespace

StatusOr<std::unique_ptr<Program>> Lower(std::unique_ptr<NodeGraph> graph, const Device& device,
                                         ResourceStore* session_state,
                                         const LoweringOptions& options) {
  const auto lower = [&](bool straight_line) {
    auto program = Lowering(std::move(graph), straight_line, device, session_state, options).Run();
    if (program.ok()) MarkLongInstructions(program->get());
    return program;
  };
  const bool has_control_flow = std::ranges::any_of(
      graph->nodes(), [](const auto& node) { return node != nullptr && IsControlFlow(*node); });
  CARILLON_ASSIGN_OR_RETURN(std::unique_ptr<Program> program, lower(!has_control_flow));
  if (!program->straight_line) return program;
  // Only the kernels tell whether something waits; then other instructions go on meanwhile, and
  // everything that orders them counts.
  if (std::ranges::any_of(program->instructions, IsAsync)) {
    graph = std::move(program->graph);
    return lower(false);
  }
  if (options.plan_memory) PlanMemory(program.get());
  return program;
}

std::string Program::ToString() const {
  std::string out;
  const auto value = [&](int slot) {
    if (slot < 0) return std::string("(none)");
    const Slot& s = slots[static_cast<size_t>(slot)];
    return StrCat("%", slot, ":", DTypeName(s.dtype), s.shape.ToString(),
                  s.layout == nullptr ? "" : StrCat("{", s.layout->ToString(), "}"),
                  s.offset == Slot::kNotPlanned ? std::string() : StrCat("@", s.offset));
  };
  const auto join = [&](const std::vector<int>& list) {
    return absl::StrJoin(list, ", ",
                         [&](std::string* text, int slot) { text->append(value(slot)); });
  };
  for (const Instruction& instruction : instructions) {
    StrAppend(&out, join(instruction.outputs), instruction.outputs.empty() ? "" : " = ",
              instruction.node->op(), "/",
              instruction.kernel == nullptr ? "nothing" : instruction.kernel_name, "(",
              join(instruction.inputs), ")  # ", instruction.node->name(), "\n");
  }
  StrAppend(&out, "arena: ", arena_bytes, " bytes",
            straight_line ? ", straight line\n" : ", dataflow\n");
  return out;
}

}  // namespace carillon
