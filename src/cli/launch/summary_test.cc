#include "cli/launch/summary.h"

#include <csignal>
#include <gtest/gtest.h>

#include "report/terminal.h"

namespace carillon::launch {
namespace {

TaskReport Worker(int index) {
  TaskReport task{.name = "worker:" + std::to_string(index), .state = "runs", .seconds = 10};
  task.status.Merge(
      R"({"step": 1200, "total_steps": 5000, "loss": 0.25, "steps_per_second": 98.2})");
  return task;
}

TEST(SummaryTest, BytesHaveUnits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1234), "1.23 kB");
  EXPECT_EQ(FormatBytes(999'700), "1.00 MB");
  EXPECT_EQ(FormatBytes(12'345'678'901), "12.3 GB");
}

TEST(SummaryTest, EndsHaveNames) {
  EXPECT_EQ(DescribeEnd(0), "exit 0");
  EXPECT_EQ(DescribeEnd(3 << 8), "exit code 3");
  EXPECT_EQ(DescribeEnd(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(DescribeEnd(SIGKILL), "SIGKILL");
}

TEST(SummaryTest, TheStatusLineTellsOfTheWorkers) {
  EXPECT_EQ(StatusText({{.name = "ps:0", .is_ps = true}, Worker(0), {.name = "worker:1"}}, 12, 0),
            "0:12  worker:0 step 1,200/5,000 98.2 steps/s loss 0.2500");
  EXPECT_EQ(StatusText({{.name = "worker:0"}}, 12, 0), "");
  TaskReport failed = Worker(3);
  failed.state = "failed: SIGKILL";
  failed.has_ended = true;
  EXPECT_EQ(StatusText({failed}, 12, 0), "0:12  worker:3 failed: SIGKILL at step 1,200");
}

TEST(SummaryTest, TheStatusLineFitsItsWidth) {
  std::vector<TaskReport> tasks;
  for (int i = 0; i < 16; ++i) tasks.push_back(Worker(i));
  const std::string all = StatusText(tasks, 12, 0);
  EXPECT_NE(all.find("worker:15"), std::string::npos);
  for (int width = 20; width < 300; ++width) {
    const std::string line = StatusText(tasks, 12, width);
    EXPECT_LE(Columns(line), width) << line;
    EXPECT_TRUE(line.ends_with(" more") || line.ends_with("16 workers")) << line;
  }
  EXPECT_NE(StatusText(tasks, 12, 150).find("worker:1 "), std::string::npos);
}

TEST(SummaryTest, TheTableHasARowForEachTask) {
  TaskReport ps{.name = "ps:0", .is_ps = true, .state = "ended", .seconds = 20};
  ps.peak_rss_bytes = 30'000'000;
  ps.status.Merge(R"({"bytes_sent": 1500000, "bytes_received": 20, "server_steps": 100})");
  const std::string table = TaskTable({ps, Worker(1)}, {});
  for (const char* line :
       {"  task       state   steps   steps/s     loss      sent   received   peak RSS   time\n",
        "  ps:0       ended     100      5.00        -   1.50 MB       20 B    30.0 MB   0:20\n",
        "  worker:1   runs    1,200      98.2   0.2500         -          -        0 B   0:10\n"}) {
    EXPECT_NE(table.find(line), std::string::npos) << table;
  }
}

}  // namespace
}  // namespace carillon::launch
