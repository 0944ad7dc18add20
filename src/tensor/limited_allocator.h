// A share of another allocator's memory, with a count and a limit of its own: what one session of
// a server may take.
#pragma once

#include <memory>

#include "tensor/allocator.h"

namespace carillon {

// `limit_bytes` 0: only the parent's own limit holds. Memory may outlive the shared_ptr; the parent
// lives until the last block has come back.
std::shared_ptr<Allocator> MakeLimitedAllocator(std::shared_ptr<Allocator> parent,
                                                int64_t limit_bytes);

}  // namespace carillon
