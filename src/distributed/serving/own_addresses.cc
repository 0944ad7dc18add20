#include "distributed/serving/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "base/strings.h"

namespace carillon {
namespace {

struct SocketAddress {
  std::string host;  // empty: neither IPv4 nor IPv6
  int port = 0;
};

// An IPv4 address is written as such even where it comes as one of IPv6.
SocketAddress EndpointOf(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    return {text, ntohs(v4->sin_port)};
  }
  if (address->sa_family != AF_INET6) return {};
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
    inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, text, sizeof(text));
  } else {
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
  }
  return {text, ntohs(v6->sin6_port)};
}

SocketAddress PeerEndpoint(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return EndpointOf(reinterpret_cast<const sockaddr*>(&address));
}

// Of IPv6: on each of the networks that a machine is in, another one may have the same address.
bool IsLinkLocal(const std::string& host) {
  return host.size() > 3 && host.starts_with("fe") && host[2] >= '8' && host[2] <= 'b';
}

}  // namespace

OwnAddresses::OwnAddresses() : hosts_{"::1"} {
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return;
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    std::string host = EndpointOf(one->ifa_addr).host;
    if (!host.empty() && !IsLinkLocal(host)) hosts_.insert(std::move(host));
  }
  freeifaddrs(interfaces);
}

bool OwnAddresses::Contains(const std::string& host) const {
  return host.starts_with("127.") || hosts_.contains(host);
}

bool OwnAddresses::IsPeerOf(int socket) const { return Contains(PeerEndpoint(socket).host); }

std::string PeerOf(int socket) {
  const SocketAddress peer = PeerEndpoint(socket);
  if (peer.host.empty()) return "somebody";
  return peer.host.find(':') == std::string::npos ? StrCat(peer.host, ":", peer.port)
                                                  : StrCat("[", peer.host, "]:", peer.port);
}

}  // namespace carillon
