// Coordinator: how a master runs steps on several tasks.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "distributed/cluster/task_messages.h"
#include "runtime/partitioner.h"
#include "runtime/step_program.h"

namespace carillon {

// "/job:ps/replica:0/task:1" of a device there, as Place names them.
std::string TaskOfDevice(const std::string& device);

struct ProgramOptions {
  std::string session;
  bool own_resources = false;
  std::set<std::string> known_to;  // tasks that have had programs of the session
  int64_t memory_bytes = 0;        // that the session may take on each task, as MakeDeviceShare
  bool optimize = true;
  bool exact = false;
  bool measure = true;
  bool is_temporary = false;  // the tasks forget the program with whoever registered it
  std::chrono::milliseconds registration_deadline{std::chrono::minutes(10)};
};

// Thread-safe. The first error of a step ends it on every task and is what the step reports; a step
// is done when every task has said so or is lost.
//
// Invariants, under mutex_: registrations_ and steps_ hold those that some task has not answered,
// with the tasks that have not. Callbacks and messages happen outside of the lock.
class Coordinator {
 public:
  // Of the task `self`. `messenger` outlives the coordinator.
  Coordinator(std::string self, TaskMessenger* messenger);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Gives every task its parts of `graph` and waits until all are ready. DeadlineExceeded names the
  // tasks that are not. The program must not outlive the coordinator.
  StatusOr<std::shared_ptr<StepProgram>> Register(PartitionedGraph graph,
                                                  const ProgramOptions& options);

  // Answers of the task `from`.
  void OnRegistered(const std::string& from, ProgramRegistered message);
  void OnDone(const std::string& from, StepDone message);
  void TaskLost(const std::string& task, const Status& reason);

 private:
  friend class ClusterProgram;
  struct Registration;
  struct Step;

  void Release(const class ClusterProgram& program);
  void Run(class ClusterProgram& program, const StepArgs& args, std::vector<Tensor>* fetches,
           Executor::Done done);
  void Abort(StepId id, const Status& reason);

  const std::string self_;
  TaskMessenger* const messenger_;
  std::mutex mutex_;
  std::map<ProgramId, std::shared_ptr<Registration>> registrations_;
  std::map<StepId, std::shared_ptr<Step>> steps_;
  uint64_t next_id_;
};

}  // namespace carillon
