#include "distributed/cluster/worker.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "base/logging.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "base/throw.h"
#include "graph/graph_def.h"
#include "graph/passes/pass.h"
#include "proto/graph.pb.h"
#include "proto/step_stats.pb.h"
#include "runtime/rendezvous.h"
#include "tensor/limited_allocator.h"
#include "tensor/memory_charge.h"

namespace carillon {
namespace {

// Steps that ended early, kept in mind for as long as values may be on their way to them.
constexpr size_t kEndedSteps = 4096;
// Steps that values came for, and whose start is awaited: most of them, and for how long.
constexpr size_t kAwaitedSteps = 4096;
constexpr std::chrono::minutes kAwaitStart{5};

// So many small values are enough for a message.
constexpr size_t kBatchValues = 500;
constexpr size_t kLargeBytes = 16 << 10;

// Of the master's limit of a session and this task's: 0 limits nothing, -1 less than any other.
int64_t LowerLimit(int64_t a, int64_t b) {
  if (a > 0 && b > 0) return std::min(a, b);
  return std::max(a, b) > 0 ? std::max(a, b) : std::min(a, b);
}

// A key may carry the iterations of loops: "edge 3;5;0".
std::string_view EdgeOf(std::string_view key) { return key.substr(0, key.find(';')); }

}  // namespace

struct Worker::SessionState {
  // The value, counted in the session's share; no value when there is no room.
  StatusOr<Tensor> Count(Tensor value) const {
    Tensor counted = CountInShare(device->allocator, std::move(value));
    if (counted.has_value()) return counted;
    return ResourceExhausted("the session's share of the memory of ", device->name,
                             " has no room for a value that came from another task");
  }

  std::string master;
  std::shared_ptr<Device> device;      // its allocator is the session's share, if that is limited
  bool is_limited = false;             // and what comes from other tasks counts, too
  ResourceStore* resources = nullptr;  // null: not decided yet
  ResourceStore* state = nullptr;      // what stateful kernels keep between steps
  MapResourceStore own_resources, own_state;
};

struct Worker::Program {
  struct Part {
    std::unique_ptr<Executable> executable;
    std::vector<int> feeds, fetches;
  };
  std::string master;
  std::shared_ptr<SessionState> session;
  ResourceStore* resources = nullptr;
  bool is_own = false;  // the master is this task
  std::vector<Part> parts;
  struct Destination {
    std::string task;
    size_t place = 0;  // in the order in which values are needed
  };
  std::map<std::string, Destination, std::less<>> destinations;
};

// Its rendezvous hands values of this task to each other, and the rest to the messenger: what came
// to be since the last Flush together, and in the order in which it is needed there, because large
// values take their time one after the other.
struct Worker::Step final : public StepRendezvous {
  Step(StepId step, TaskMessenger* messenger) : id(step), messenger(messenger) {}

  Status Send(const std::string& key, Tensor value, bool is_dead) override {
    if (exchange != nullptr && IsPartKey(key))
      return exchange->Send(key, std::move(value), is_dead);
    const auto found = program->destinations.find(EdgeOf(key));
    if (found == program->destinations.end()) return here.Send(key, std::move(value), is_dead);
    const auto& [task, place] = found->second;
    std::lock_guard lock(outbox_mutex);
    Outbox& waiting = outbox[task];
    waiting.has_large |= value.has_value() && value.num_bytes() >= kLargeBytes;
    waiting.places.emplace_back(place, waiting.messages.size());
    waiting.messages.push_back(Deliver{id, key, std::move(value), is_dead});
    const bool is_enough = !waiting.has_large && waiting.messages.size() >= kBatchValues;
    return is_enough ? SendOutbox() : absl::OkStatus();
  }
  void ReceiveAsync(const std::string& key, Receive done) override {
    if (exchange != nullptr && IsPartKey(key)) return exchange->ReceiveAsync(key, std::move(done));
    if (!program->session->is_limited) return here.ReceiveAsync(key, std::move(done));
    here.ReceiveAsync(key, [session = program->session, done = std::move(done)](
                               const Status& status, Tensor value, bool is_dead) {
      if (!status.ok() || !value.has_value()) return done(status, std::move(value), is_dead);
      StatusOr<Tensor> counted = session->Count(std::move(value));
      done(counted.status(), counted.ok() ? *std::move(counted) : Tensor(), is_dead);
    });
  }
  void Abort(const Status& reason) override {
    here.Abort(reason);
    if (exchange != nullptr) exchange->Abort(reason);
  }
  void Flush() override {
    Status sent;
    {
      std::lock_guard lock(outbox_mutex);
      if (!outbox.empty()) sent = SendOutbox();
    }
    if (sent.ok()) return;
    {
      std::lock_guard lock(mutex);
      status.Update(sent);
    }
    cancellation.Cancel(sent);
    Abort(sent);
  }
  Status SendOutbox() {  // under outbox_mutex
    Status status;
    for (auto& [task, waiting] : std::exchange(outbox, {}))
      status.Update(messenger->SendAll(task, waiting.Take()));
    return status;
  }

  const StepId id;
  TaskMessenger* const messenger;
  const std::chrono::steady_clock::time_point made = std::chrono::steady_clock::now();
  LocalRendezvous here;
  CancellationSource cancellation;

  // Since it was started.
  std::shared_ptr<Program> program;
  std::shared_ptr<StepRendezvous> exchange;  // of a partial run of this task's own master
  struct RunningPart {
    std::vector<Tensor> feeds, fetches;
    StepTrace trace;
    StepArgs args;
  };
  std::vector<RunningPart> parts;
  std::atomic<size_t> running{0};
  std::mutex mutex;
  Status status;                   // the first error, under mutex
  std::vector<Deliver> delivered;  // not handed on yet, under mutex
  bool is_handing_on = false;      // somebody is at it, under mutex

  struct Outbox {
    std::vector<TaskMessage> messages;
    std::vector<std::pair<size_t, size_t>> places;  // in the order of need, and in messages
    bool has_large = false;

    // Small ones arrive together in any order.
    std::vector<TaskMessage> Take() {
      if (!has_large || std::ranges::is_sorted(places)) return std::move(messages);
      std::ranges::sort(places);
      std::vector<TaskMessage> ordered;
      ordered.reserve(messages.size());
      for (const auto& [need, at] : places) ordered.push_back(std::move(messages[at]));
      return ordered;
    }
  };
  std::mutex outbox_mutex;
  std::map<std::string, Outbox> outbox;  // by task, under outbox_mutex
};

Worker::Worker(WorkerOptions options, TaskMessenger* messenger, BackgroundThreads* background)
    : options_(std::move(options)), messenger_(messenger), background_(background) {}

Worker::~Worker() {
  std::vector<std::shared_ptr<Step>> steps;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [id, step] : steps_) steps.push_back(step);
  }
  for (const auto& step : steps) EndStep(step, absl::UnavailableError("the task is shutting down"));
  std::unique_lock lock(mutex_);
  step_done_.wait(lock, [&] {
    return busy_ == 0 && std::ranges::none_of(steps_, [](const auto& entry) {
             return entry.second->program != nullptr;
           });
  });
}

void Worker::Report(const std::string& master, TaskMessage message) {
  const Status sent = messenger_->Send(master, std::move(message));
  if (!sent.ok()) LogWarning("could not answer ", master, ": ", sent.message());
}

void Worker::Adopt(const std::string& session, std::shared_ptr<Device> device,
                   ResourceStore* resources, ResourceStore* state) {
  auto adopted = std::make_shared<SessionState>();
  adopted->device = std::move(device);
  adopted->is_limited = options_.session_memory_bytes != 0;
  adopted->resources = resources;
  adopted->state = state;
  std::lock_guard lock(mutex_);
  sessions_[session] = std::move(adopted);
}

void Worker::Register(const std::string& master, RegisterProgram message) {
  std::shared_ptr<SessionState> session;
  {
    std::unique_lock lock(mutex_);
    if (stopping_) return;
    if (message.is_known && !sessions_.contains(message.session)) {
      lock.unlock();
      return Report(master, ProgramRegistered{
                                message.program,
                                absl::AbortedError(StrCat(
                                    options_.device->name,
                                    " knows nothing of the session: the task has been restarted, "
                                    "or has missed the session's master"))});
    }
    ++busy_;
    std::shared_ptr<SessionState>& known = sessions_[message.session];
    if (known == nullptr) known = std::make_shared<SessionState>();
    known->master = master;
    if (known->resources == nullptr) {
      known->resources = message.own_resources ? &known->own_resources : options_.resources;
      known->state = &known->own_state;
      const int64_t limit = LowerLimit(options_.session_memory_bytes, message.memory_bytes);
      known->is_limited = limit != 0;
      known->device =
          known->is_limited ? MakeDeviceShare(*options_.device, limit) : options_.device;
    }
    session = known;
  }
  background_->Start([this, master, session, message = std::move(message)]() mutable {
    const ProgramId id = message.program;
    Status status;
    std::shared_ptr<Program> made;
    // A graph from outside may ask for more memory than there is.
    const Status thrown = CatchAsStatus([&] {
      StatusOr<std::shared_ptr<Program>> program = Compile(message, session);
      status = program.status();
      if (status.ok()) made = *std::move(program);
    });
    if (!thrown.ok()) status = thrown;
    if (status.ok()) {
      std::lock_guard lock(mutex_);
      made->master = master;
      made->is_own = options_.device->name.starts_with(master + "/");
      programs_[id] = std::move(made);
    }
    Report(master, ProgramRegistered{id, std::move(status)});
    std::lock_guard lock(mutex_);
    --busy_;
    step_done_.notify_all();
  });
}

StatusOr<std::shared_ptr<Worker::Program>> Worker::Compile(RegisterProgram& message,
                                                           std::shared_ptr<SessionState> session) {
  auto program = std::make_shared<Program>();
  program->resources = session->resources;
  TaskProgram& given = message.task_program;
  SpecializeOptions options{.optimize = given.optimize, .resources = program->resources};
  options.lowering.kernels = {
      .threads = options_.threads, .exact = given.exact, .measure = given.measure};
  SetKernelThreads(options_.threads);  // algorithms are timed as they will run
  for (TaskProgram::Part& part : given.parts) {
    if (part.device != options_.device->name) {
      return absl::NotFoundError(StrCat("a part of the graph is for '", part.device,
                                        "', but this task has only '", options_.device->name, "'"));
    }
    auto graph = std::make_unique<NodeGraph>();
    tensorflow::GraphDef graph_def;
    if (!graph_def.ParseFromString(part.graph))
      return InvalidArgument("a part of the graph is no GraphDef");
    part.graph.clear();
    CARILLON_RETURN_IF_ERROR(
        ImportSpecializedGraphDef(graph_def, graph.get(), session->device->allocator.get()));
    CARILLON_ASSIGN_OR_RETURN(
        std::unique_ptr<Executable> executable,
        Executable::FromPart(std::move(graph), session->device, session->state, options));
    program->parts.push_back(
        {std::move(executable), std::move(part.feeds), std::move(part.fetches)});
  }
  for (size_t i = 0; i < given.destinations.size(); ++i) {
    auto& [key, task] = given.destinations[i];
    program->destinations.try_emplace(std::move(key), Program::Destination{std::move(task), i});
  }
  program->session = std::move(session);
  return program;
}

Status Worker::NoRoom(const char* what) const {
  return ResourceExhausted("no memory on ", options_.device->name, " for ", what);
}

std::shared_ptr<Worker::Step> Worker::FindOrMakeStep(StepId id) {
  if (stopping_ || ended_.contains(id)) return nullptr;
  if (const auto found = steps_.find(id); found != steps_.end()) return found->second;
  if (steps_.size() >= kAwaitedSteps) {
    const auto too_old = std::chrono::steady_clock::now() - kAwaitStart;
    std::erase_if(steps_, [&](const auto& entry) {
      return entry.second->program == nullptr && entry.second->made < too_old;
    });
    if (steps_.size() >= kAwaitedSteps) return nullptr;
  }
  return steps_.emplace(id, std::make_shared<Step>(id, messenger_)).first->second;
}

void Worker::Start(const std::string& master, StartStep message) {
  std::shared_ptr<Step> step;
  Status status;
  {
    std::lock_guard lock(mutex_);
    const auto program = programs_.find(message.program);
    step = FindOrMakeStep(message.step);
    if (step == nullptr) {
      status = absl::CancelledError("the step was aborted before it began");
    } else if (program == programs_.end()) {
      steps_.erase(message.step);
      status = absl::AbortedError(
          "the task knows nothing of this step's graph: it has been restarted, or the session was "
          "closed");
    } else {
      step->program = program->second;
      step->exchange = std::move(message.exchange);
    }
  }
  if (!status.ok()) return Report(master, StepDone{message.step, std::move(status), {}});
  std::unordered_map<int, Tensor> feeds;
  for (auto& [index, tensor] : message.feeds) feeds[index] = std::move(tensor);
  Program& program = *step->program;
  step->parts.resize(program.parts.size());
  for (size_t i = 0; i < program.parts.size(); ++i) {
    Step::RunningPart& part = step->parts[i];
    for (const int feed : program.parts[i].feeds) part.feeds.push_back(feeds[feed]);
    part.args = {.step_id = static_cast<int64_t>(step->id),
                 .threads = options_.threads,
                 .feeds = part.feeds,
                 .resources = program.resources,
                 .cancellation = &step->cancellation,
                 .rendezvous = step.get(),
                 .trace = message.trace ? &part.trace : nullptr};
  }
  const size_t parts = program.parts.size();
  step->running = parts;
  for (size_t i = 1; i < parts; ++i) background_->Start([this, step, i] { RunPart(step, i); });
  if (parts == 0) return;
  // This task's own master has nothing better to do than to begin.
  if (program.is_own) {
    RunPart(step, 0);
  } else {
    background_->Start([this, step] { RunPart(step, 0); });
  }
}

void Worker::RunPart(const std::shared_ptr<Step>& step, size_t part) {
  Step::RunningPart& running = step->parts[part];
  const Program& program = *step->program;
  Executable& executable = *program.parts[part].executable;
  // Those of this task's own master are counted already.
  const bool count = program.session->is_limited && !program.is_own;
  Status status;
  for (Tensor& feed : running.feeds) {
    if (!feed.has_value()) {
      status.Update(NoRoom("a feed"));
    } else if (count) {
      StatusOr<Tensor> counted = program.session->Count(std::move(feed));
      status.Update(counted.status());
      if (counted.ok()) feed = *std::move(counted);
    }
  }
  if (!status.ok()) return PartDone(step, std::move(status));
  executable.RunAsync(running.args, &running.fetches,
                      [this, step](Status result) { PartDone(step, std::move(result)); });
}

void Worker::PartDone(const std::shared_ptr<Step>& step, Status status) {
  if (!status.ok()) {
    bool first;
    {
      std::lock_guard lock(step->mutex);
      first = step->status.ok();
      if (first) step->status = status;
    }
    if (first) EndStep(step, status);
  }
  if (step->running.fetch_sub(1) != 1) return;
  StepDone done{step->id, {}, {}};
  {
    std::lock_guard lock(step->mutex);
    done.status = step->status;
  }
  const Program& program = *step->program;
  for (size_t i = 0; done.status.ok() && i < program.parts.size(); ++i) {
    for (size_t k = 0; k < program.parts[i].fetches.size(); ++k)
      done.fetches.emplace_back(program.parts[i].fetches[k], std::move(step->parts[i].fetches[k]));
  }
  if (done.status.ok() && step->parts[0].args.trace != nullptr) {
    StatusOr<std::string> step_stats = TraceOf(*step);
    done.status = step_stats.status();
    if (step_stats.ok()) done.step_stats = *std::move(step_stats);
  }
  const std::string master = program.master;
  {
    std::lock_guard lock(mutex_);
    steps_.erase(step->id);
    ++busy_;
    if (!done.status.ok()) RememberEnd(step->id);
  }
  Report(master, std::move(done));
  std::lock_guard lock(mutex_);
  --busy_;
  step_done_.notify_all();
}

StatusOr<std::string> Worker::TraceOf(const Step& step) {
  int64_t bytes = 0;
  for (const Step::RunningPart& part : step.parts) bytes += part.trace.bytes;
  MemoryCharge charge(step.program->parts[0].executable->device().allocator.get());
  CARILLON_RETURN_IF_ERROR(charge.Add(3 * bytes));  // as timings, as messages, and serialized
  tensorflow::StepStats stats;
  for (size_t i = 0; i < step.parts.size(); ++i) {
    const Executable& executable = *step.program->parts[i].executable;
    RunMetadata metadata{.device = executable.device().name};
    for (const KernelTiming& timing : step.parts[i].trace.kernels)
      metadata.nodes.push_back(ToNodeTiming(timing, executable.program(), metadata.device));
    stats.MergeFromString(metadata.SerializeStepStats());
  }
  return stats.SerializeAsString();
}

void Worker::RememberEnd(StepId id) {
  if (!ended_.insert(id).second) return;
  ended_order_.push_back(id);
  if (ended_order_.size() <= kEndedSteps) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

void Worker::EndStep(const std::shared_ptr<Step>& step, const Status& reason) {
  step->cancellation.Cancel(reason);
  step->Abort(reason);
}

void Worker::Abort(const AbortStep& message) {
  std::shared_ptr<Step> step;
  {
    std::lock_guard lock(mutex_);
    const auto found = steps_.find(message.step);
    if (found != steps_.end()) step = found->second;
    if (step == nullptr || step->program == nullptr) {
      // It is over, or the master gave it up while it was starting it.
      RememberEnd(message.step);
      if (step != nullptr) steps_.erase(found);
    }
  }
  if (step != nullptr) EndStep(step, message.reason);
}

void Worker::Receive(Deliver message) {
  std::shared_ptr<Step> step;
  {
    std::lock_guard lock(mutex_);
    step = FindOrMakeStep(message.step);
  }
  if (step == nullptr) return;
  if (!message.is_dead && !message.value.has_value())
    return EndStep(step, NoRoom("a value that came from another task"));
  {
    std::lock_guard lock(step->mutex);
    step->delivered.push_back(std::move(message));
    if (std::exchange(step->is_handing_on, true)) return;
  }
  // Whoever waits for the value goes on with it: not on the thread that brings messages.
  background_->Start([step] { HandOn(step); });
}

void Worker::HandOn(const std::shared_ptr<Step>& step) {
  std::vector<Deliver> values;
  for (;;) {
    // The step goes on, on this thread, when all that came is handed on.
    WorkCollector next;
    {
      std::lock_guard lock(step->mutex);
      step->is_handing_on = !step->delivered.empty();
      if (!step->is_handing_on) return;
      values.swap(step->delivered);
    }
    for (Deliver& value : values) {
      // An error is the step's, which has ended.
      step->here.Send(value.key, std::move(value.value), value.is_dead).IgnoreError();
    }
    values.clear();
    next.Run();
  }
}

void Worker::End(const EndSession& message) {
  std::vector<std::shared_ptr<Step>> steps;
  {
    std::lock_guard lock(mutex_);
    const auto session = sessions_.find(message.session);
    if (session == sessions_.end()) return;
    for (const auto& [id, step] : steps_) {
      if (step->program != nullptr && step->program->session == session->second)
        steps.push_back(step);
    }
    std::erase_if(programs_,
                  [&](const auto& entry) { return entry.second->session == session->second; });
    sessions_.erase(session);
  }
  for (const auto& step : steps)
    EndStep(step, absl::CancelledError("the session was closed while the step ran"));
}

void Worker::Release(const ReleaseProgram& message) {
  std::shared_ptr<Program> last;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  if (const auto found = programs_.find(message.program); found != programs_.end()) {
    last = std::move(found->second);
    programs_.erase(found);
  }
}

void Worker::TaskLost(const std::string& task, const Status& reason) {
  std::vector<std::shared_ptr<Step>> steps;
  std::vector<std::string> orphans;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [name, session] : sessions_) {
      if (session->master == task) orphans.push_back(name);
    }
    for (const auto& [id, step] : steps_) {
      if (step->program == nullptr) continue;
      for (const auto& [key, destination] : step->program->destinations) {
        if (destination.task != task) continue;
        steps.push_back(step);
        break;
      }
    }
  }
  for (const auto& step : steps) EndStep(step, reason);
  for (const std::string& session : orphans) {
    LogWarning("closing the session ", session, ": its master ", task, " is lost");
    End({session});
  }
}

size_t Worker::num_programs() const {
  std::lock_guard lock(mutex_);
  return programs_.size();
}

size_t Worker::num_steps() const {
  std::lock_guard lock(mutex_);
  return steps_.size();
}

}  // namespace carillon
