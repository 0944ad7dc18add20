#include <cstdlib>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "carillon/cluster.h"
#include "carillon/error.h"

namespace carillon {
namespace {

template <typename Body>
std::string ErrorOf(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.what();
  }
  return "";
}

#define EXPECT_REFUSED(text, ...)                                                   \
  do {                                                                              \
    const std::string message = ErrorOf([&] { __VA_ARGS__; });                      \
    EXPECT_NE(message.find(text), std::string::npos) << "the message: " << message; \
  } while (false)

TEST(ClusterSpec, ListsJobsAndTasks) {
  const ClusterSpec spec{{"worker", {"w0:1", "w1:2"}}, {"ps", {"p0:3"}}};
  EXPECT_FALSE(spec.empty());
  EXPECT_EQ(spec.jobs(), (std::vector<std::string>{"ps", "worker"}));
  EXPECT_EQ(spec.num_tasks("worker"), 2);
  EXPECT_EQ(spec.num_tasks("chief"), 0);
  EXPECT_EQ(spec.address("worker", 1), "w1:2");
  EXPECT_TRUE(ClusterSpec().empty());
}

TEST(ClusterSpec, SparseAndEmptyJobs) {
  ClusterSpec spec;
  spec.AddJob("worker", ClusterSpec::Tasks{{0, "a:1"}, {3, "b:2"}});
  spec.AddJob("ps", std::vector<std::string>{});
  EXPECT_EQ(spec.num_tasks("worker"), 2);
  EXPECT_EQ(spec.address("worker", 3), "b:2");
  EXPECT_EQ(spec.ToJson(), R"({"ps": [], "worker": {"0": "a:1", "3": "b:2"}})");
  EXPECT_REFUSED("no task 1 in job 'worker'; it has 0, 3", spec.address("worker", 1));
  EXPECT_REFUSED("no job 'chief' in the cluster; it has ps, worker", spec.address("chief", 0));
}

TEST(ClusterSpec, JsonAndFlagsSayTheSame) {
  const ClusterSpec spec{{"ps", {"p0:1", "p1:2"}}, {"worker", {"[::1]:3"}}};
  EXPECT_EQ(ClusterSpec::FromJson(spec.ToJson()), spec);
  EXPECT_EQ(ClusterSpec::FromFlag(spec.ToJson()), spec);
  EXPECT_EQ(ClusterSpec::FromFlag("ps|p0:1;p1:2,worker|[::1]:3"), spec);
  EXPECT_EQ(ClusterSpec::FromFlag(" ps | p0:1 ; p1:2 , worker|[::1]:3"), spec);
  EXPECT_EQ(ClusterSpec::FromJson(R"({"worker": {"2": "h:4"}})").address("worker", 2), "h:4");
  EXPECT_TRUE(ClusterSpec::FromFlag("").empty());
  EXPECT_EQ(SplitHosts("a:1,,b:2, c:3"), (std::vector<std::string>{"a:1", "b:2", "c:3"}));
}

TEST(ClusterSpec, SaysWhatIsWrong) {
  EXPECT_REFUSED("task 0 of job 'ps' has the address 'host'; expected host:port",
                 (ClusterSpec{{"ps", {"host"}}}));
  EXPECT_REFUSED("'host:99999'", (ClusterSpec{{"ps", {"host:99999"}}}));
  EXPECT_REFUSED("'1st' cannot be the name of a job", (ClusterSpec{{"1st", {"h:1"}}}));
  EXPECT_REFUSED("no JSON object", ClusterSpec::FromJson("[1]"));
  EXPECT_REFUSED("'-1' is no number from 0 on", ClusterSpec::FromJson(R"({"ps": {"-1": "h:1"}})"));
  EXPECT_REFUSED("must be an array of addresses", ClusterSpec::FromJson(R"({"ps": "h:1"})"));
  EXPECT_REFUSED("must be a string", ClusterSpec::FromJson(R"({"ps": [1]})"));
  EXPECT_REFUSED("expected JOB|HOST:PORT", ClusterSpec::FromFlag("h:1,h:2"));
  EXPECT_REFUSED("job 'ps' is given twice", ClusterSpec::FromFlag("ps|h:1,ps|h:2"));
}

TEST(TaskConfig, ReadsTheVariable) {
  const TaskConfig config = TaskConfig::FromJson(
      R"({"cluster": {"chief": ["c:1"], "ps": ["p:2"], "worker": ["w:3"]},
          "task": {"type": "worker", "index": 0}, "model_dir": "/m", "environment": "cloud",
          "session_master": "grpc://s:4", "eval_session_master": "", "rpc_layer": "grpc",
          "service": {"any": ["thing"]}})");
  EXPECT_EQ(config.job, "worker");
  EXPECT_EQ(config.task, 0);
  EXPECT_EQ(config.cluster.address("ps", 0), "p:2");
  EXPECT_EQ(config.model_dir, "/m");
  EXPECT_EQ(config.environment, "cloud");
  EXPECT_EQ(config.session_master, "grpc://s:4");
  EXPECT_FALSE(config.is_chief());  // there is one
}

TEST(TaskConfig, ChiefIsWorkerZeroUnlessThereIsOne) {
  const auto is_chief = [](const std::string& jobs, const std::string& job, int task) {
    return TaskConfig::FromJson(StrCat(R"({"cluster": {)", jobs, R"(}, "task": {"type": ")", job,
                                       R"(", "index": ")", task, R"("}})"))
        .is_chief();
  };
  const std::string plain = R"("ps": ["p:1"], "worker": ["w:2", "w:3"])";
  EXPECT_TRUE(is_chief(plain, "worker", 0));
  EXPECT_FALSE(is_chief(plain, "worker", 1));
  EXPECT_FALSE(is_chief(plain, "ps", 0));
  EXPECT_FALSE(is_chief(plain, "evaluator", 0));
  EXPECT_TRUE(is_chief(plain + R"(, "master": ["m:4"])", "master", 0));
  EXPECT_FALSE(is_chief(plain + R"(, "master": ["m:4"])", "worker", 0));
}

TEST(TaskConfig, NothingIsOneLocalWorker) {
  for (const char* text : {"", "  ", "{}", R"({"task": {"type": "worker", "index": 0}})"}) {
    const TaskConfig config = TaskConfig::FromJson(text);
    EXPECT_TRUE(config.cluster.empty());
    EXPECT_EQ(config.job, "worker");
    EXPECT_TRUE(config.is_chief());
  }
  unsetenv("TF_CONFIG");
  EXPECT_TRUE(TaskConfig::FromEnvironment().cluster.empty());
  setenv("TF_CONFIG", R"({"cluster": {"ps": ["p:1"]}, "task": {"type": "ps", "index": 0}})", 1);
  EXPECT_EQ(TaskConfig::FromEnvironment().job, "ps");
  unsetenv("TF_CONFIG");
}

TEST(TaskConfig, SaysWhatIsWrong) {
  EXPECT_REFUSED("TF_CONFIG is no JSON object", TaskConfig::FromJson("{"));
  EXPECT_REFUSED("'cluster' must be an object", TaskConfig::FromJson(R"({"cluster": []})"));
  EXPECT_REFUSED("but no cluster", TaskConfig::FromJson(R"({"task": {"type": "ps", "index": 0}})"));
  EXPECT_REFUSED("does not say which task",
                 TaskConfig::FromJson(R"({"cluster": {"ps": ["p:1"]}})"));
  EXPECT_REFUSED(
      "no task 1 in job 'ps'",
      TaskConfig::FromJson(R"({"cluster": {"ps": ["p:1"]}, "task": {"type": "ps", "index": 1}})"));
  EXPECT_REFUSED(
      "'index' must be a number",
      TaskConfig::FromJson(R"({"cluster": {"ps": ["p:1"]}, "task": {"type": "ps", "index": -1}})"));
}

TEST(TaskConfig, ThereIsOneChief) {
  const auto read = [](const std::string& jobs, const std::string& task) {
    return TaskConfig::FromJson(StrCat(R"({"cluster": {)", jobs, R"(}, "task": {)", task, "}}"));
  };
  const std::string ps = R"("type": "ps", "index": 0)";
  EXPECT_REFUSED("only one", read(R"("chief": ["a:1", "b:2"], "ps": ["p:3"])", ps));
  EXPECT_REFUSED("only one", read(R"("evaluator": ["a:1", "b:2"], "ps": ["p:3"])", ps));
  EXPECT_REFUSED("both", read(R"("chief": ["a:1"], "master": ["b:2"], "ps": ["p:3"])", ps));
  EXPECT_REFUSED("evaluator",
                 read(R"("master": ["b:2"], "ps": ["p:3"])", R"("type": "evaluator", "index": 0)"));
  EXPECT_REFUSED("does not say which task", read(R"("ps": ["p:3"])", R"("index": 0)"));
  EXPECT_REFUSED("does not say which task", read(R"("ps": ["p:3"])", R"("type": "ps")"));
}

TEST(TaskConfig, AnEvaluatorStandsOutsideOfTheCluster) {
  const TaskConfig config = TaskConfig::FromJson(
      R"({"cluster": {"chief": ["c:1"], "worker": ["w:2"]},
          "task": {"type": "evaluator", "index": 0}})");
  EXPECT_TRUE(config.cluster.empty());
  EXPECT_EQ(config.job, "evaluator");
  EXPECT_FALSE(config.is_chief());
}

}  // namespace
}  // namespace carillon
