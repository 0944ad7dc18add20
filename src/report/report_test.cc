#include "carillon/report.h"

#include <gtest/gtest.h>
#include <limits>
#include <signal.h>

#include "report/progress.h"
#include "report/terminal.h"

namespace carillon {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(FormatTest, Counts) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(-1234567), "-1,234,567");
  EXPECT_EQ(FormatCount(-123), "-123");
}

TEST(FormatTest, Durations) {
  EXPECT_EQ(FormatDuration(0.2), "0:00");
  EXPECT_EQ(FormatDuration(59.6), "1:00");
  EXPECT_EQ(FormatDuration(3723), "1:02:03");
  EXPECT_EQ(FormatDuration(kNan), "?");
  EXPECT_EQ(FormatDuration(-1), "?");
}

TEST(FormatTest, Numbers) {
  EXPECT_EQ(FormatNumber(0), "0.0000");
  EXPECT_EQ(FormatNumber(0.04321), "0.0432");
  EXPECT_EQ(FormatNumber(38.21), "38.2");
  EXPECT_EQ(FormatPercent(0.99274), "99.27 %");
  EXPECT_EQ(FormatNumber(999.7), "1,000");
  EXPECT_EQ(FormatNumber(3820.4), "3,820");
  EXPECT_EQ(FormatNumber(1.5e-7), "1.5e-07");
  EXPECT_EQ(FormatNumber(kNan), "nan");
  EXPECT_EQ(FormatNumber(-std::numeric_limits<double>::infinity()), "-inf");
}

ProgressState Halfway() {
  ProgressState state;
  state.step = 500;
  state.total_steps = 1000;
  state.steps_per_second = 50;
  state.examples_per_second = 5000;
  state.loss = 0.125;
  state.seconds = 10;
  return state;
}

TEST(ProgressTest, APlainLineHasAllFacts) {
  EXPECT_EQ(ProgressLine(Halfway()),
            "step 500/1000 (50%)  loss 0.1250  50.0 steps/s  5,000 examples/s  ETA 0:10");
  ProgressState open;
  open.step = 7;
  open.seconds = 61;
  EXPECT_EQ(ProgressLine(open), "step 7  1:01");
  open.loss = kNan;
  EXPECT_EQ(ProgressLine(open), "step 7  loss nan  1:01") << "a diverged run must be seen";
}

TEST(ProgressTest, TheBarFitsTheTerminalWhateverItsWidth) {
  for (int width = 20; width < 160; ++width) {
    const std::string bar = ProgressBar(Halfway(), {.width = width});
    EXPECT_LT(Columns(bar), width) << bar;
    EXPECT_NE(bar.find("500/1,000"), std::string::npos) << bar;
  }
  // All facts are on a line of the usual width; the bar wants more.
  const std::string usual = ProgressBar(Halfway(), {.width = 80});
  const std::string wide = ProgressBar(Halfway(), {.width = 120});
  for (const char* part : {"loss 0.1250", "ETA 0:10", "50.0 steps/s", "5,000 examples/s"}) {
    EXPECT_NE(usual.find(part), std::string::npos) << part << " in " << usual;
    EXPECT_NE(wide.find(part), std::string::npos) << part << " in " << wide;
  }
  EXPECT_NE(wide.find("50%"), std::string::npos) << wide;
}

TEST(ProgressTest, WritesPlainLinesToAFileAndCountsWhatItShould) {
  std::FILE* file = std::tmpfile();
  {
    Progress progress({.total_steps = 4,
                       .first_step = 2,
                       .batch_size = 10,
                       .seconds_between_lines = 0,
                       .stream = file});
    progress.Update(3, 1.5);
    progress.PrintLine("a note");
    progress.Pause();
    const double paused_at = progress.seconds();
    EXPECT_EQ(progress.seconds(), paused_at);
    progress.Resume();
    progress.Update(4);
    progress.Finish();
    progress.Finish();
    EXPECT_EQ(progress.steps(), 2);
    EXPECT_NEAR(progress.examples_per_second(), 10 * progress.steps_per_second(), 1e-9);
  }
  std::rewind(file);
  std::vector<std::string> lines;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) lines.emplace_back(line);
  std::fclose(file);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[0].starts_with("step 3/4 (75%)  loss 1.50")) << lines[0];
  EXPECT_EQ(lines[1], "a note\n");
  EXPECT_TRUE(lines[2].starts_with("step 4/4 (100%)  loss 1.50")) << lines[2];
  EXPECT_NE(lines[3].find("took"), std::string::npos) << lines[3];
}

TEST(TableTest, AlignsTextLeftAndNumbersRight) {
  Table table("", {"kernel", "ms"});
  table.Row({"conv", "3.21"}).Row({"é", "12"}).Row({"none"});
  EXPECT_EQ(table.ToText(),
            "  kernel     ms\n"
            "  ─────────────\n"
            "  conv     3.21\n"
            "  é          12\n"
            "  none\n");
}

TEST(TableTest, HasATitle) {
  Table table("a title");
  table.Row({"a", "b"});
  EXPECT_EQ(table.ToText(), "  a title\n  ───────\n  a   b\n");
  EXPECT_NE(table.ToText({.color = true}).find(kBold), std::string::npos);
}

TEST(JsonTest, WritesOneLineOfValidJson) {
  JsonObject inner;
  inner.Add("x", 1);
  EXPECT_EQ(JsonObject()
                .Add("steps", int64_t{1} << 60)
                .Add("loss", 0.1)
                .Add("nothing", kNan)
                .Add("yes", true)
                .Add("name", "a \"quote\"\n\x01\\ é")
                .Add("inner", inner)
                .Add("values", std::vector<double>{1, 2.5, 1e300})
                .Add("names", std::vector<std::string>{"a", "b"})
                .Add("objects", std::vector<JsonObject>{inner, inner})
                .ToString(),
            R"({"steps": 1152921504606846976, "loss": 0.1, "nothing": null, "yes": true, )"
            R"("name": "a \"quote\"\n\u0001\\ é", "inner": {"x": 1}, "values": [1, 2.5, 1e+300], )"
            R"("names": ["a", "b"], "objects": [{"x": 1}, {"x": 1}]})");
  EXPECT_EQ(JsonObject().ToString(), "{}");
}

TEST(RunSummaryTest, SaysItForPeopleAndForPrograms) {
  RunSummary summary;
  summary.title = "mnist_cnn on digits";
  summary.steps = 1200;
  summary.seconds = 40;
  summary.steps_per_second = 30;
  summary.examples_per_second = 3000;
  summary.loss = 0.05;
  summary.accuracy = 0.98765;
  summary.peak_rss_mb = 200;
  EXPECT_EQ(summary.ToText(),
            "  mnist_cnn on digits\n"
            "  ────────────────────────────────\n"
            "  test accuracy            98.77 %\n"
            "  training loss             0.0500\n"
            "  steps                      1,200\n"
            "  time                      40.0 s\n"
            "  speed               30.0 steps/s\n"
            "                  3,000 examples/s\n"
            "  peak memory               200 MB\n");
  EXPECT_EQ(
      summary.ToJson().ToString(),
      R"({"steps": 1200, "seconds": 40, "steps_per_second": 30, "examples_per_second": 3000, )"
      R"("loss": 0.05, "accuracy": 0.98765, "peak_rss_mb": 200})");
  summary.interrupted = true;
  EXPECT_NE(summary.ToText().find("1,200 (interrupted)"), std::string::npos);
}

TEST(ProcessTest, PeakMemoryGrowsWithUse) {
  const double before = PeakRssMb();
  EXPECT_GT(before, 1);
  std::vector<char> block(200'000'000, 1);
  EXPECT_GT(block[12345] + PeakRssMb(), before + 100);
}

TEST(InterruptTest, TheFirstSignalIsARequest) {
  {
    Interrupt interrupt;
    EXPECT_FALSE(interrupt.requested());
    ::raise(SIGINT);
    EXPECT_TRUE(interrupt.requested());
  }
  Interrupt again;
  EXPECT_FALSE(again.requested());
}

TEST(InterruptDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        Interrupt interrupt;
        ::raise(SIGINT);
        ::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "Ctrl-C again");
}

}  // namespace
}  // namespace carillon
