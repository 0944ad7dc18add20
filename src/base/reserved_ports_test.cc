#include "base/reserved_ports.h"

#include <gtest/gtest.h>
#include <set>

namespace carillon {
namespace {

TEST(ReservedPortsTest, NobodyElseGetsThem) {
  const auto first = ReservedPorts::Reserve(200);
  const auto second = ReservedPorts::Reserve(200);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(second.ok()) << second.status().message();
  std::set<int> all(first->numbers().begin(), first->numbers().end());
  all.insert(second->numbers().begin(), second->numbers().end());
  EXPECT_EQ(all.size(), 400u);
}

TEST(ReservedPortsTest, AreGivenBack) {
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(ReservedPorts::Reserve(1).ok());
}

TEST(ReservedPortsTest, TooManyAreAnError) {
  const auto ports = ReservedPorts::Reserve(70000);
  ASSERT_FALSE(ports.ok());
  EXPECT_EQ(ports.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace carillon
