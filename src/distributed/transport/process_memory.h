// Memory of other processes of this machine, read straight from where it is: one copy instead of
// two, and no thread of the other process has to do anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace carillon {

// Some random bytes in this process's memory, and where they are. Who can read them there can read
// the rest, too: it is on the same machine, and may.
class MemoryProof {
 public:
  MemoryProof();
  MemoryProof(const MemoryProof&) = delete;
  MemoryProof& operator=(const MemoryProof&) = delete;
  // For another process.
  std::string ToBytes() const;

 private:
  struct Claim {
    int64_t process = 0;
    uint64_t address = 0;
    std::array<uint64_t, 2> secret{};
  };
  friend int64_t ReadableProcess(const std::string& proof);
  const std::array<uint64_t, 2> secret_;
};

// The process that `proof` is of, when its memory can be read; 0 otherwise.
int64_t ReadableProcess(const std::string& proof);

// Copies from `address` in `process`. Unavailable when that has ended.
Status ReadProcessMemory(int64_t process, uint64_t address, void* to, size_t bytes);

}  // namespace carillon
