// Where a task tells whoever has started it how it is getting on.
//
// `carillon launch` names a unix datagram socket of its own in CARILLON_STATUS: a path, or a name
// after an '@', which stands for an address that is no file (Linux's abstract namespace). One
// datagram is one JSON object; the reader keeps the last value of each key.
#pragma once

#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

#include "carillon/report.h"

namespace carillon {

inline constexpr char kStatusVariable[] = "CARILLON_STATUS";

// What bind() and sendto() take.
struct UnixAddress {
  sockaddr_un address{};
  socklen_t size = 0;  // 0 when the text was empty or too long to be an address

  explicit UnixAddress(std::string_view text);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// The sending end. It never waits and never fails: news that nobody takes is lost. Thread-safe.
class StatusChannel {
 public:
  // Does nothing unless the variable is set.
  static StatusChannel FromEnvironment();
  // An empty address makes a channel that does nothing.
  explicit StatusChannel(std::string_view address);
  ~StatusChannel();
  StatusChannel(StatusChannel&& other) noexcept;
  StatusChannel& operator=(StatusChannel&&) = delete;

  bool is_open() const { return socket_ >= 0; }
  void Send(const JsonObject& news) const;

 private:
  UnixAddress address_;
  int socket_ = -1;
};

}  // namespace carillon
