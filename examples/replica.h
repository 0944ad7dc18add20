// What the example programs of several tasks share: who a task is, how it begins, and what it says
// at its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "carillon/carillon.h"

namespace examples {

using namespace carillon;

// The flags by which the tasks of a job are told apart; every one gets the same lists. Without a
// --job_name the variable TF_CONFIG says who the task is.
struct ReplicaFlags {
  std::vector<std::string> ps_hosts{"127.0.0.1:2222"};
  std::vector<std::string> worker_hosts{"127.0.0.1:2223", "127.0.0.1:2224"};
  std::string job_name;
  int task_index = 0;
  bool existing_servers = false;
  int64_t connect_seconds = 60;
  int64_t grace_seconds = 60;
};
void AddReplicaFlags(Flags& flags, ReplicaFlags* replica);

// One task of the job: its place in the cluster and, unless servers run already, its server. What
// it says on the standard output is meant to be read by people.
class Replica {
 public:
  explicit Replica(const ReplicaFlags& flags);

  const ClusterSpec& cluster() const { return config_.cluster; }
  int task() const { return config_.task; }
  int num_workers() const { return cluster().num_tasks("worker"); }
  bool is_chief() const { return config_.is_chief(); }
  // A task that only serves: call Serve and return what it returns.
  bool only_serves() const { return config_.job == "ps"; }
  int Serve();

  std::unique_ptr<Session> Open(Graph& g, const SessionOptions& options = {});

 private:
  TaskConfig config_;
  bool existing_servers_;
  std::optional<Server> server_;
};

// Variables get their values from the chief; the others wait until it has done that. A chief that
// was restarted finds the model and leaves it alone. Make it when all variables are there, in no
// device scope.
class Start {
 public:
  explicit Start(Graph& g);
  // Throws Error(DeadlineExceeded) when the chief does not come.
  void Run(Session& session, bool is_chief) const;

 private:
  Output all_are_initialised_;
  Operation initialise_;
};

// What all workers did, gathered on the parameter servers: the steps of each, and which samples
// they read in their first epoch.
class Attendance {
 public:
  // Makes variables: in the device scope of the others.
  Attendance(Graph& g, int num_workers, int64_t num_samples);

  // After each batch.
  void Count(const Batches& batches);
  // Hands in what this worker did, and waits for the others as long as they go on. The chief then
  // prints the steps of each worker, and the line that proves who read what.
  void Report(Session& session, int task, bool is_chief);

  int64_t steps() const { return steps_; }

 private:
  const int num_workers_;
  const int64_t num_samples_;
  Variable steps_of_workers_, first_epoch_;
  Output steps_given_, first_epoch_given_;
  Operation hand_in_;
  Output all_steps_, all_counts_;
  int64_t steps_ = 0;
  std::vector<int32_t> counts_;
};

}  // namespace examples
