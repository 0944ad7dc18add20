// What is told about the tasks: the status line while they run, the table when they have ended.
#pragma once

#include <string>
#include <vector>

#include "carillon/report.h"
#include "cli/launch/task_status.h"

namespace carillon::launch {

// One task, as it is shown.
struct TaskReport {
  std::string name;
  bool is_ps = false;
  std::string state;  // "runs", "exit 0", "failed: exit code 3", "ended"
  bool has_ended = false;
  TaskStatus status;
  double seconds = 0;          // that it has run
  int64_t peak_rss_bytes = 0;  // known when it has ended
};

// "812 B", "1.23 MB": four digits at most, units of 1000.
std::string FormatBytes(int64_t bytes);

// "exit 0", "exit code 3", "SIGSEGV": how a process ended, from what wait() says of it.
std::string DescribeEnd(int wait_status);

// Speed, loss and steps of each worker that has told some: one line of at most `width` columns (0:
// no limit), "" when there is nothing to tell.
std::string StatusText(const std::vector<TaskReport>& tasks, double seconds, int width);

std::string TaskTable(const std::vector<TaskReport>& tasks, const TextStyle& style);

}  // namespace carillon::launch
