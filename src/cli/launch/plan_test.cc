#include "cli/launch/plan.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace carillon::launch {
namespace {

using Strings = std::vector<std::string>;

Surroundings SomeSurroundings(int tasks) {
  Surroundings surroundings{.program = "/bin/prog", .cores = 8, .id = "77"};
  for (int i = 0; i < tasks; ++i) surroundings.ports.push_back(5000 + i);
  surroundings.environment = {"HOME=/home/me", "TF_CONFIG=old"};
  return surroundings;
}

std::vector<TaskPlan> Plan(Options options, Strings environment = {}) {
  options.command = {"prog", "--steps", "5"};
  Surroundings surroundings = SomeSurroundings(NumTasks(options));
  for (const std::string& variable : environment) surroundings.environment.push_back(variable);
  return PlanTasks(options, surroundings);
}

// The value of a variable that must be there once.
std::string Variable(const TaskPlan& task, const std::string& name) {
  std::string value = "(not set)";
  int times = 0;
  for (const std::string& v : task.environment) {
    if (!v.starts_with(name + "=")) continue;
    value = v.substr(name.size() + 1);
    ++times;
  }
  return times > 1 ? "(set twice)" : value;
}

TEST(PlanTest, TasksGetTheFourFlagsAfterTheirArguments) {
  const auto tasks = Plan({.ps = 1, .workers = 2});
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].name(), "ps:0");
  EXPECT_EQ(tasks[2].name(), "worker:1");
  EXPECT_EQ(tasks[2].program, "/bin/prog");
  EXPECT_EQ(tasks[2].arguments, (Strings{"prog", "--steps", "5", "--ps_hosts=127.0.0.1:5000",
                                         "--worker_hosts=127.0.0.1:5001,127.0.0.1:5002",
                                         "--job_name=worker", "--task_index=1"}));
}

TEST(PlanTest, FlagsCanBeLeftOutAndMakeNoSenseWithAChief) {
  EXPECT_EQ(Plan({.flags = false})[0].arguments, (Strings{"prog", "--steps", "5"}));
  const auto tasks = Plan({.ps = 1, .workers = 1, .chief = true});
  EXPECT_EQ(tasks[1].name(), "chief:0");
  EXPECT_EQ(tasks[1].arguments, (Strings{"prog", "--steps", "5"}));
  const auto config = nlohmann::json::parse(Variable(tasks[1], "TF_CONFIG"));
  EXPECT_EQ(config["cluster"]["chief"][0], "127.0.0.1:5001");
  EXPECT_TRUE(TaskConfig::FromJson(Variable(tasks[1], "TF_CONFIG")).is_chief());
  EXPECT_FALSE(TaskConfig::FromJson(Variable(tasks[2], "TF_CONFIG")).is_chief());
}

TEST(PlanTest, TheEnvironmentSaysWhoATaskIs) {
  const auto tasks = Plan({.ps = 1, .workers = 2});
  const TaskConfig config = TaskConfig::FromJson(Variable(tasks[2], "TF_CONFIG"));
  EXPECT_EQ(config.job, "worker");
  EXPECT_EQ(config.task, 1);
  EXPECT_EQ(config.cluster.address("worker", 1), "127.0.0.1:5002");
  EXPECT_EQ(config.cluster.num_tasks("ps"), 1);
  EXPECT_EQ(Variable(tasks[2], "HOME"), "/home/me");
  EXPECT_EQ(Variable(tasks[2], "CARILLON_STATUS"), tasks[2].status_address);
  EXPECT_NE(tasks[1].status_address, tasks[2].status_address);
  EXPECT_EQ(Variable(tasks[2], kIdVariable), "77");
  EXPECT_EQ(Variable(Plan({}, {StrCat(kIdVariable, "=12")})[0], kIdVariable), "12:77");
}

TEST(PlanTest, TasksOfAKindShareTheCores) {
  const auto threads = [](Options options, size_t task) {
    return Variable(Plan(options)[task], "CARILLON_THREADS");
  };
  EXPECT_EQ(threads({.ps = 1, .workers = 3}, 0), "8");
  EXPECT_EQ(threads({.ps = 1, .workers = 3}, 1), "2");
  EXPECT_EQ(threads({.ps = 1, .workers = 3, .chief = true}, 1), "2");
  EXPECT_EQ(threads({.ps = 0, .workers = 20}, 5), "1");
  EXPECT_EQ(threads({.ps = 1, .workers = 3, .threads = 5}, 0), "5");
  EXPECT_EQ(Variable(Plan({.ps = 1, .workers = 4})[2], "OMP_NUM_THREADS"), "2");
  EXPECT_EQ(Variable(Plan({}, {"OMP_NUM_THREADS=7"})[2], "OMP_NUM_THREADS"), "7");
}

TEST(PlanTest, JobsWithoutTasksAreLeftOut) {
  const auto tasks = Plan({.ps = 0, .workers = 1});
  EXPECT_EQ(tasks[0].arguments[3], "--ps_hosts=");
  EXPECT_FALSE(TaskConfig::FromJson(Variable(tasks[0], "TF_CONFIG")).cluster.HasJob("ps"));
}

TEST(FindProgramTest, LooksInThePathAndBesideTheTool) {
  EXPECT_EQ(*FindProgram("sh", "/nowhere:/bin", "/"), "/bin/sh");
  EXPECT_EQ(*FindProgram("sh", "", "/bin"), "/bin/sh");
  EXPECT_EQ(*FindProgram("/bin/sh", "", ""), "/bin/sh");
  const Status missing = FindProgram("no-such-program", "/bin", "/opt/here").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(missing.message().find("neither in $PATH nor in /opt/here"), std::string::npos);
  EXPECT_FALSE(FindProgram("/etc/passwd", "", "").ok()) << "no program, though a file";
  EXPECT_FALSE(FindProgram("/bin", "", "").ok());
  EXPECT_FALSE(FindProgram("", "/bin", "/bin").ok());
}

}  // namespace
}  // namespace carillon::launch
