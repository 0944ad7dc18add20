#include "replica.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace examples {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookAgain{50};
constexpr std::chrono::seconds kWaitForChief{120};
constexpr std::chrono::seconds kWaitForOthers{10};

TaskConfig ConfigOf(const ReplicaFlags& flags) {
  if (flags.job_name.empty()) {
    const char* given = std::getenv("TF_CONFIG");
    if (given == nullptr || *given == '\0') {
      throw Error(Code::kInvalidArgument,
                  "which task is this? Say --job_name (ps or worker) and --task_index, or set "
                  "TF_CONFIG; `carillon launch` does that for a cluster on this machine");
    }
    return TaskConfig::FromEnvironment();
  }
  TaskConfig config;
  config.cluster = {{"ps", flags.ps_hosts}, {"worker", flags.worker_hosts}};
  config.job = flags.job_name;
  config.task = flags.task_index;
  return config;
}

}  // namespace

void AddReplicaFlags(Flags& flags, ReplicaFlags* replica) {
  flags.Group("Cluster");
  flags.Add("job_name", &replica->job_name, "ps or worker; without it TF_CONFIG says who this is");
  flags.Add("task_index", &replica->task_index, "the task's number; worker 0 is the chief",
            {.min = 0});
  flags.Add("ps_hosts", &replica->ps_hosts, "host:port of every parameter server");
  flags.Add("worker_hosts", &replica->worker_hosts, "host:port of every worker");
  flags.Add("existing_servers", &replica->existing_servers,
            "servers run already on all hosts: only drive the one of this worker");
  flags.Add("connect_seconds", &replica->connect_seconds,
            "how long a task that is not there yet is waited for", {.min = 1});
  flags.Add("grace_seconds", &replica->grace_seconds,
            "how long a parameter server waits for workers that it has lost; 0: for ever",
            {.min = 0});
}

Replica::Replica(const ReplicaFlags& flags)
    : config_(ConfigOf(flags)), existing_servers_(flags.existing_servers) {
  cluster().address(config_.job, config_.task);  // says which tasks there are
  if (!existing_servers_) {
    server_.emplace(ServerOptions{.job = config_.job,
                                  .task = config_.task,
                                  .cluster = config_.cluster,
                                  .connect_deadline = std::chrono::seconds(flags.connect_seconds),
                                  .grace = std::chrono::seconds(flags.grace_seconds)});
  }
}

int Replica::Serve() {
  if (!server_.has_value())
    throw Error(Code::kInvalidArgument, "with --existing_servers only workers are to be started");
  return server_->Join();
}

std::unique_ptr<Session> Replica::Open(Graph& g, const SessionOptions& options) {
  if (server_.has_value()) return std::make_unique<Session>(*server_, g, options);
  return std::make_unique<Session>("grpc://" + cluster().address(config_.job, config_.task), g,
                                   options);
}

Start::Start(Graph& g) {
  std::vector<Output> initialised;
  for (const Variable& variable : GlobalVariables(g))
    initialised.push_back(variable.IsInitialized());
  all_are_initialised_ = All(Pack(initialised), Const(g, {0}));
  initialise_ = GlobalVariablesInitializer(g);
}

void Start::Run(Session& session, bool is_chief) const {
  const auto give_up = Clock::now() + kWaitForChief;
  while (!session.Run(all_are_initialised_).scalar<bool>()) {
    if (is_chief) return session.Run(initialise_);
    if (Clock::now() > give_up) {
      throw Error(Code::kDeadlineExceeded,
                  "the chief, worker 0, has not initialised the variables within " +
                      std::to_string(kWaitForChief.count()) + " s: is it running?");
    }
    std::this_thread::sleep_for(kLookAgain);
  }
}

Attendance::Attendance(Graph& g, int num_workers, int64_t num_samples)
    : num_workers_(num_workers),
      num_samples_(num_samples),
      steps_of_workers_(g, "attendance/steps", Shape{num_workers}, init::Zeros(), kInt64,
                        {.trainable = false}),
      first_epoch_(g, "attendance/first_epoch", Shape{num_samples}, init::Zeros(), kInt32,
                   {.trainable = false}),
      counts_(static_cast<size_t>(num_samples), 0) {
  steps_given_ = Placeholder(g, kInt64, {num_workers}, "attendance/steps_given");
  first_epoch_given_ = Placeholder(g, kInt32, {num_samples}, "attendance/first_epoch_given");
  const Operation counted = first_epoch_.AssignAdd(first_epoch_given_);
  {
    const ControlDependencies after(g, {counted});  // who is in the list has handed in everything
    hand_in_ = steps_of_workers_.AssignAdd(steps_given_);
  }
  all_steps_ = steps_of_workers_.read();
  all_counts_ = first_epoch_.read();
}

void Attendance::Count(const Batches& batches) {
  ++steps_;
  if (batches.epoch() > 0) return;
  for (const int64_t index : batches.last_indices()) ++counts_[static_cast<size_t>(index)];
}

void Attendance::Report(Session& session, int task, bool is_chief) {
  std::vector<int64_t> mine(static_cast<size_t>(num_workers_), 0);
  mine[static_cast<size_t>(task)] = steps_;
  session.Run(hand_in_, {{steps_given_, Tensor::FromVector<int64_t>(mine)},
                         {first_epoch_given_, Tensor::FromVector<int32_t>(counts_)}});
  if (!is_chief) return;
  Tensor steps;
  int missing = 0;
  for (const auto give_up = Clock::now() + kWaitForOthers;;) {
    steps = session.Run(all_steps_);
    missing = 0;
    for (const int64_t count : steps.values<int64_t>()) missing += count == 0;
    if (missing == 0 || Clock::now() > give_up) break;
    std::this_thread::sleep_for(kLookAgain);
  }
  std::string line = "steps of each worker:";
  for (const int64_t count : steps.values<int64_t>()) line += " " + FormatCount(count);
  if (missing > 0) line += "; those with 0 took no part, or have not finished";
  const Tensor counts = session.Run(all_counts_);
  Coverage coverage(num_samples_);
  for (int64_t i = 0; i < num_samples_; ++i) {
    for (int32_t n = 0; n < counts.data<int32_t>()[i]; ++n) coverage.Add({i});
  }
  std::printf("%s\ncoverage of the first epoch: %s\n", line.c_str(), coverage.Report().c_str());
}

}  // namespace examples
