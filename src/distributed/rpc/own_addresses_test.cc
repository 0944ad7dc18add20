#include "distributed/rpc/own_addresses.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(OwnAddressesTest, KnowsWhoIsOnThisMachine) {
  const OwnAddresses own;
  for (const char* peer :
       {"ipv4:127.0.0.1:4000", "ipv4:127.8.8.8:1", "ipv6:%5B::1%5D:4000", "ipv6:[::1]:4000"})
    EXPECT_TRUE(own.Contains(peer)) << peer;
  // The last ones are strange, the others documentation's: nobody has them.
  for (const char* peer : {"ipv4:192.0.2.1:4000", "ipv6:%5B2001:db8::1%5D:4000", "ipv4:", "ipv4::1",
                           "ipv6:%5B%5D:1", "ipv6:]:[", "unix:/run/127.0.0.1:1", "127.0.0.1:1", ""})
    EXPECT_FALSE(own.Contains(peer)) << peer;
}

}  // namespace
}  // namespace carillon
