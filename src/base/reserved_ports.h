// Ports of this machine for servers that are about to start.
#pragma once

#include <vector>

#include "base/status.h"

namespace carillon {

// Ports of 127.0.0.1 that nobody listens on. As long as this lives, no other ReservedPorts of this
// machine gets them, and the kernel gives them to no connection: they lie outside the range that it
// takes those from. (What a moment ago was port 0's answer may be a connection's when it is bound.)
// What a process binds by number, without asking here, cannot be held off. Not copied, since it
// owns descriptors.
class ReservedPorts {
 public:
  static StatusOr<ReservedPorts> Reserve(int count);
  ReservedPorts() = default;
  ReservedPorts(ReservedPorts&& other) noexcept;
  ReservedPorts& operator=(ReservedPorts&& other) noexcept;
  ~ReservedPorts();

  const std::vector<int>& numbers() const { return numbers_; }

 private:
  std::vector<int> numbers_;
  std::vector<int> claims_;  // descriptors, one for each number
};

}  // namespace carillon
