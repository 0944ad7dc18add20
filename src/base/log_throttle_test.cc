#include "base/log_throttle.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(LogThrottleTest, LeavesOutWhatIsTooMuchAndSaysSo) {
  LogThrottle throttle;
  const auto begin = LogThrottle::Clock::now();
  for (int i = 0; i < LogThrottle::kLines; ++i) EXPECT_EQ(throttle.Take(begin), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(throttle.Take(begin), std::nullopt);
  EXPECT_EQ(throttle.Take(begin + LogThrottle::kPeriod), 3);
  EXPECT_EQ(throttle.Take(begin + LogThrottle::kPeriod), 0);
}

}  // namespace
}  // namespace carillon
