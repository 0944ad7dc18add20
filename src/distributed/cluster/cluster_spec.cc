#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "base/throw.h"
#include "carillon/cluster.h"

namespace carillon {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

// The parts between the separators, trimmed; empty ones are left out.
std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (const std::string_view part = Trim(text.substr(0, end)); !part.empty())
      parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Whether the whole text is a number from 0 to `most`.
bool ParseNumber(std::string_view text, int most, int* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number >= 0 &&
         *number <= most;
}

Struct ParseObject(std::string_view what, std::string_view json) {
  Struct object;
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(json), &object);
  if (!status.ok()) {
    Throw(InvalidArgument(what, " is no JSON object: ", std::string(status.message()), "; it is '",
                          json, "'"));
  }
  return object;
}

const Value* Find(const Struct& object, const std::string& key) {
  const auto found = object.fields().find(key);
  return found == object.fields().end() ? nullptr : &found->second;
}

std::string TextOf(const Value& value, std::string_view what) {
  if (value.kind_case() != Value::kStringValue) Throw(InvalidArgument(what, " must be a string"));
  return value.string_value();
}

std::string TextAt(const Struct& object, const std::string& key, std::string_view what) {
  const Value* value = Find(object, key);
  if (value == nullptr || value->kind_case() == Value::kNullValue) return "";
  return TextOf(*value, StrCat(what, " '", key, "'"));
}

int IndexOf(std::string_view text, std::string_view what) {
  int index = 0;
  if (!ParseNumber(text, INT32_MAX, &index))
    Throw(InvalidArgument(what, " '", text, "' is no number from 0 on"));
  return index;
}

void CheckJob(const std::string& job) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_inner = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (job.empty() || !is_letter(job[0]) || !std::ranges::all_of(job, is_inner)) {
    Throw(InvalidArgument("'", job,
                          "' cannot be the name of a job: a letter, then letters, digits and _"));
  }
}

// host:port, where the host may be an IPv6 address in brackets.
void CheckAddress(const std::string& job, int task, const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !ParseNumber(std::string_view(address).substr(colon + 1), 65535, &port)) {
    Throw(InvalidArgument("task ", task, " of job '", job, "' has the address '", address,
                          "'; expected host:port"));
  }
}

ClusterSpec::Tasks TasksOf(const std::string& job, const Value& value) {
  ClusterSpec::Tasks tasks;
  const std::string what = StrCat("an address of job '", job, "'");
  if (value.kind_case() == Value::kListValue) {
    for (const Value& address : value.list_value().values())
      tasks.emplace(static_cast<int>(tasks.size()), TextOf(address, what));
  } else if (value.kind_case() == Value::kStructValue) {
    for (const auto& [index, address] : value.struct_value().fields())
      tasks.emplace(IndexOf(index, StrCat("in job '", job, "' the task")), TextOf(address, what));
  } else {
    Throw(InvalidArgument("job '", job,
                          "' must be an array of addresses, or an object of addresses by task"));
  }
  return tasks;
}

ClusterSpec SpecOf(const Struct& object) {
  ClusterSpec spec;
  for (const auto& [job, tasks] : object.fields()) spec.AddJob(job, TasksOf(job, tasks));
  return spec;
}

}  // namespace

ClusterSpec::ClusterSpec(
    std::initializer_list<std::pair<std::string, std::vector<std::string>>> jobs) {
  for (const auto& [job, addresses] : jobs) AddJob(job, addresses);
}

ClusterSpec ClusterSpec::FromJson(std::string_view json) {
  return SpecOf(ParseObject("the cluster", json));
}

ClusterSpec ClusterSpec::FromFlag(std::string_view text) {
  if (Trim(text).starts_with("{")) return FromJson(text);
  ClusterSpec spec;
  for (const std::string& job : Split(text, ',')) {
    const size_t bar = job.find('|');
    if (bar == std::string::npos) {
      Throw(InvalidArgument("'", job, "' in the cluster '", text,
                            "': expected JOB|HOST:PORT;HOST:PORT, jobs separated by commas"));
    }
    const std::string name(Trim(std::string_view(job).substr(0, bar)));
    if (spec.HasJob(name)) Throw(InvalidArgument("job '", name, "' is given twice: '", text, "'"));
    spec.AddJob(name, Split(std::string_view(job).substr(bar + 1), ';'));
  }
  return spec;
}

void ClusterSpec::AddJob(const std::string& job, const std::vector<std::string>& addresses) {
  Tasks tasks;
  for (const std::string& address : addresses)
    tasks.emplace(static_cast<int>(tasks.size()), address);
  AddJob(job, std::move(tasks));
}

void ClusterSpec::AddJob(const std::string& job, Tasks tasks) {
  CheckJob(job);
  for (const auto& [task, address] : tasks) {
    if (task < 0)
      Throw(InvalidArgument("job '", job, "' has a task ", task, ": they count from 0"));
    CheckAddress(job, task, address);
  }
  jobs_[job] = std::move(tasks);
}

std::vector<std::string> ClusterSpec::jobs() const {
  std::vector<std::string> names;
  for (const auto& [job, tasks] : jobs_) names.push_back(job);
  return names;
}

int ClusterSpec::num_tasks(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? 0 : static_cast<int>(found->second.size());
}

const ClusterSpec::Tasks& ClusterSpec::tasks(const std::string& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    Throw(InvalidArgument("there is no job '", job, "' in the cluster; it has ",
                          jobs_.empty() ? "none" : absl::StrJoin(jobs(), ", ")));
  }
  return found->second;
}

const std::string& ClusterSpec::address(const std::string& job, int task) const {
  const Tasks& all = tasks(job);
  const auto found = all.find(task);
  if (found == all.end()) {
    std::vector<int> indices;
    for (const auto& [index, address] : all) indices.push_back(index);
    Throw(InvalidArgument("there is no task ", task, " in job '", job, "'; it has ",
                          indices.empty() ? "none" : absl::StrJoin(indices, ", ")));
  }
  return found->second;
}

std::string ClusterSpec::ToJson() const {
  const auto quoted = [](const std::string& text) {
    // Addresses and names hold nothing that JSON would escape, but for what a user made up.
    std::string result = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result + "\"";
  };
  std::vector<std::string> all;
  for (const auto& [job, tasks] : jobs_) {
    const bool dense = tasks.empty() || tasks.rbegin()->first + 1 == static_cast<int>(tasks.size());
    std::vector<std::string> addresses;
    for (const auto& [task, address] : tasks)
      addresses.push_back(dense ? quoted(address) : StrCat("\"", task, "\": ", quoted(address)));
    all.push_back(StrCat(quoted(job), ": ", dense ? "[" : "{", absl::StrJoin(addresses, ", "),
                         dense ? "]" : "}"));
  }
  return StrCat("{", absl::StrJoin(all, ", "), "}");
}

std::vector<std::string> SplitHosts(std::string_view hosts) { return Split(hosts, ','); }

namespace {

void CheckChief(const TaskConfig& config) {
  for (const char* one : {"chief", "master", "evaluator"}) {
    if (config.cluster.num_tasks(one) > 1) {
      Throw(InvalidArgument("TF_CONFIG: job '", one, "' has ", config.cluster.num_tasks(one),
                            " tasks; there can be only one"));
    }
  }
  if (!config.cluster.HasJob("master")) return;
  if (config.cluster.HasJob("chief"))
    Throw(
        InvalidArgument("TF_CONFIG has both a job 'chief' and a job 'master': they are the same"));
  if (config.job == "evaluator")
    Throw(InvalidArgument("TF_CONFIG: a cluster with a job 'master' has no evaluator"));
}

}  // namespace

TaskConfig TaskConfig::FromJson(std::string_view json) {
  TaskConfig config;
  if (Trim(json).empty()) return config;
  const Struct object = ParseObject("TF_CONFIG", json);
  if (const Value* cluster = Find(object, "cluster"); cluster != nullptr) {
    if (cluster->kind_case() != Value::kStructValue)
      Throw(InvalidArgument("TF_CONFIG: 'cluster' must be an object of jobs"));
    config.cluster = SpecOf(cluster->struct_value());
  }
  config.environment = TextAt(object, "environment", "TF_CONFIG:");
  config.session_master = TextAt(object, "session_master", "TF_CONFIG:");
  config.model_dir = TextAt(object, "model_dir", "TF_CONFIG:");
  const Value* task = Find(object, "task");
  if (task != nullptr && task->kind_case() != Value::kStructValue)
    Throw(InvalidArgument("TF_CONFIG: 'task' must be an object with 'type' and 'index'"));
  if (task != nullptr) {
    const Struct& me = task->struct_value();
    if (Find(me, "type") != nullptr) config.job = TextAt(me, "type", "TF_CONFIG: task");
    if (const Value* index = Find(me, "index"); index != nullptr) {
      const double number = index->number_value();
      if (index->kind_case() == Value::kStringValue) {
        config.task = IndexOf(index->string_value(), "TF_CONFIG: the task's index");
      } else if (index->kind_case() == Value::kNumberValue && number >= 0 && number < 1e9 &&
                 number == static_cast<int>(number)) {
        config.task = static_cast<int>(number);
      } else {
        Throw(InvalidArgument("TF_CONFIG: the task's 'index' must be a number from 0 on"));
      }
    }
  }
  if (config.cluster.empty()) {
    if (config.job != "worker" || config.task != 0) {
      Throw(InvalidArgument("TF_CONFIG names task ", config.task, " of job '", config.job,
                            "' but no cluster; without one there is only worker 0"));
    }
    return config;
  }
  if (task == nullptr || Find(task->struct_value(), "type") == nullptr ||
      Find(task->struct_value(), "index") == nullptr) {
    Throw(
        InvalidArgument("TF_CONFIG has a cluster but does not say which task this is: add "
                        "\"task\": {\"type\": ..., \"index\": ...}"));
  }
  CheckChief(config);
  if (config.job == "evaluator") {
    config.cluster = {};  // it stands outside
  } else {
    config.cluster.address(config.job, config.task);
  }
  return config;
}

TaskConfig TaskConfig::FromEnvironment() {
  const char* text = std::getenv("TF_CONFIG");
  return FromJson(text == nullptr ? "" : text);
}

bool TaskConfig::is_chief() const {
  if (job == "evaluator" || job == "ps") return false;
  for (const char* chief : {"chief", "master"}) {
    if (cluster.HasJob(chief)) return job == chief && task == 0;
  }
  return job == "worker" && task == 0;
}

}  // namespace carillon
