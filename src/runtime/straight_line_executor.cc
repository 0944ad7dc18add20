// Runs the instructions of a straight-line program in order, on the calling thread. Kernels use all
// threads inside.
#include <algorithm>
#include <exception>

#include "absl/strings/str_join.h"
#include "base/denormals.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "base/throw.h"
#include "graph/node_mark.h"
#include "runtime/executor.h"
#include "runtime/step.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

class StraightLineExecutor final : public Executor {
 public:
  StraightLineExecutor(const Program& program, const Device& device)
      : program_(program), device_(device), idle_(device.idle.get()) {}

  Status Run(const StepArgs& args, std::vector<Tensor>* fetches) override {
    const WorkPause pause;  // of a kernel that runs this for itself
    std::unique_ptr<StepState> state = idle_.Take();
    if (state == nullptr) state = StepState::Make(program_, device_.allocator.get());
    if (state == nullptr)
      return ResourceExhausted("no memory for a step on ", device_.name, ": its plan needs ",
                               program_.arena_bytes, " bytes", DescribeMemory(device_));
    Status status = RunInstructions(args, *state);
    if (args.rendezvous != nullptr) args.rendezvous->Flush();
    if (status.ok()) {
      fetches->resize(program_.fetches.size());
      for (size_t i = 0; i < program_.fetches.size() && status.ok(); ++i)
        status = Fetch(*state, i, &(*fetches)[i]);
    }
    if (status.ok()) {
      if (!state->resources().empty()) state->resources().ClearAll();
      for (const int slot : program_.feeds) {
        if (slot >= 0) state->slots()[static_cast<size_t>(slot)] = Tensor();
      }
    } else {
      state->Reset(program_);
    }
    idle_.Return(std::move(state));
    return status;
  }

  // Nothing in a straight line waits.
  void RunAsync(const StepArgs& args, std::vector<Tensor>* fetches, Done done) override {
    done(Run(args, fetches));
  }

 private:
  Status RunInstructions(const StepArgs& args, StepState& state) {
    for (size_t i = 0; i < program_.feeds.size(); ++i) {
      if (program_.feeds[i] >= 0)
        state.slots()[static_cast<size_t>(program_.feeds[i])] = args.feeds[i];
    }
    const StepServices services{.step_id = args.step_id,
                                .allocator = device_.allocator.get(),
                                .resources = args.resources,
                                .step_resources = &state.resources(),
                                .cancellation = args.cancellation,
                                .rendezvous = args.rendezvous,
                                .background = device_.background.get()};
    const FlushDenormals flush;
    SetKernelThreads(args.threads);
    size_t i = 0;
    const size_t n = program_.instructions.size();
    try {
      for (; i < n; ++i) {
        const Instruction& instruction = program_.instructions[i];
        if (args.cancellation->IsCancelled()) [[unlikely]]
          return args.cancellation->reason();
        if (instruction.takes_long && args.rendezvous != nullptr) args.rendezvous->Flush();
        KernelContext context(services, state.frame(i));
        const int64_t start = args.trace == nullptr ? 0 : NowNanoseconds();
        Status status;
        {
          const WorkScope scope(services.allocator, args.cancellation);
          status = instruction.kernel->Run(context);
        }
        if (instruction.makes_text && status.ok()) [[unlikely]]
          status = ChargeOutputs(instruction, state);
        if (!status.ok()) [[unlikely]]
          return Describe(status, args, i, state);
        if (args.trace != nullptr) [[unlikely]]
          Record(args.trace, instruction, state, start);
        for (const int slot : instruction.release)
          state.slots()[static_cast<size_t>(slot)] = Tensor();
      }
    } catch (...) {
      return Describe(StatusFromException(std::current_exception()), args, i, state);
    }
    return absl::OkStatus();
  }

  // A kernel that stops because the step was cancelled is not the cause.
  Status Describe(const Status& status, const StepArgs& args, size_t i, StepState& state) const {
    if (args.cancellation->IsCancelled()) return args.cancellation->reason();
    return DescribeKernelError(status, program_.instructions[i], state.frame(i), device_);
  }

  static Status ChargeOutputs(const Instruction& instruction, StepState& state) {
    for (const int slot : instruction.outputs)
      CARILLON_RETURN_IF_ERROR(ChargeText(state.slots()[static_cast<size_t>(slot)]));
    return absl::OkStatus();
  }

  void Record(StepTrace* trace, const Instruction& instruction, StepState& state,
              int64_t start) const {
    KernelTiming timing{.instruction = &instruction, .start_ns = start, .end_ns = NowNanoseconds()};
    for (const int slot : instruction.outputs)
      timing.output_bytes +=
          static_cast<int64_t>(state.slots()[static_cast<size_t>(slot)].num_bytes());
    trace->Add(timing, program_);
  }

  // A fetch leaves the step. The last fetch of a slot takes the tensor, earlier ones share it;
  // constants and feeds stay.
  Status Fetch(StepState& state, size_t i, Tensor* result) {
    Tensor& slot = state.slots()[static_cast<size_t>(program_.fetches[i])];
    *result = slot.IsTransient() ? slot.TryClone(device_.allocator.get()) : slot;
    if (slot.has_value() && !result->has_value())
      return ResourceExhausted("no memory for a copy of fetch ", i, " of ", slot.num_bytes(),
                               " bytes");
    const bool again =
        std::find(program_.fetches.begin() + static_cast<int64_t>(i) + 1, program_.fetches.end(),
                  program_.fetches[i]) != program_.fetches.end();
    if (!again && !IsConstant(program_.fetches[i])) slot = Tensor();
    return absl::OkStatus();
  }

  bool IsConstant(int slot) const {
    return std::any_of(program_.constants.begin(), program_.constants.end(),
                       [&](const auto& constant) { return constant.first == slot; });
  }

  const Program& program_;
  const Device& device_;
  IdleStates<StepState> idle_;
};

}  // namespace

std::unique_ptr<Executor> MakeStraightLineExecutor(const Program& program, const Device& device) {
  return std::make_unique<StraightLineExecutor>(program, device);
}

// Kernels quote what they were given, which may be long: what follows is to be seen, too.
static std::string Shortened(absl::string_view message) {
  constexpr size_t kLongest = 2 << 10;
  if (message.size() <= kLongest) return std::string(message);
  size_t size = kLongest;
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  while (size > kLongest - 4 && is_inside(message[size])) --size;  // a character of UTF-8
  return StrCat(message.substr(0, size), " ... (", message.size() - size, " bytes more)");
}

Status DescribeKernelError(const Status& status, const Instruction& instruction,
                           const KernelContext::Frame& frame, const Device& device) {
  std::string inputs;
  for (int i = 0; i < frame.num_inputs; ++i) {
    const Tensor* input = frame.inputs[i];
    StrAppend(&inputs, i == 0 ? "" : ", ",
              input == nullptr || !input->has_value()
                  ? std::string("(none)")
                  : StrCat(DTypeName(input->dtype()), input->shape().ToString()));
  }
  const std::string memory =
      status.code() == absl::StatusCode::kResourceExhausted ? DescribeMemory(device) : "";
  return Status(status.code(),
                StrCat(Shortened(status.message()), memory, NodeMark(*instruction.node), " op ",
                       instruction.node->op(), " on ", device.name,
                       frame.num_inputs == 0 ? "" : StrCat(", inputs ", inputs)));
}

}  // namespace carillon
