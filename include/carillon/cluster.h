// Who takes part in a job, and where.
//
//   ClusterSpec cluster{{"ps", {"ps0:2222"}}, {"worker", {"w0:2222", "w1:2222"}}};
//   TaskConfig me = TaskConfig::FromEnvironment();  // TF_CONFIG
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace carillon {

// Jobs by name, each with the addresses (host:port) of its tasks. A value: copy it freely. What
// cannot be is refused with Error(InvalidArgument), which names job, task and address.
class ClusterSpec {
 public:
  using Tasks = std::map<int, std::string>;  // some indices may be missing

  ClusterSpec() = default;
  ClusterSpec(std::initializer_list<std::pair<std::string, std::vector<std::string>>> jobs);
  // {"ps": ["h:1", "h:2"], "worker": {"3": "h:4"}}: an array, or an object by index.
  static ClusterSpec FromJson(std::string_view json);
  // "ps|h:1;h:2,worker|h:3", or JSON when it begins with a brace: what --cluster takes.
  static ClusterSpec FromFlag(std::string_view text);

  // An empty list makes a job without tasks.
  void AddJob(const std::string& job, const std::vector<std::string>& addresses);
  void AddJob(const std::string& job, Tasks tasks);

  bool empty() const { return jobs_.empty(); }
  std::vector<std::string> jobs() const;  // by name
  bool HasJob(const std::string& job) const { return jobs_.contains(job); }
  // Of tasks that have an address; 0 for a job that does not exist.
  int num_tasks(const std::string& job) const;
  // Errors name the jobs, or the tasks, that there are.
  const Tasks& tasks(const std::string& job) const;
  const std::string& address(const std::string& job, int task) const;

  // The one that FromJson reads; indices without gaps become an array.
  std::string ToJson() const;
  bool operator==(const ClusterSpec&) const = default;

 private:
  std::map<std::string, Tasks> jobs_;
};

// "h:1,h:2" as --ps_hosts takes it: empty parts are left out.
std::vector<std::string> SplitHosts(std::string_view hosts);

// What the variable TF_CONFIG says about a cluster and the task that reads it.
struct TaskConfig {
  ClusterSpec cluster;
  std::string job = "worker";
  int task = 0;
  // "google": somebody else has started the servers.
  std::string environment;
  // Where sessions connect, when that is not this task's own server.
  std::string session_master;
  std::string model_dir;

  // Error(InvalidArgument) quotes what is wrong. No text, or no cluster in it, is one local worker.
  static TaskConfig FromJson(std::string_view json);
  static TaskConfig FromEnvironment();

  // The task that initialises and saves: the job "chief" or "master" if there is one, else worker
  // 0. An evaluator is nobody's chief.
  bool is_chief() const;
};

}  // namespace carillon
