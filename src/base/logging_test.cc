#include "base/logging.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

#include "captured_log.h"

namespace carillon {
namespace {

TEST(LoggingTest, LinesHaveTimeLevelAndTask) {
  CapturedLog log;
  LogInfo("one");
  SetLogTask("worker:0");
  LogWarning("two");
  SetLogTask("50%d");
  LogError("three");
  SetLogTask("");
  LogInfo("four");
  std::string lines = log.End();
  // Digits are all alike.
  std::ranges::replace_if(
      lines, [](char c) { return c >= '0' && c <= '9'; }, 'd');
  const std::string time = "dd:dd:dd.ddd ";
  EXPECT_EQ(lines, time + "I one\n" + time + "W worker:d two\n" + time + "E dd%d three\n" + time +
                       "I four\n");
}

}  // namespace
}  // namespace carillon
