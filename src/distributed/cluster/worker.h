// Worker: what a task does for the steps of masters, its own and others'.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/background.h"
#include "distributed/cluster/task_messages.h"
#include "runtime/device.h"
#include "runtime/executable.h"
#include "runtime/resource_store.h"

namespace carillon {

struct WorkerOptions {
  std::shared_ptr<Device> device;
  int threads = 1;                        // that a kernel may use
  MapResourceStore* resources = nullptr;  // shared by the sessions; outlives the worker
  int64_t session_memory_bytes = 0;       // that one session may take, as MakeDeviceShare
};

// Thread-safe; no call waits for a step. Results go out through the messenger: exactly one
// ProgramRegistered for each program, one StepDone for each step that was started.
//
// Invariants, under mutex_:
//   1. steps_ holds the steps that were started and are not done, and those that a value came for
//      before they were started; the latter belong to a master that is not lost.
//   2. ended_ remembers the latest steps that ended early, so that what was on its way to them, a
//      value or even the start, is dropped.
//   3. Sessions live as long as a program or a step of theirs does.
class Worker {
 public:
  // `messenger` and `background` outlive the worker.
  Worker(WorkerOptions options, TaskMessenger* messenger, BackgroundThreads* background);
  // Ends what runs and waits for it.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // A session of this task's own master: its share of the device, its resources and what its
  // kernels keep are those given; the latter two outlive it.
  void Adopt(const std::string& session, std::shared_ptr<Device> device, ResourceStore* resources,
             ResourceStore* state);

  // From the task `master`.
  void Register(const std::string& master, RegisterProgram message);
  void Start(const std::string& master, StartStep message);
  void Abort(const AbortStep& message);
  void End(const EndSession& message);
  void Release(const ReleaseProgram& message);

  void Receive(Deliver message);

  // A task is gone: what it was the master of ends, and so does what was to send to it.
  void TaskLost(const std::string& task, const Status& reason);

  // For looking inside.
  size_t num_programs() const;
  size_t num_steps() const;

 private:
  struct SessionState;
  struct Program;
  struct Step;

  StatusOr<std::shared_ptr<Program>> Compile(RegisterProgram& message,
                                             std::shared_ptr<SessionState> session);
  Status NoRoom(const char* what) const;
  // Under mutex_: the step, made when it is new; null when it has ended.
  std::shared_ptr<Step> FindOrMakeStep(StepId id);
  // Gives the values that have come to whoever waits for them, one after the other.
  static void HandOn(const std::shared_ptr<Step>& step);
  void RunPart(const std::shared_ptr<Step>& step, size_t part);
  // When what ran, as a serialized StepStats.
  static StatusOr<std::string> TraceOf(const Step& step);
  void PartDone(const std::shared_ptr<Step>& step, Status status);
  void EndStep(const std::shared_ptr<Step>& step, const Status& reason);
  void RememberEnd(StepId id);  // under mutex_
  void Report(const std::string& master, TaskMessage message);

  const WorkerOptions options_;
  TaskMessenger* const messenger_;
  BackgroundThreads* const background_;

  mutable std::mutex mutex_;
  std::condition_variable step_done_;
  std::map<std::string, std::shared_ptr<SessionState>> sessions_;
  std::map<ProgramId, std::shared_ptr<Program>> programs_;
  std::map<StepId, std::shared_ptr<Step>> steps_;
  std::set<StepId> ended_;
  std::deque<StepId> ended_order_;
  int busy_ = 0;  // with programs that are compiled, and steps that are over and reported
  bool stopping_ = false;
};

}  // namespace carillon
