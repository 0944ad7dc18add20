#include "distributed/serving/listener.h"

#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/log_throttle.h"
#include "base/logging.h"
#include "base/strings.h"

namespace carillon {
namespace {

// Descriptors kept back from new connections; of these, what those may use that take another one's
// place.
constexpr int kReserve = 64, kExchange = 32;
constexpr int kRetryMs = 100;

int FileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT32_MAX) return INT32_MAX;
  return static_cast<int>(limit.rlim_cur);
}

// A socket that listens on `address`, or -1 with errno set.
int ListenOn(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int yes = 1, no = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));  // past connections do not hold it
  // "::" stands for all addresses, of both families.
  if (address.ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  if (bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// Answers leave at once. The end of a machine at the other end is noticed in a minute, whether
// something is on its way there or not; a client that takes nothing of what it is sent for so long
// is gone, too, and does not hold its answers' memory for ever.
void SetUp(int fd) {
  const auto set = [fd](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kLongestStandstill.count()));
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

StatusOr<std::unique_ptr<Listener>> Listener::Open(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  // "[::1]" is how addresses of this form are written before a port.
  const bool bracketed = address.starts_with('[') && address.ends_with(']');
  const std::string host = bracketed ? address.substr(1, address.size() - 2) : address;
  if (const int error = getaddrinfo(host.c_str(), StrCat(port).c_str(), &hints, &found); error != 0)
    return absl::UnavailableError(
        StrCat("cannot listen on ", address, ":", port, ": ", gai_strerror(error)));
  int fd = -1, error = 0;
  for (const addrinfo* one = found; one != nullptr && fd < 0; one = one->ai_next) {
    fd = ListenOn(*one);
    if (fd < 0) error = errno;
  }
  freeaddrinfo(found);
  if (fd < 0)
    return absl::UnavailableError(
        StrCat("cannot listen on ", address, ":", port, ": ", std::strerror(error)));
  const int wake = eventfd(0, EFD_CLOEXEC);
  if (wake < 0) {
    error = errno;
    close(fd);
    return absl::UnavailableError(StrCat("cannot listen: ", std::strerror(error)));
  }
  return std::unique_ptr<Listener>(new Listener(fd, wake, PortOf(fd)));
}

Listener::~Listener() {
  Stop();
  close(wake_);
}

void Listener::Start(std::function<void(int, bool)> take) {
  take_ = std::move(take);
  thread_ = std::thread([this] { Accept(); });
}

void Listener::Stop() {
  if (socket_ < 0) return;
  if (thread_.joinable()) {
    const uint64_t one = 1;
    if (write(wake_, &one, sizeof(one)) < 0) LogWarning("listener: ", std::strerror(errno));
    thread_.join();
  }
  close(std::exchange(socket_, -1));
}

void Listener::Accept() {
  LogThrottle log;
  const auto say_short = [&] {
    log.Warn("few file descriptors are left of ", FileLimit(),
             ": connections that ask for nothing are closed for new ones");
  };
  pollfd waits[] = {{.fd = wake_, .events = POLLIN}, {.fd = socket_, .events = POLLIN}};
  for (;;) {
    if (poll(waits, 2, -1) < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    if (waits[1].revents == 0) continue;
    int fd = accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) continue;
      say_short();
      take_(-1, true);
      if (poll(waits, 1, kRetryMs) > 0) return;
      continue;
    }
    // The lowest free number is taken: a high one means that nearly all are in use.
    const int left = FileLimit() - fd;
    const bool few_left = left <= kReserve;
    if (few_left) say_short();
    if (left <= kReserve - kExchange) {
      close(fd);
      fd = -1;
    }
    if (fd >= 0) SetUp(fd);
    take_(fd, few_left);
  }
}

}  // namespace carillon
