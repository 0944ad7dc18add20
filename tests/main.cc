// The main function of all test programs. What failed is said again at the end, where nothing that
// servers log stands in between; lines for information are not logged at all (CapturedLog).
#include <cstdio>
#include <gtest/gtest.h>
#include <string>

#include "base/logging.h"

namespace {

// The first few failures; a loop has many.
void PrintFailures(const char* suite, const char* test, const testing::TestResult& result) {
  constexpr int kMost = 5;
  constexpr size_t kLongest = 4000;
  int failures = 0;
  for (int i = 0; i < result.total_part_count(); ++i) {
    const testing::TestPartResult& part = result.GetTestPartResult(i);
    if (!part.failed() || ++failures > kMost) continue;
    const std::string text = part.message();
    std::printf("\n%s.%s: %s:%d\n%s%s\n", suite, test, part.file_name() ? part.file_name() : "",
                part.line_number(), text.substr(0, kLongest).c_str(),
                text.size() > kLongest ? " … (cut)" : "");
  }
  if (failures > kMost) std::printf("\n%s.%s: %d more\n", suite, test, failures - kMost);
}

void PrintFailures(const testing::UnitTest& all) {
  std::printf("\nWhat failed:\n");
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    PrintFailures(suite.name(), "", suite.ad_hoc_test_result());
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      PrintFailures(suite.name(), test.name(), *test.result());
    }
  }
  PrintFailures("", "", all.ad_hoc_test_result());
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // in its place among what goes to stderr
  carillon::SetLogLevel(carillon::LogLevel::kWarning);
  testing::InitGoogleTest(&argc, argv);
  const int code = RUN_ALL_TESTS();
  if (code != 0) PrintFailures(*testing::UnitTest::GetInstance());
  return code;
}
