// OwnAddresses: tells whether the other end of a connection is on this machine.
#pragma once

#include <set>
#include <string>
#include <sys/socket.h>

namespace carillon {

// Those that the machine has when this is made: the loopback ones and those of its interfaces.
// Nobody else can hold a connection from one of them. Never changes.
class OwnAddresses {
 public:
  OwnAddresses();
  // Of a connection.
  bool IsPeerOf(int socket) const;
  // "127.0.0.1", "::1".
  bool Contains(const std::string& host) const;

 private:
  std::set<std::string> hosts_;
};

// "127.0.0.1:4000", for messages: the other end of a connection.
std::string PeerOf(int socket);

}  // namespace carillon
