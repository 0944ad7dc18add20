// Keeping an allocator alive for who goes on allocating when the step, and the session, are over.
#pragma once

#include <memory>

#include "tensor/allocator.h"

namespace carillon {

// What is owned by shared_ptrs.
class SharedAllocator : public Allocator, public std::enable_shared_from_this<SharedAllocator> {};

// A reference to `allocator` that keeps it working, for as long as somebody owns it. Those that are
// not SharedAllocators live as long as the process.
inline std::shared_ptr<Allocator> KeepAllocator(Allocator* allocator) {
  if (auto* shared = dynamic_cast<SharedAllocator*>(allocator)) return shared->shared_from_this();
  return {allocator, [](Allocator*) {}};
}

}  // namespace carillon
