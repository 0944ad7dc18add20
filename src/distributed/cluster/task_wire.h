// Messages between tasks as bytes (proto/task.proto).
#pragma once

#include "absl/functional/function_ref.h"
#include "distributed/cluster/field_reader.h"
#include "distributed/cluster/task_messages.h"
#include "tensor/tensor_wire.h"

namespace carillon {

// After what is there: messages travel together. Memory of tensors is shared. The first large
// tensor of a message is where a reader of the bytes as a whole can use it: aligned.
void AddTaskMessage(const TaskMessage& message, MessagePieces* pieces);

// Calls `handle` for each, in order. Tensors go into the memory of `allocator`. After an error
// (malformed bytes: InvalidArgument; no room: ResourceExhausted) what came before it has been
// handled, and nothing after it.
Status ReadTaskMessages(CodedInput* in, Allocator* allocator,
                        absl::FunctionRef<void(TaskMessage)> handle);

// The same from a frame, bytes in memory. Large tensors are not copied: they keep the frame alive.
Status ReadTaskMessages(const Tensor& frame, Allocator* allocator,
                        absl::FunctionRef<void(TaskMessage)> handle);

}  // namespace carillon
