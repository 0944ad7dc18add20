#include "distributed/rpc/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "base/strings.h"

namespace carillon {
namespace {

struct Endpoint {
  std::string host;  // empty: neither IPv4 nor IPv6
  int port = 0;
};

// An IPv4 address is written as such even where it comes as one of IPv6.
Endpoint EndpointOf(const sockaddr* address) {
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

Endpoint PeerEndpoint(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  return EndpointOf(reinterpret_cast<const sockaddr*>(&address));
}

}  // namespace

OwnAddresses::OwnAddresses() : hosts_{"::1"} {
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return;
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    if (std::string host = EndpointOf(one->ifa_addr).host; !host.empty())
      hosts_.insert(std::move(host));
  }
  freeifaddrs(interfaces);
}

bool OwnAddresses::ContainsHost(const std::string& host) const {
  return host.starts_with("127.") || hosts_.contains(host);
}

bool OwnAddresses::IsPeerOf(int socket) const { return ContainsHost(PeerEndpoint(socket).host); }

bool OwnAddresses::Contains(const std::string& peer) const {
  const size_t port = peer.rfind(':');
  if (peer.starts_with("ipv4:") && port > 5) return ContainsHost(peer.substr(5, port - 5));
  // "ipv6:%5B::1%5D:4000", or with real brackets.
  for (const auto& [open, close] : {std::pair{"ipv6:%5B", "%5D:"}, {"ipv6:[", "]:"}}) {
    const size_t begin = std::string_view(open).size(), end = peer.rfind(close);
    if (peer.starts_with(open) && end != std::string::npos && end > begin)
      return ContainsHost(peer.substr(begin, end - begin));
  }
  return false;
}

std::string PeerOf(int socket) {
  const Endpoint peer = PeerEndpoint(socket);
  if (peer.host.empty()) return "somebody";
  return peer.host.find(':') == std::string::npos ? StrCat(peer.host, ":", peer.port)
                                                  : StrCat("[", peer.host, "]:", peer.port);
}

}  // namespace carillon
