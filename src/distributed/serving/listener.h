// Listener: takes the connections of clients and hands them on.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/status.h"

namespace carillon {

// A client that takes nothing of what it is sent for so long is gone.
inline constexpr std::chrono::milliseconds kLongestStandstill{60'000};

// gRPC's own listener gives up for good when the process has no file descriptor left (as of 1.51):
// whoever opens enough connections would silence the server. This one waits until there are some
// again, and says while few are left, so that the clients that are here, and the files of their
// steps, have what they need.
class Listener {
 public:
  // Port 0: any free one. Unavailable when the address cannot be had, InvalidArgument when it is
  // none.
  static StatusOr<std::unique_ptr<Listener>> Open(const std::string& address, int port);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }

  // Calls `take` with every new connection, from one thread; `take` owns the descriptor. When few
  // are left, it is to close that one or others; it is told so, with -1 in place of a connection,
  // when there are so few that this one had to be closed at once.
  void Start(std::function<void(int connection, bool few_left)> take);
  // No more calls to `take` once this returns; who connects is refused. May be called again.
  void Stop();

 private:
  Listener(int socket, int wake, int port) : socket_(socket), wake_(wake), port_(port) {}
  void Accept();

  int socket_;      // -1: stopped
  const int wake_;  // an eventfd, written to when the thread has to end
  const int port_;
  std::function<void(int, bool)> take_;
  std::thread thread_;
};

}  // namespace carillon
