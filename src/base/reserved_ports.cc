#include "base/reserved_ports.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "base/random_id.h"

namespace carillon {

namespace {

constexpr int kFirst = 10000;  // well-known services live below
constexpr int kLast = 65535;

// Which ports the kernel gives to connections.
std::pair<int, int> ConnectionPorts() {
  std::pair<int, int> range{32768, 60999};
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> range.first >> range.second;
  return range;
}

// A descriptor that only one process of the machine can have for a port; -1 and errno when there is
// none, EADDRINUSE when another has it. The name is in the abstract namespace: it goes when the
// descriptor does, however its process ends.
int Claim(int port) {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = StrCat("carillon-port-", port);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const socklen_t size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

bool IsFree(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return free;
}

}  // namespace

StatusOr<ReservedPorts> ReservedPorts::Reserve(int count) {
  ReservedPorts ports;
  const auto [first_taken, last_taken] = ConnectionPorts();
  constexpr int kCandidates = kLast - kFirst + 1;
  const int start = static_cast<int>(RandomId() % kCandidates);
  // Where connections may take every port, the second round takes one of theirs.
  for (const bool among_connections : {false, true}) {
    for (int i = 0; i < kCandidates; ++i) {
      if (static_cast<int>(ports.numbers_.size()) == count) return ports;
      const int port = kFirst + (start + i) % kCandidates;
      if ((first_taken <= port && port <= last_taken) != among_connections) continue;
      const int claim = Claim(port);
      if (claim < 0 && errno != EADDRINUSE) {
        return ResourceExhausted("no port of 127.0.0.1 can be reserved: ", std::strerror(errno));
      }
      if (claim < 0) continue;
      ports.claims_.push_back(claim);
      if (IsFree(port)) {
        ports.numbers_.push_back(port);
      } else {
        ::close(claim);
        ports.claims_.pop_back();
      }
    }
  }
  if (static_cast<int>(ports.numbers_.size()) == count) return ports;
  return ResourceExhausted("there are no ", count, " free ports on 127.0.0.1");
}

ReservedPorts::ReservedPorts(ReservedPorts&& other) noexcept { *this = std::move(other); }

ReservedPorts& ReservedPorts::operator=(ReservedPorts&& other) noexcept {
  std::swap(numbers_, other.numbers_);
  std::swap(claims_, other.claims_);
  return *this;
}

ReservedPorts::~ReservedPorts() {
  for (const int claim : claims_) ::close(claim);
}

}  // namespace carillon
