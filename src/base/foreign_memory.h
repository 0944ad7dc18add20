// What libraries take for our work, by other ways than operator new or by ways that it must not
// throw through.
#pragma once

#include <cstddef>

#include "base/work_scope.h"

namespace carillon {

// Counts in the thread's WorkScope as long as it lives, as if it came from operator new, which
// throws when there is no room. Of one thread and one scope.
class ForeignMemory {
 public:
  explicit ForeignMemory(size_t bytes = 0) { Add(bytes); }
  ~ForeignMemory() { CountFreed(bytes_); }
  ForeignMemory(const ForeignMemory&) = delete;
  ForeignMemory& operator=(const ForeignMemory&) = delete;

  void Add(size_t bytes) {
    CountTaken(bytes);
    bytes_ += bytes;
  }

 private:
  size_t bytes_ = 0;
};

// The same for libraries that use operator new and are not made for what it may throw, protobuf
// among them: meanwhile the thread's scope is paused, and counts no more than what was said.
class ForeignWork {
 public:
  explicit ForeignWork(size_t bytes) : memory_(bytes) {}

 private:
  const ForeignMemory memory_;
  const WorkPause pause_;
};

}  // namespace carillon
