#include "distributed/cluster/coordinator.h"

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/random_id.h"
#include "base/strings.h"
#include "graph/graph_def.h"
#include "runtime/rendezvous.h"

namespace carillon {
namespace {

constexpr std::chrono::milliseconds kOthersMissing{500};

// The first error, with those of other tasks that are out of reach, too.
Status Together(const std::vector<Status>& errors) {
  std::vector<std::string> messages;
  for (const Status& error : errors) {
    if (error.code() == errors[0].code()) messages.emplace_back(error.message());
  }
  if (!absl::IsUnavailable(errors[0])) return errors[0];
  return absl::UnavailableError(absl::StrJoin(messages, "; "));
}

}  // namespace

std::string TaskOfDevice(const std::string& device) {
  return device.substr(0, device.find("/device:"));
}

struct Coordinator::Registration {
  std::set<std::string> waiting_for;
  std::vector<Status> errors;
  std::condition_variable changed;
};

struct Coordinator::Step {
  // Under the coordinator's mutex.
  std::set<std::string> waiting_for;
  Status status;  // the first error
  bool aborted = false;

  std::vector<Tensor>* fetches;
  Executor::Done done;
  CancellationSource* cancellation;
  StepTrace* trace;  // null: none is wanted
  uint64_t token = 0;
};

// A signature whose parts are registered on several tasks.
class ClusterProgram final : public StepProgram {
 public:
  struct Participant {
    std::string task;
    std::vector<int> feeds;
  };
  ClusterProgram(Coordinator* coordinator, ProgramId id) : coordinator(coordinator), id(id) {}
  ~ClusterProgram() override {
    if (is_temporary) coordinator->Release(*this);
  }

  Status Run(const StepArgs& args, std::vector<Tensor>* fetches) override {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
    Status result;
    coordinator->Run(*this, args, fetches, [&](Status status) {
      std::lock_guard lock(mutex);
      result = std::move(status);
      is_done = true;
      changed.notify_one();
    });
    // The step has a deadline, or whoever waits wants it to go on.
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_done; });
    return result;
  }
  void RunAsync(const StepArgs& args, std::vector<Tensor>* fetches, Executor::Done done) override {
    coordinator->Run(*this, args, fetches, std::move(done));
  }

  std::vector<const NodeGraph*> graphs() const override {
    std::vector<const NodeGraph*> all;
    for (const auto& part : parts) all.push_back(part.get());
    return all;
  }

  Coordinator* const coordinator;
  const ProgramId id;
  std::vector<Participant> participants;
  std::vector<std::unique_ptr<NodeGraph>> parts;  // as they were registered
  size_t num_fetches = 0;
  bool is_temporary = false;
};

Coordinator::Coordinator(std::string self, TaskMessenger* messenger)
    : self_(std::move(self)), messenger_(messenger), next_id_(RandomId()) {}

StatusOr<std::shared_ptr<StepProgram>> Coordinator::Register(PartitionedGraph graph,
                                                             const ProgramOptions& options) {
  auto registration = std::make_shared<Registration>();
  std::shared_ptr<ClusterProgram> program;
  std::map<std::string, TaskProgram> by_task;
  std::vector<std::string> task_of_part;
  std::vector<std::unique_ptr<NodeGraph>> graphs;
  size_t num_fetches = 0;
  for (Part& part : graph.parts) {
    std::string task = TaskOfDevice(part.device);
    num_fetches += part.fetches.size();
    by_task[task].parts.push_back({part.device, ExportGraphDefBinary(*part.graph),
                                   std::move(part.feeds), std::move(part.fetches)});
    task_of_part.push_back(std::move(task));
    graphs.push_back(std::move(part.graph));
  }
  for (const Channel& channel : graph.channels) {
    const std::string& from = task_of_part[static_cast<size_t>(channel.from)];
    const std::string& to = task_of_part[static_cast<size_t>(channel.to)];
    if (from != to) by_task[from].destinations.push_back({channel.key, to});
  }
  {
    std::lock_guard lock(mutex_);
    program = std::make_shared<ClusterProgram>(this, next_id_++);
    for (const auto& [task, task_program] : by_task) registration->waiting_for.insert(task);
    registrations_.emplace(program->id, registration);
  }
  program->num_fetches = num_fetches;
  program->is_temporary = options.is_temporary;
  program->parts = std::move(graphs);
  for (auto& [task, task_program] : by_task) {
    ClusterProgram::Participant& participant = program->participants.emplace_back();
    participant.task = task;
    for (const TaskProgram::Part& part : task_program.parts)
      participant.feeds.insert(participant.feeds.end(), part.feeds.begin(), part.feeds.end());
    task_program.optimize = options.optimize;
    task_program.exact = options.exact;
    task_program.measure = options.measure;
    const Status sent =
        messenger_->Send(task, RegisterProgram{program->id, options.session, options.own_resources,
                                               options.known_to.contains(task),
                                               options.memory_bytes, std::move(task_program)});
    if (!sent.ok()) OnRegistered(task, {program->id, sent});
  }
  // Its own task, which begins at once, is started last.
  std::ranges::stable_partition(program->participants,
                                [&](const auto& one) { return one.task != self_; });
  std::unique_lock lock(mutex_);
  const bool answered = registration->changed.wait_for(lock, options.registration_deadline, [&] {
    return registration->waiting_for.empty() || !registration->errors.empty();
  });
  // Tasks that are not there are found out about at the same time: one message names all.
  if (!registration->errors.empty() && absl::IsUnavailable(registration->errors[0])) {
    registration->changed.wait_for(lock, kOthersMissing,
                                   [&] { return registration->waiting_for.empty(); });
  }
  registrations_.erase(program->id);
  if (!registration->errors.empty()) return Together(registration->errors);
  if (!answered) {
    return absl::DeadlineExceededError(StrCat(absl::StrJoin(registration->waiting_for, ", "),
                                              " did not take up the graph within ",
                                              options.registration_deadline.count(), " ms"));
  }
  return program;
}

void Coordinator::OnRegistered(const std::string& from, ProgramRegistered message) {
  std::lock_guard lock(mutex_);
  const auto found = registrations_.find(message.program);
  if (found == registrations_.end()) return;
  Registration& registration = *found->second;
  registration.waiting_for.erase(from);
  if (!message.status.ok()) registration.errors.push_back(std::move(message.status));
  registration.changed.notify_all();
}

void Coordinator::Release(const ClusterProgram& program) {
  // A task that is out of reach has forgotten it when it is back.
  for (const auto& participant : program.participants)
    messenger_->Send(participant.task, ReleaseProgram{program.id}).IgnoreError();
}

void Coordinator::Run(ClusterProgram& program, const StepArgs& args, std::vector<Tensor>* fetches,
                      Executor::Done done) {
  auto step = std::make_shared<Step>();
  step->fetches = fetches;
  step->done = std::move(done);
  step->cancellation = args.cancellation;
  step->trace = args.trace;
  fetches->assign(program.num_fetches, Tensor());
  StepId id;
  {
    std::lock_guard lock(mutex_);
    id = next_id_++;
    for (const auto& participant : program.participants) step->waiting_for.insert(participant.task);
    steps_.emplace(id, step);
  }
  if (!args.cancellation->Register(
          &step->token, [this, id, source = args.cancellation] { Abort(id, source->reason()); })) {
    {
      std::lock_guard lock(mutex_);
      steps_.erase(id);
    }
    return step->done(args.cancellation->reason());
  }
  for (const auto& [task, feeds] : program.participants) {
    StartStep start{program.id, id, {}, args.trace != nullptr};
    if (task == self_ && args.rendezvous != nullptr)
      start.exchange = args.rendezvous->shared_from_this();
    for (const int feed : feeds)
      start.feeds.emplace_back(feed, args.feeds[static_cast<size_t>(feed)]);
    Status sent = messenger_->Send(task, std::move(start));
    if (!sent.ok()) OnDone(task, {id, std::move(sent)});
  }
}

void Coordinator::OnDone(const std::string& from, StepDone message) {
  const StepId id = message.step;
  const Status& status = message.status;
  std::shared_ptr<Step> step;
  bool is_first_error = false, is_last = false;
  {
    std::lock_guard lock(mutex_);
    const auto found = steps_.find(id);
    if (found == steps_.end()) return;
    step = found->second;
    if (step->waiting_for.erase(from) == 0) return;
    for (auto& [index, tensor] : message.fetches) {
      if (index >= 0 && static_cast<size_t>(index) < step->fetches->size())
        (*step->fetches)[static_cast<size_t>(index)] = std::move(tensor);
    }
    if (step->trace != nullptr && !message.step_stats.empty())
      step->trace->step_stats.push_back(std::move(message.step_stats));
    if (!status.ok() && step->status.ok()) {
      step->status = status;
      is_first_error = true;
    }
    is_last = step->waiting_for.empty();
    if (is_last) steps_.erase(found);
  }
  if (is_last) {
    step->cancellation->Deregister(step->token);
    return std::exchange(step->done, nullptr)(step->status);
  }
  if (is_first_error) Abort(id, status);
}

void Coordinator::Abort(StepId id, const Status& reason) {
  std::vector<std::string> tasks;
  {
    std::lock_guard lock(mutex_);
    const auto found = steps_.find(id);
    if (found == steps_.end() || std::exchange(found->second->aborted, true)) return;
    if (found->second->status.ok()) found->second->status = reason;
    tasks.assign(found->second->waiting_for.begin(), found->second->waiting_for.end());
  }
  for (const std::string& task : tasks) {
    Status sent = messenger_->Send(task, AbortStep{id, reason});
    if (!sent.ok()) OnDone(task, {id, std::move(sent)});
  }
}

void Coordinator::TaskLost(const std::string& task, const Status& reason) {
  std::vector<StepId> steps;
  std::vector<ProgramId> programs;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, registration] : registrations_) {
      if (registration->waiting_for.contains(task)) programs.push_back(id);
    }
    for (const auto& [id, step] : steps_) {
      if (step->waiting_for.contains(task)) steps.push_back(id);
    }
  }
  for (const ProgramId program : programs) OnRegistered(task, {program, reason});
  for (const StepId step : steps) OnDone(task, {step, reason});
}

}  // namespace carillon
