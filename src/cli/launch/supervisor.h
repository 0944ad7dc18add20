// Runs a cluster from its start to its end.
//
// The rules:
// 1. A task that fails ends all others (SIGTERM), unless it is a worker and the user wants to keep
//    going. So does a task that cannot be started.
// 2. When the workers (and the chief) have ended, each ps has the grace time to end by itself.
// 3. A signal from outside goes to the workers and the chief first, and to the ps when those have
//    ended: they may need their variables to end in order. A second Ctrl-C kills all.
// 4. Whoever is left the grace time after SIGTERM is killed. A task is over when its whole process
//    group is gone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/launch/plan.h"
#include "cli/launch/screen.h"
#include "cli/launch/task.h"

namespace carillon::launch {

// One thread, which must be the only one of the process; it sleeps until something happens.
class Supervisor {
 public:
  Supervisor(const Options& options, const std::vector<TaskPlan>& plans, Screen* screen);

  // Files for the tasks' lines, in a folder that is made when it is missing.
  Status OpenLogs(const std::string& folder);
  // Starts all tasks and returns when none is left, with the exit status of the launcher: 0 when
  // all is well, 1 when a task failed, 128 + N after signal N. `marker` is in the environment of
  // all tasks and of nobody else.
  int Run(const std::string& marker);

 private:
  using TimePoint = Clock::time_point;

  void StartAll(const sigset_t& signal_mask);
  void WaitForNews(Signals& signals);
  int PollTimeoutMs() const;
  void OnSignal(int signal);
  void OnInterrupt(int signal);
  void PassOnInterrupt(Task& task);
  void Reap();
  void OnEnd(Task& task);
  void OnFailure(Task& task);
  void OnWorkersEnded();
  // Finishes tasks whose group is gone, kills those whose time is up.
  void CheckGroups();
  void CheckDeadlines();
  void EndAll();
  void Terminate(Task& task);
  void ShowStatus();
  void ShowResult();
  // Writes what is left, unless nobody takes it and a signal comes.
  void DrainScreen(Signals& signals);

  bool AnyWorkerRuns() const;
  bool AllOver() const;
  std::vector<TaskReport> Reports() const;
  TimePoint GraceEnd() const;

  const Options options_;
  Screen* const screen_;
  std::vector<std::unique_ptr<Task>> tasks_;
  const TimePoint start_ = Clock::now();
  TimePoint next_status_;
  std::string last_status_;
  std::optional<TimePoint> ps_patience_;  // until then a ps may end by itself
  bool workers_ended_ = false;
  bool failed_ = false;
  int interrupt_ = 0;  // the signal that ended the run
};

}  // namespace carillon::launch
