// What `carillon launch` is asked for, and what each task of its cluster is started with.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "carillon/cluster.h"

namespace carillon::launch {

struct Options {
  int ps = 1;
  int workers = 2;
  bool chief = false;         // a job of one task beside the workers; only TF_CONFIG names it
  bool flags = true;          // append the four flags to the arguments
  int threads = 0;            // of each task; 0 divides the cores
  bool keep_going = false;    // the failure of a worker ends nobody else
  double grace_seconds = 10;  // from SIGTERM to SIGKILL, and for a ps after the last worker
  double status_seconds = 5;  // between status lines that are not redrawn; 0: none
  std::string log_dir;        // no files when it is empty
  std::vector<std::string> command;  // the program and its arguments
};

// One task, ready to be started.
struct TaskPlan {
  std::string job;
  int index = 0;
  std::string program;                   // the path of the file to execute
  std::vector<std::string> arguments;    // the first is the program's name, as it was given
  std::vector<std::string> environment;  // NAME=VALUE, complete
  std::string status_address;            // see report/status_channel.h

  std::string name() const { return StrCat(job, ":", index); }
  bool is_ps() const { return job == "ps"; }
};

// What tasks get from the machine and from whoever calls.
struct Surroundings {
  std::string program;                   // the path that FindProgram gave
  std::vector<int> ports;                // one for each task
  int cores = 1;                         // that all tasks together should use
  std::vector<std::string> environment;  // of the launcher
  std::string id;                        // nobody else's: in the variable kIdVariable of every task
};

// Holds the ids of the launchers that a process descends from, the innermost last.
inline constexpr char kIdVariable[] = "CARILLON_LAUNCH";

int NumTasks(const Options& options);

// All tasks in the order in which they are started: ps, chief, workers. All listen on 127.0.0.1.
std::vector<TaskPlan> PlanTasks(const Options& options, const Surroundings& surroundings);

// Where `name` is: itself when it has a slash, else in one of the folders of `path` (as in $PATH)
// or in `own_folder`. What cannot be executed is InvalidArgument that says where was looked.
StatusOr<std::string> FindProgram(const std::string& name, const std::string& path,
                                  const std::string& own_folder);

}  // namespace carillon::launch
