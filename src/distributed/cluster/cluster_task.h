// ClusterTask: one task of a cluster, as master of its own sessions and as worker for all.
#pragma once

#include <memory>
#include <string>

#include "distributed/cluster/coordinator.h"
#include "distributed/cluster/task_messages.h"
#include "distributed/cluster/worker.h"

namespace carillon {

// Thread-safe. Messages to itself do not leave it.
class ClusterTask final : private TaskMessenger {
 public:
  // `name`: "/job:ps/replica:0/task:0". `network` and the worker's resources outlive the task.
  ClusterTask(std::string name, WorkerOptions options, TaskMessenger* network);

  const std::string& name() const { return name_; }
  Coordinator& coordinator() { return coordinator_; }
  Worker& worker() { return worker_; }

  // What arrives from the task `from`. Waits for nothing that takes long.
  void Handle(const std::string& from, TaskMessage message);
  // No message goes to or comes from `task` any more, until it is back.
  void TaskLost(const std::string& task, const Status& reason);
  // Tells every task that a session of this master is over.
  void EndSession(const std::string& session, const std::vector<std::string>& tasks);

 private:
  Status Send(const std::string& task, TaskMessage message) override;
  Status SendAll(const std::string& task, std::vector<TaskMessage> messages) override;

  const std::string name_;
  TaskMessenger* const network_;
  BackgroundPool background_;  // outlives what runs on it: it waits for that
  Coordinator coordinator_;
  Worker worker_;
};

}  // namespace carillon
