// carillon launch: a cluster on this machine, around any program.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include "base/cores.h"
#include "base/random_id.h"
#include "base/reserved_ports.h"
#include "base/throw.h"
#include "cli/command.h"
#include "cli/launch/supervisor.h"

namespace carillon {
namespace {

constexpr char kSummary[] =
    "Starts a cluster of ps and worker tasks on this machine: one program, once for each task.\n\n"
    "Each task gets the flags --ps_hosts, --worker_hosts, --job_name and --task_index after its "
    "own arguments, and in its environment TF_CONFIG, CARILLON_THREADS (its share of the cores) "
    "and CARILLON_STATUS (where it may tell how it is getting on). Ports are free ones of "
    "127.0.0.1.\n\n"
    "The lines of all tasks are shown on standard output, with the task's name before them, and "
    "under them the speed and loss of each worker. When a task fails, the others are ended and "
    "its last lines shown again; when all workers have ended, so does the cluster. Ctrl-C and "
    "SIGTERM are passed on, first to the workers, then to the ps; a second Ctrl-C kills. "
    "Nothing that a task has started stays behind. A table of all tasks comes last.\n\n"
    "The exit code is 0 when all is well, 1 when a task failed, 130 after Ctrl-C.";

void AddFlags(launch::Options& options, bool& flags_off, Flags& flags) {
  flags.Positional("[--] PROGRAM [ARGUMENT…]", &options.command,
                   "the program, from $PATH or from the folder of this tool; what follows -- is "
                   "left to it, flags included");
  flags.Group("The cluster");
  flags.Add("ps", &options.ps, "how many parameter servers", {.min = 0, .max = 1000});
  flags.Add("workers", &options.workers, "how many workers", {.min = 0, .max = 1000});
  flags.Add("chief", &options.chief,
            "a job named chief, of one task, beside the workers. Only TF_CONFIG can name it, so "
            "this implies --flags_off");
  flags.Add("flags_off", &flags_off,
            "do not append the four flags, for programs that read TF_CONFIG only");
  flags.Add("threads", &options.threads,
            "threads of each task; 0 divides the cores: the workers share them, and so do the ps",
            {.min = 0, .max = 1024});
  flags.Group("The end");
  flags.Add("keep_going", &options.keep_going,
            "when a worker fails, the others go on; the exit code is still 1");
  flags.Add("grace_seconds", &options.grace_seconds,
            "how long a task may take to end after SIGTERM before it is killed, and a ps after "
            "the last worker before it is ended",
            {.min = 0, .max = 1e6});
  flags.Group("What is shown");
  flags.Add("log_dir", &options.log_dir,
            "also write the lines of each task to a file of its own in this folder, such as "
            "worker-0.log; without it no files are written");
  flags.Add("status_seconds", &options.status_seconds,
            "time between status lines where they cannot be redrawn; 0: none",
            {.min = 0, .max = 1e6});
  flags.Example("carillon launch --ps 1 --workers 2 -- mnist_replica --train_steps 500",
                "one parameter server and two workers");
  flags.Example("carillon launch --workers 4 --log_dir logs -- python3 train.py",
                "four workers of a script that reads the four flags, with a log for each task");
  flags.Example("carillon launch --chief --workers 1 -- ./estimator",
                "chief, worker and ps of a program that reads TF_CONFIG");
}

}  // namespace

int RunLaunch(const std::vector<std::string>& arguments, Console& console) {
  launch::Options options;
  bool flags_off = false;
  Flags flags("carillon launch", kSummary);
  AddFlags(options, flags_off, flags);
  try {
    if (!ParseFlags(flags, arguments, console)) return 0;
  } catch (const Error& error) {
    if (std::find(arguments.begin(), arguments.end(), "--") != arguments.end()) throw;
    throw Error(error.code(), StrCat(error.what(),
                                     ". What is meant for the program comes after "
                                     "--, as in carillon launch -- PROGRAM --flag"));
  }
  options.flags = !flags_off;
  if (options.command.empty()) {
    Throw(
        InvalidArgument("no program: say which one to start, as in carillon launch --workers 2 "
                        "-- PROGRAM ARGUMENTS"));
  }
  if (launch::NumTasks(options) == 0) Throw(InvalidArgument("a cluster needs at least one task"));

  launch::Surroundings surroundings;
  const char* path = std::getenv("PATH");
  std::error_code ignored;
  surroundings.program = ValueOrThrow(launch::FindProgram(
      options.command[0], path == nullptr ? "/usr/bin:/bin" : path,
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string()));
  const ReservedPorts ports = ValueOrThrow(ReservedPorts::Reserve(launch::NumTasks(options)));
  surroundings.ports = ports.numbers();
  surroundings.cores = AvailableCores();
  surroundings.id = StrCat(RandomId());
  for (char** variable = environ; *variable != nullptr; ++variable) {
    surroundings.environment.emplace_back(*variable);
  }

  const std::vector<launch::TaskPlan> plans = launch::PlanTasks(options, surroundings);
  std::vector<std::string> names;
  for (const launch::TaskPlan& plan : plans) names.push_back(plan.name());
  launch::Screen screen(STDOUT_FILENO, console.style, names);
  launch::Supervisor supervisor(options, plans, &screen);
  if (!options.log_dir.empty()) ThrowIfError(supervisor.OpenLogs(options.log_dir));
  console.out.flush();
  return supervisor.Run(surroundings.id);
}

}  // namespace carillon
