// Ports for the servers of tests.
#pragma once

#include <list>

#include "base/reserved_ports.h"
#include "base/throw.h"

namespace carillon {

// A port of 127.0.0.1 that is this process's until it ends.
inline int FreePort() {
  static std::list<ReservedPorts> all;
  all.push_back(ValueOrThrow(ReservedPorts::Reserve(1)));
  return all.back().numbers().front();
}

}  // namespace carillon
