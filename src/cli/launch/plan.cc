#include "cli/launch/plan.h"

#include <algorithm>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "report/status_channel.h"
#include "report/text.h"

namespace carillon::launch {
namespace {

bool CanExecute(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// Sets variables in a list of NAME=VALUE.
class Environment {
 public:
  explicit Environment(std::vector<std::string> variables) : variables_(std::move(variables)) {}
  void Set(const std::string& name, const std::string& value) {
    std::erase_if(variables_, [&](const std::string& v) { return v.starts_with(name + "="); });
    variables_.push_back(StrCat(name, "=", value));
  }
  // "" when it is not there.
  std::string Get(const std::string& name) const {
    for (const std::string& v : variables_) {
      if (v.starts_with(name + "=")) return v.substr(name.size() + 1);
    }
    return "";
  }
  std::vector<std::string> Take() { return std::move(variables_); }

 private:
  std::vector<std::string> variables_;
};

// Tasks of one kind work at the same time and share the cores. A ps mostly moves bytes while the
// workers wait for it, so the two kinds do not count against each other.
int ThreadsOf(const TaskPlan& task, const Options& options, int cores) {
  if (options.threads > 0) return options.threads;
  const int sharing = task.is_ps() ? options.ps : options.workers + (options.chief ? 1 : 0);
  return std::max(1, cores / std::max(1, sharing));
}

}  // namespace

int NumTasks(const Options& options) {
  return options.ps + options.workers + (options.chief ? 1 : 0);
}

std::vector<TaskPlan> PlanTasks(const Options& options, const Surroundings& surroundings) {
  std::vector<TaskPlan> tasks;
  std::map<std::string, std::vector<std::string>> addresses{{"ps", {}}, {"worker", {}}};
  const auto add_job = [&](const std::string& job, int count) {
    for (int i = 0; i < count; ++i) {
      const int port = surroundings.ports[tasks.size()];
      addresses[job].push_back(StrCat("127.0.0.1:", port));
      tasks.push_back({.job = job, .index = i});
    }
  };
  add_job("ps", options.ps);
  if (options.chief) add_job("chief", 1);
  add_job("worker", options.workers);

  ClusterSpec cluster;
  for (const auto& [job, hosts] : addresses) {
    if (!hosts.empty()) cluster.AddJob(job, hosts);
  }
  for (TaskPlan& task : tasks) {
    task.program = surroundings.program;
    task.status_address =
        StrCat("@carillon-launch-", surroundings.id, "-", task.job, "-", task.index);
    task.arguments = options.command;
    if (options.flags && !options.chief) {
      task.arguments.insert(task.arguments.end(),
                            {StrCat("--ps_hosts=", JoinWith(",", addresses["ps"])),
                             StrCat("--worker_hosts=", JoinWith(",", addresses["worker"])),
                             StrCat("--job_name=", task.job), StrCat("--task_index=", task.index)});
    }
    Environment environment(surroundings.environment);
    environment.Set("TF_CONFIG",
                    StrCat("{\"cluster\": ", cluster.ToJson(), ", \"task\": {\"type\": \"",
                           task.job, "\", \"index\": ", task.index, "}}"));
    const std::string threads = StrCat(ThreadsOf(task, options, surroundings.cores));
    environment.Set("CARILLON_THREADS", threads);
    if (environment.Get("OMP_NUM_THREADS").empty()) environment.Set("OMP_NUM_THREADS", threads);
    environment.Set(kStatusVariable, task.status_address);
    const std::string outer = environment.Get(kIdVariable);
    environment.Set(kIdVariable, StrCat(outer, outer.empty() ? "" : ":", surroundings.id));
    task.environment = environment.Take();
  }
  return tasks;
}

StatusOr<std::string> FindProgram(const std::string& name, const std::string& path,
                                  const std::string& own_folder) {
  if (name.find('/') != std::string::npos) {
    if (CanExecute(name)) return name;
    return InvalidArgument("there is no program ", name,
                           PosixEnv().Exists(name) ? ": the file cannot be executed" : "");
  }
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    const std::string candidate = JoinPath(folder.empty() ? "." : folder, name);
    if (CanExecute(candidate)) return candidate;
    begin = end + 1;
  }
  const std::string sibling = JoinPath(own_folder, name);
  if (CanExecute(sibling)) return sibling;
  return InvalidArgument(
      "there is no program ", name, ", neither in $PATH nor in ", own_folder,
      CanExecute(StrCat("./", name)) ? StrCat("; did you mean ./", name, "?") : "");
}

}  // namespace carillon::launch
