// One task of a cluster while it runs: its process, what it writes and what it tells.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>

#include "base/env.h"
#include "cli/launch/lines.h"
#include "cli/launch/plan.h"
#include "cli/launch/process.h"
#include "cli/launch/screen.h"
#include "cli/launch/summary.h"
#include "cli/launch/task_status.h"

namespace carillon::launch {

using Clock = std::chrono::steady_clock;

// Its life: Start(); ends when its first process does (SetEnd); over when nobody of its group is
// left and its last words are read (Finish). Not thread-safe.
class Task {
 public:
  // Lines go to `screen` as those of task `number`.
  Task(TaskPlan plan, size_t number, Screen* screen);
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // Lines go to DIR/JOB-INDEX.log, too.
  Status OpenLog(const std::string& folder);
  Status Start(const sigset_t& signal_mask);

  const TaskPlan& plan() const { return plan_; }
  std::string name() const { return plan_.name(); }
  pid_t pid() const { return process_.pid; }
  bool started() const { return process_.pid > 0; }
  bool ended() const { return !started() || end_.has_value(); }
  bool over() const { return !started() || over_; }

  // Descriptors to poll for input; those that are closed are left out.
  void AddOutputs(std::vector<int>* fds) const;
  void AddInbox(std::vector<int>* fds) const;
  // Takes some of what can be read without waiting.
  void ReadOutputs();
  void ReadInbox();

  void Signal(int signal);
  // The first process has ended with this wait() status.
  void SetEnd(int wait_status, const rusage& usage);
  // Reads what is left and closes everything.
  void Finish();

  // However it ends from here on is no failure.
  void ExpectEnd() { end_expected_ = end_expected_ || !end_; }
  bool failed() const { return end_ && *end_ != 0 && !end_expected_; }
  // "exit code 3", after the end.
  std::string end_text() const { return DescribeEnd(*end_); }
  const std::deque<std::string>& last_lines() const { return last_lines_; }
  TaskReport Report() const;

  // When the group is killed unless it is gone by then.
  std::optional<Clock::time_point> kill_at;
  bool killed = false;

 private:
  void OnLine(std::string_view line);
  // Ends the log, and says so, when it cannot be written.
  void CheckLog(const Status& status);
  // False when nothing more has arrived.
  bool ReadSome(int* fd, LineSplitter* lines);

  const TaskPlan plan_;
  const size_t number_;
  Screen* const screen_;
  std::unique_ptr<WritableFile> log_;
  std::optional<StatusInbox> inbox_;
  StartedProcess process_;
  LineSplitter out_lines_, err_lines_;
  std::deque<std::string> last_lines_;
  TaskStatus status_;
  Clock::time_point started_, ended_;
  std::optional<int> end_;  // as wait() tells it
  rusage usage_{};
  bool end_expected_ = false;
  bool over_ = false;
};

}  // namespace carillon::launch
