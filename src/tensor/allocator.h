// Where tensors get their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/work_scope.h"
#include "tensor/fair_share.h"

namespace carillon {

inline constexpr size_t kTensorAlignment = 64;

struct AllocatorStats {
  int64_t allocations = 0;   // calls that returned memory
  int64_t reuses = 0;        // of these, served from the pool
  int64_t bytes_in_use = 0;  // handed out now
  int64_t peak_bytes = 0;    // the most that was ever handed out at once
  int64_t bytes_pooled = 0;  // held back for reuse
};

// Thread-safe. Memory is aligned to kTensorAlignment. As a budget: memory from elsewhere that
// belongs to what was allocated here (the text of strings) counts against the limit, if there is
// one.
class Allocator : public MemoryBudget {
 public:
  // Null when the memory cannot be had (or a limit forbids it).
  virtual void* Allocate(size_t bytes) = 0;
  // `bytes` as given to Allocate.
  virtual void Free(void* memory, size_t bytes) = 0;
  virtual AllocatorStats stats() const = 0;
  // Has those who keep memory that they can do without let go of it. Takes no memory.
  virtual void Reclaim() {}
  // What the limit leaves, a moment ago.
  virtual MemoryRoom room() const { return {}; }
};

// Plain aligned memory from the C library. Lives as long as the process.
Allocator* HostAllocator();

struct PoolAllocatorOptions {
  int64_t limit_bytes = 0;         // most bytes handed out at once; 0: no limit
  int64_t pool_bytes = 1ll << 30;  // most bytes held back for reuse
};

// Keeps freed blocks by size class and hands them out again, so that a steady step asks the system
// for nothing. Large blocks are made of huge pages where there are any. Memory may outlive the
// shared_ptr: the pool lives on until the last block has come back.
// `reclaim` is asked, under no lock, before anything is refused.
std::shared_ptr<Allocator> MakePoolAllocator(const PoolAllocatorOptions& options = {},
                                             std::function<void()> reclaim = nullptr);

}  // namespace carillon
