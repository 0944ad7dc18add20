#include "distributed/serving/own_addresses.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>

namespace carillon {
namespace {

TEST(OwnAddressesTest, KnowsWhoIsOnThisMachine) {
  const OwnAddresses own;
  for (const char* host : {"127.0.0.1", "127.8.8.8", "::1"})
    EXPECT_TRUE(own.Contains(host)) << host;
  // Those of documentation, and none: nobody has them.
  for (const char* host : {"192.0.2.1", "2001:db8::1", ""})
    EXPECT_FALSE(own.Contains(host)) << host;
}

// A neighbour may have the same address as this machine, on another of its networks.
TEST(OwnAddressesTest, AddressesOfOneNetworkAreNobodys) {
  const OwnAddresses own;
  ifaddrs* interfaces = nullptr;
  ASSERT_EQ(getifaddrs(&interfaces), 0);
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET6) continue;
    const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
    char host[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, &address, host, sizeof(host));
    EXPECT_EQ(own.Contains(host), !IN6_IS_ADDR_LINKLOCAL(&address)) << host;
  }
  freeifaddrs(interfaces);
}

}  // namespace
}  // namespace carillon
