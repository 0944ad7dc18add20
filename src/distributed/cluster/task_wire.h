// Messages between tasks as bytes (proto/task.proto).
#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"
#include "distributed/cluster/field_reader.h"
#include "distributed/cluster/task_messages.h"
#include "tensor/tensor_wire.h"

namespace carillon {

// After what is there: messages travel together. Memory of tensors is shared.
void AddTaskMessage(const TaskMessage& message, MessagePieces* pieces);

// Calls `handle` for each, in order. Tensors go into the memory of `allocator`. After an error
// (malformed bytes: InvalidArgument; no room: ResourceExhausted) what came before it has been
// handled, and nothing after it.
Status ReadTaskMessages(CodedInput* in, Allocator* allocator,
                        absl::FunctionRef<void(TaskMessage)> handle);

// The same from `bytes`, followed by those of `content`, if there are any. A large tensor that is
// just that content is not copied: it keeps its memory alive.
Status ReadTaskMessages(std::string_view bytes, const Tensor& content, Allocator* allocator,
                        absl::FunctionRef<void(TaskMessage)> handle);

}  // namespace carillon
