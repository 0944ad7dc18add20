// The memory of strings, which comes from the C++ library and not from an allocator, counted
// against the limits of allocators all the same: otherwise a few small nodes that join or repeat
// strings could take whatever the machine has.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "carillon/tensor.h"
#include "tensor/allocator.h"

namespace carillon {

// What the strings of a string tensor hold outside of the tensor's own memory.
int64_t TextBytes(const Tensor& tensor);

// Counts TextBytes against the allocator that `tensor` is from until its memory is freed. Once:
// later calls change nothing. ResourceExhausted when the allocator's limit does not allow it. For
// other dtypes there is nothing to do.
Status ChargeText(const Tensor& tensor);

// ResourceExhausted when `count` times `bytes` bytes that do not come from the allocator (strings,
// lists of rows) would not fit: to be asked before they are made.
Status CheckRoomOutside(Allocator* allocator, int64_t count, int64_t bytes);

}  // namespace carillon
