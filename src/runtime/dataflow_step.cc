#include "runtime/dataflow_step.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/denormals.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "base/throw.h"
#include "tensor/buffer.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

using Kind = DataflowPlan::Kind;

constexpr size_t kProcessedKept = 4096;

size_t Index(int64_t i) { return static_cast<size_t>(i); }

// Memory for outputs that are not plain: their size does not follow from their shape.
Status AllocateLayouts(const Program& program, const Instruction& instruction, Allocator* allocator,
                       std::vector<PlannedMemory>* planned) {
  planned->assign(instruction.outputs.size(), {});
  for (size_t i = 0; i < instruction.outputs.size(); ++i) {
    const Layout& layout = program.slots[Index(instruction.outputs[i])].layout;
    if (layout == nullptr) continue;
    Buffer* buffer =
        Buffer::Allocate(DType::kUint8, static_cast<int64_t>(layout->bytes()), allocator);
    if (buffer == nullptr) return ResourceExhausted("no memory for ", layout->bytes(), " bytes");
    (*planned)[i] = {buffer, buffer->data(), layout->bytes()};
  }
  return absl::OkStatus();
}

// The outputs hold references of their own by then.
void FreeLayouts(std::vector<PlannedMemory>* planned) {
  for (PlannedMemory& memory : *planned) {
    if (memory.buffer != nullptr) memory.buffer->Unref();
  }
  planned->clear();
}

}  // namespace

DataflowStep::DataflowStep(const Program& program, const DataflowPlan& plan, const Device& device)
    : program_(program),
      plan_(plan),
      device_(device),
      state_(program, plan, device.allocator.get()) {
  size_t most = 0;
  for (const Node& node : plan.nodes) {
    if (node.kind == Kind::kMerge) most = std::max(most, node.instruction->inputs.size());
  }
  for (size_t i = 0; i < most; ++i)
    merge_indices_.push_back(Tensor::Scalar<int32_t>(static_cast<int32_t>(i)));
  step_slots_ = program.fetches;
  step_slots_.insert(step_slots_.end(), program.feeds.begin(), program.feeds.end());
  std::erase_if(step_slots_, [&](int slot) {
    return slot < 0 || std::ranges::any_of(program.constants, [&](const auto& constant) {
             return constant.first == slot;
           });
  });
}

DataflowStep::~DataflowStep() = default;

Status DataflowStep::Run(const StepArgs& args, std::vector<Tensor>* fetches) {
  const FlushDenormals flush;
  Start(args);
  SetKernelThreads(args.threads);
  Drain(/*wait=*/true);
  return Finish(fetches);
}

void DataflowStep::RunAsync(const StepArgs& args, std::vector<Tensor>* fetches,
                            Executor::Done done) {
  async_fetches_ = fetches;
  async_done_ = std::move(done);
  Start(args);
  Continue();
}

void DataflowStep::Continue() {
  const FlushDenormals flush;
  const WorkPause pause;  // of whose kernel has reported
  SetKernelThreads(args_->threads);
  if (!Drain(/*wait=*/false)) return;
  Status status = Finish(async_fetches_);
  std::exchange(async_done_, nullptr)(std::move(status));
}

void DataflowStep::Start(const StepArgs& args) {
  args_ = &args;
  services_.emplace(StepServices{.step_id = args.step_id,
                                 .allocator = device_.allocator.get(),
                                 .resources = args.resources,
                                 .step_resources = &state_.resources(),
                                 .cancellation = args.cancellation,
                                 .rendezvous = args.rendezvous,
                                 .background = device_.background.get()});
  status_ = absl::OkStatus();
  Iteration* root = state_.root();
  for (size_t i = 0; i < program_.feeds.size(); ++i) {
    if (program_.feeds[i] < 0) continue;
    root->values[Index(plan_.values[Index(program_.feeds[i])].local)] = args.feeds[i];
  }
  for (const int node : plan_.roots) AddReady({root, node});
}

bool DataflowStep::Drain(bool wait) {
  StepRendezvous* const rendezvous = args_->rendezvous;
  while (true) {
    if (!HasReady() && rendezvous != nullptr) rendezvous->Flush();
    if (running_async_ > 0) {
      const bool idle = !HasReady();
      AsyncRun* run = TakeReports(idle, wait);
      if (run == nullptr && idle) return false;  // from here on the step is somebody else's
      while (run != nullptr) {
        AsyncRun* const finished = std::exchange(run, run->next);
        FailIfThrown([&] { FinishKernel(finished); });
      }
    }
    if (!HasReady()) {
      if (running_async_ > 0) continue;
      return true;
    }
    if (args_->cancellation->IsCancelled() && status_.ok()) [[unlikely]]
      Fail(args_->cancellation->reason());
    const Ready ready = TakeReady();
    // After a failure nothing starts any more; what is running is waited for.
    if (status_.ok()) FailIfThrown([&] { Process(ready); });
  }
}

void DataflowStep::AddReady(const Ready& ready) {
  const Kind kind = plan_.nodes[Index(ready.node)].kind;
  const bool waits = kind == Kind::kAsyncKernel || kind == Kind::kReceive;
  (waits ? ready_to_wait_ : ready_).push_back(ready);
  ++ready.iteration->busy;
}

DataflowStep::Ready DataflowStep::TakeReady() {
  // What waits should start waiting before others take their time.
  if (!ready_to_wait_.empty()) {
    const Ready ready = ready_to_wait_.back();
    ready_to_wait_.pop_back();
    return ready;
  }
  const Ready ready = ready_[next_ready_++];
  // In a loop there is always something ready: what was processed goes when it is the larger part.
  if (next_ready_ == ready_.size() ||
      (next_ready_ >= kProcessedKept && 2 * next_ready_ >= ready_.size())) {
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<int64_t>(next_ready_));
    next_ready_ = 0;
  }
  return ready;
}

Status DataflowStep::Finish(std::vector<Tensor>* fetches) {
  Status status = status_.ok() ? TakeFetches(fetches) : status_;
  if (!status.ok()) state_.Reset();
  return status;
}

Status DataflowStep::TakeFetches(std::vector<Tensor>* fetches) {
  Iteration* root = state_.root();
  const auto value_of = [&](int slot) -> Tensor& {
    return root->values[Index(plan_.values[Index(slot)].local)];
  };
  fetches->resize(program_.fetches.size());
  for (size_t i = 0; i < program_.fetches.size(); ++i) {
    const int slot = program_.fetches[i];
    if (!value_of(slot).has_value()) {
      return InvalidArgument("the fetch '", program_.slots[Index(slot)].name,
                             "' has no value: it belongs to a branch that was not taken");
    }
    (*fetches)[i] = value_of(slot);
  }
  for (const int slot : step_slots_) value_of(slot) = Tensor();
  if (!state_.resources().empty()) state_.resources().ClearAll();
  state_.RestartRoot();
  return absl::OkStatus();
}

void DataflowStep::Process(const Ready& ready) {
  Iteration& iteration = *ready.iteration;
  const Node& node = plan_.nodes[Index(ready.node)];
  const DataflowPlan::Waiting& waiting = iteration.waiting[Index(node.local)];
  const bool dead = node.kind == Kind::kMerge ? waiting.live_input < 0 : waiting.dead_inputs > 0;
  switch (node.kind) {
    case Kind::kTrigger:
      AnnounceControl(iteration, node, true);
      break;
    case Kind::kEnter:
    case Kind::kConstantEnter:
      RunEnter(iteration, node, !dead);
      break;
    case Kind::kExit:
      RunExit(iteration, ready.node, !dead);
      break;
    case Kind::kNextIteration:
      // A dead value ends here: the iteration it would go to is not to be.
      if (!dead) RunNextIteration(iteration, ready.node);
      break;
    default:
      if (dead && node.kind != Kind::kSend) {
        ProcessDead(iteration, node);
        break;
      }
      switch (node.kind) {
        case Kind::kNothing:
          AnnounceControl(iteration, node, true);
          break;
        case Kind::kForward:
          Deliver(iteration, node, 0, TakeInput(iteration, node, 0));
          AnnounceControl(iteration, node, true);
          break;
        case Kind::kSwitch:
          RunSwitch(iteration, node);
          break;
        case Kind::kMerge:
          RunMerge(iteration, node);
          break;
        case Kind::kReceive:
        case Kind::kAsyncKernel:
          StartKernel(iteration, ready.node);
          return;  // busy until it reports back
        default:
          RunKernel(iteration, ready.node);
          break;
      }
  }
  if (!status_.ok()) return;
  ReleaseInputs(iteration, node);
  Idle(iteration);
}

void DataflowStep::ProcessDead(Iteration& iteration, const Node& node) {
  for (const int slot : node.instruction->outputs) Announce(iteration, slot, false, false);
  AnnounceControl(iteration, node, false);
}

KernelContext::Frame DataflowStep::FrameFor(Iteration& iteration, const Node& node, Tensor* scratch,
                                            std::vector<PlannedMemory>* planned) {
  const Instruction& instruction = *node.instruction;
  const KernelTraits& traits = instruction.kernel->traits();
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    const int local = plan_.values[Index(instruction.inputs[i])].local;
    iteration.dies[Index(node.pointers) + i] = iteration.uses[Index(local)] == 1;
  }
  if (traits.scratch_bytes > 0) {
    *scratch = Tensor::TryAllocate(DType::kUint8, Shape{static_cast<int64_t>(traits.scratch_bytes)},
                                   device_.allocator.get());
    if (!scratch->has_value())
      Throw(ResourceExhausted("no memory for ", traits.scratch_bytes, " bytes of scratch"));
  }
  if (node.has_layouts)
    ThrowIfError(AllocateLayouts(program_, instruction, device_.allocator.get(), planned));
  return {.node = instruction.node,
          .traits = &traits,
          .inputs = iteration.pointers.data() + node.pointers,
          .outputs = iteration.pointers.data() + node.pointers + instruction.inputs.size(),
          .planned = node.has_layouts ? planned->data() : nullptr,
          .input_dies = iteration.dies.get() + node.pointers,
          .scratch = scratch->mutable_raw_data(),
          .position = iteration.frame->id == 0 ? nullptr : &iteration.position,
          .num_inputs = static_cast<int>(instruction.inputs.size()),
          .num_outputs = static_cast<int>(instruction.outputs.size())};
}

void DataflowStep::RunKernel(Iteration& iteration, int id) {
  const Node& node = plan_.nodes[Index(id)];
  if (node.instruction->takes_long && args_->rendezvous != nullptr) args_->rendezvous->Flush();
  const int64_t start = args_->trace == nullptr ? 0 : NowNanoseconds();
  Status status;
  const Status thrown = CatchAsStatus([&] {
    const KernelContext::Frame frame = FrameFor(iteration, node, &scratch_, &planned_);
    KernelContext context(*services_, frame);
    const WorkScope scope(services_->allocator, services_->cancellation);
    status = node.instruction->kernel->Run(context);
  });
  scratch_ = Tensor();
  if (!planned_.empty()) FreeLayouts(&planned_);
  if (!thrown.ok()) status = thrown;
  if (!status.ok()) return FailNode(std::move(status), iteration, node);
  if (args_->trace != nullptr) Record(node, iteration, start);
  AnnounceKernelOutputs(iteration, node);
}

void DataflowStep::StartKernel(Iteration& iteration, int id) {
  const Node& node = plan_.nodes[Index(id)];
  AsyncRun* run = TakeAsyncRun();
  run->iteration = &iteration;
  run->node = id;
  run->start_ns = args_->trace == nullptr ? 0 : NowNanoseconds();
  ++running_async_;
  const Status thrown = CatchAsStatus([&] {
    run->frame = FrameFor(iteration, node, &run->scratch, &run->planned);
    run->context.emplace(*services_, run->frame);
    static_cast<AsyncKernel*>(node.instruction->kernel.get())
        ->RunAsync(*run->context, [this, run](Status status) { Report(run, std::move(status)); });
  });
  if (!thrown.ok()) Report(run, thrown);
}

void DataflowStep::FinishKernel(AsyncRun* run) {
  Iteration& iteration = *run->iteration;
  const Node& node = plan_.nodes[Index(run->node)];
  const int64_t start = run->start_ns;
  Status status = std::move(run->status);
  run->context.reset();
  run->scratch = Tensor();
  FreeLayouts(&run->planned);
  idle_async_runs_.push_back(run);
  --running_async_;
  if (!status_.ok()) return;
  if (!status.ok()) return FailNode(std::move(status), iteration, node);
  if (args_->trace != nullptr) Record(node, iteration, start);
  AnnounceKernelOutputs(iteration, node);
  ReleaseInputs(iteration, node);
  Idle(iteration);
}

void DataflowStep::AnnounceKernelOutputs(Iteration& iteration, const Node& node) {
  if (node.instruction->makes_text) {
    for (const int slot : node.instruction->outputs) {
      Status status = ChargeText(iteration.values[Index(plan_.values[Index(slot)].local)]);
      if (!status.ok()) return FailNode(std::move(status), iteration, node);
    }
  }
  bool alive = node.kind != Kind::kReceive;
  for (const int slot : node.instruction->outputs) {
    const Tensor& value = iteration.values[Index(plan_.values[Index(slot)].local)];
    alive |= value.has_value();
    Announce(iteration, slot, value.has_value(), false);
  }
  AnnounceControl(iteration, node, alive);
}

void DataflowStep::RunSwitch(Iteration& iteration, const Node& node) {
  const int pred_slot = node.instruction->inputs[1];
  const Tensor& pred = iteration.values[Index(plan_.values[Index(pred_slot)].local)];
  if (pred.num_elements() != 1 || pred.rank() != 0) {
    return FailNode(
        InvalidArgument("pred should be a scalar but has shape ", pred.shape().ToString()),
        iteration, node);
  }
  const int taken = pred.scalar<bool>() ? 1 : 0;
  Deliver(iteration, node, taken, TakeInput(iteration, node, 0));
  Announce(iteration, node.instruction->outputs[Index(1 - taken)], false, false);
  AnnounceControl(iteration, node, true);
}

void DataflowStep::RunMerge(Iteration& iteration, const Node& node) {
  const int arrived = iteration.waiting[Index(node.local)].live_input;
  Deliver(iteration, node, 0, TakeInput(iteration, node, arrived));
  Deliver(iteration, node, 1, merge_indices_[Index(arrived)]);
  AnnounceControl(iteration, node, true);
}

void DataflowStep::RunEnter(Iteration& iteration, const Node& node, bool live) {
  FrameRun*& child = iteration.children[Index(node.enters)];
  if (child == nullptr) {
    const int id = plan_.frames[Index(node.frame)].children[Index(node.enters)];
    child = state_.NewFrame(id, &iteration);
    ++iteration.busy;
    state_.NewIteration(child);
  }
  FrameRun* frame = child;
  Tensor value = live ? TakeInput(iteration, node, 0) : Tensor();
  if (node.kind == Kind::kConstantEnter) {
    FrameRun::Invariant& invariant = frame->invariants[Index(node.invariant)];
    invariant.arrival = live ? FrameRun::Arrival::kLive : FrameRun::Arrival::kDead;
    invariant.value = std::move(value);
    for (Iteration* inner : frame->iterations)
      DeliverInvariant(*inner, frame->id, Index(node.invariant));
  } else {
    Iteration& first = *frame->iterations.front();
    Deliver(first, node, 0, std::move(value));
    AnnounceControl(first, node, live);
  }
  --frame->missing_enters;
  EndIterations(frame);
}

void DataflowStep::DeliverInvariant(Iteration& to, int frame, size_t i) {
  const FrameRun::Invariant& invariant = to.frame->invariants[i];
  if (invariant.arrival == FrameRun::Arrival::kNotYet) return;
  const Node& enter = plan_.nodes[Index(plan_.frames[Index(frame)].invariants[i])];
  Deliver(to, enter, 0, invariant.value);
  AnnounceControl(to, enter, invariant.arrival == FrameRun::Arrival::kLive);
}

void DataflowStep::RunExit(Iteration& iteration, int id, bool live) {
  const Node& node = plan_.nodes[Index(id)];
  FrameRun* frame = iteration.frame;
  if (live) {
    Deliver(*frame->parent, node, 0, TakeInput(iteration, node, 0));
    AnnounceControl(*frame->parent, node, true);
  } else if (iteration.number + 1 == frame->started) {
    frame->dead_exits.push_back(id);
  }
}

void DataflowStep::RunNextIteration(Iteration& iteration, int id) {
  const Node& node = plan_.nodes[Index(id)];
  FrameRun* frame = iteration.frame;
  Tensor value = TakeInput(iteration, node, 0);
  const int64_t number = iteration.number + 1;
  const DataflowPlan::FrameInfo& info = plan_.frames[Index(frame->id)];
  if (number == frame->started) {
    if (frame->iterations.size() >= Index(info.parallel_iterations)) {
      frame->held_back.emplace_back(id, std::move(value));
      return;
    }
    StartIteration(frame);
  }
  Iteration& next = *frame->iterations[Index(number - frame->iterations.front()->number)];
  Deliver(next, node, 0, std::move(value));
  AnnounceControl(next, node, true);
}

Iteration* DataflowStep::StartIteration(FrameRun* frame) {
  frame->dead_exits.clear();
  Iteration* iteration = state_.NewIteration(frame);
  for (size_t i = 0; i < frame->invariants.size(); ++i) DeliverInvariant(*iteration, frame->id, i);
  return iteration;
}

void DataflowStep::EndIterations(FrameRun* frame) {
  while (!frame->iterations.empty()) {
    Iteration* oldest = frame->iterations.front();
    if (oldest->busy > 0 || (oldest->number == 0 && frame->missing_enters > 0)) return;
    frame->iterations.pop_front();
    state_.FreeIteration(oldest);
    if (frame->held_back.empty()) continue;
    Iteration* next = StartIteration(frame);
    for (auto& [id, value] : frame->held_back) {
      const Node& node = plan_.nodes[Index(id)];
      Deliver(*next, node, 0, std::move(value));
      AnnounceControl(*next, node, true);
    }
    frame->held_back.clear();
  }
  EndFrame(frame);
}

void DataflowStep::EndFrame(FrameRun* frame) {
  Iteration& parent = *frame->parent;
  for (const int id : frame->dead_exits) {
    const Node& exit = plan_.nodes[Index(id)];
    Announce(parent, exit.instruction->outputs[0], false, false);
    AnnounceControl(parent, exit, false);
  }
  parent.children[Index(plan_.frames[Index(frame->id)].place_in_parent)] = nullptr;
  state_.FreeFrame(frame);
  Idle(parent);
}

void DataflowStep::Idle(Iteration& iteration) {
  if (--iteration.busy == 0 && iteration.frame->parent != nullptr) EndIterations(iteration.frame);
}

Tensor DataflowStep::TakeInput(Iteration& iteration, const Node& node, int i) {
  const int local = plan_.values[Index(node.instruction->inputs[Index(i)])].local;
  Tensor& value = iteration.values[Index(local)];
  return iteration.uses[Index(local)] == 1 ? std::move(value) : value;
}

void DataflowStep::ReleaseInputs(Iteration& iteration, const Node& node) {
  if (node.kind == Kind::kMerge) {
    // Inputs that have not arrived are let go of when they do.
    const int arrived = iteration.waiting[Index(node.local)].live_input;
    if (arrived >= 0) ReleaseUse(iteration, node.instruction->inputs[Index(arrived)]);
    return;
  }
  for (const int slot : node.instruction->inputs) ReleaseUse(iteration, slot);
}

void DataflowStep::ReleaseUse(Iteration& iteration, int slot) {
  const int local = plan_.values[Index(slot)].local;
  int32_t& uses = iteration.uses[Index(local)];
  if (uses == DataflowPlan::kKeep) return;
  if (--uses == 0) iteration.values[Index(local)] = Tensor();
}

void DataflowStep::Deliver(Iteration& to, const Node& node, int i, Tensor value) {
  const int slot = node.instruction->outputs[Index(i)];
  const bool live = value.has_value();
  to.values[Index(plan_.values[Index(slot)].local)] = std::move(value);
  Announce(to, slot, live, node.kind == Kind::kEnter || node.kind == Kind::kConstantEnter);
}

void DataflowStep::Announce(Iteration& to, int slot, bool live, bool from_enter) {
  const DataflowPlan::Value& info = plan_.values[Index(slot)];
  if (live && to.uses[Index(info.local)] == 0) to.values[Index(info.local)] = Tensor();
  for (const Consumer& consumer : info.consumers) Arrive(to, consumer, slot, live, from_enter);
}

void DataflowStep::AnnounceControl(Iteration& to, const Node& node, bool live) {
  for (const Consumer& consumer : node.control_consumers) Arrive(to, consumer, -1, live, false);
}

void DataflowStep::Arrive(Iteration& to, const Consumer& consumer, int slot, bool live,
                          bool from_enter) {
  const Node& node = plan_.nodes[Index(consumer.node)];
  DataflowPlan::Waiting& waiting = to.waiting[Index(node.local)];
  bool ready;
  if (node.kind == Kind::kMerge) {
    const int32_t all = static_cast<int32_t>(node.instruction->inputs.size());
    if (consumer.input < 0) {
      --waiting.count;  // whether it was dead does not matter to a Merge
    } else if (!live) {
      // A loop on a branch not taken: what would come back never does.
      waiting.dead_inputs = from_enter ? all : waiting.dead_inputs + 1;
    } else if (waiting.live_input < 0) {
      waiting.live_input = consumer.input;
    } else {
      ReleaseUse(to, slot);
    }
    ready = !waiting.fired && waiting.count == 0 &&
            (waiting.live_input >= 0 || waiting.dead_inputs >= all);
  } else {
    if (!live) ++waiting.dead_inputs;
    ready = --waiting.count == 0;
  }
  if (!ready) return;
  waiting.fired = true;
  AddReady({&to, consumer.node});
}

void DataflowStep::Fail(Status status) {
  if (!status_.ok()) return;
  status_ = std::move(status);
  // What waits must not wait for nothing.
  if (running_async_ > 0) args_->cancellation->Cancel(status_);
}

void DataflowStep::FailNode(Status status, Iteration& iteration, const Node& node) {
  if (!status_.ok()) return;
  // A kernel that stops because the step was cancelled is not the cause.
  if (args_->cancellation->IsCancelled()) return Fail(args_->cancellation->reason());
  const Instruction& instruction = *node.instruction;
  const KernelContext::Frame frame{.inputs = iteration.pointers.data() + node.pointers,
                                   .num_inputs = static_cast<int>(instruction.inputs.size())};
  status = DescribeKernelError(status, instruction, frame, device_);
  if (node.frame != 0) {
    status = Status(status.code(), StrCat(status.message(), ", in iteration ", iteration.number,
                                          " of loop '", plan_.frames[Index(node.frame)].name, "'"));
  }
  Fail(std::move(status));
}

void DataflowStep::Record(const Node& node, Iteration& iteration, int64_t start_ns) {
  KernelTiming timing{
      .instruction = node.instruction, .start_ns = start_ns, .end_ns = NowNanoseconds()};
  for (const int slot : node.instruction->outputs) {
    const Tensor& value = iteration.values[Index(plan_.values[Index(slot)].local)];
    if (value.has_value()) timing.output_bytes += static_cast<int64_t>(value.num_bytes());
  }
  args_->trace->Add(timing, program_);
}

DataflowStep::AsyncRun* DataflowStep::TakeAsyncRun() {
  if (idle_async_runs_.empty()) {
    async_runs_.push_back(std::make_unique<AsyncRun>());
    return async_runs_.back().get();
  }
  AsyncRun* run = idle_async_runs_.back();
  idle_async_runs_.pop_back();
  return run;
}

void DataflowStep::Report(AsyncRun* run, Status status) {
  run->status = std::move(status);
  // Notified under the lock: the step may be over, and gone, as soon as it is released.
  std::lock_guard lock(mutex_);
  run->next = reports_;
  reports_ = run;
  if (std::exchange(suspended_, false)) {
    device_.background->Start([this] { Continue(); });
  } else {
    reported_.notify_one();
  }
}

DataflowStep::AsyncRun* DataflowStep::TakeReports(bool idle, bool wait) {
  std::unique_lock lock(mutex_);
  if (idle && wait) reported_.wait(lock, [&] { return reports_ != nullptr; });
  suspended_ = idle && reports_ == nullptr;
  return std::exchange(reports_, nullptr);
}

}  // namespace carillon
