// A share of another allocator's memory, with a count and a limit of its own: what one session of
// a server may take.
#pragma once

#include <functional>
#include <memory>

#include "carillon/tensor.h"
#include "tensor/allocator.h"

namespace carillon {

// `limit_bytes` 0: only the parent's own limit holds. Otherwise a share leaves others some of what
// the parent has (IsFairShare), and below 0 nothing else limits it. Memory may outlive the
// shared_ptr; the parent lives until the last block has come back. `reclaim`, and then the
// parent's, is asked, under no lock, before anything is refused because of this limit.
std::shared_ptr<Allocator> MakeLimitedAllocator(std::shared_ptr<Allocator> parent,
                                                int64_t limit_bytes,
                                                std::function<void()> reclaim = nullptr);

// The same memory, which the share's parent counts already: counted against the share, too, for as
// long as somebody holds the result. No value when there is no room. `share` is a limited
// allocator.
Tensor CountInShare(const std::shared_ptr<Allocator>& share, Tensor tensor);

}  // namespace carillon
