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

// Calls `handle` for each, in order. `in` has a limit where the messages end. Tensors go into the
// memory of `allocator`; one for which that has no room comes without a value, so that only its
// step fails. After an error (malformed bytes: InvalidArgument) what came before it has been
// handled, and nothing after it.
Status ReadTaskMessages(CodedInput* in, Allocator* allocator,
                        absl::FunctionRef<void(TaskMessage)> handle);

// The same from `bytes`, followed by those of `content`, if there are any. A large tensor that is
// just that content is not copied: it keeps its memory alive. `is_cut`: there should have been
// content, for which there was no room.
Status ReadTaskMessages(std::string_view bytes, const Tensor& content, bool is_cut,
                        Allocator* allocator, absl::FunctionRef<void(TaskMessage)> handle);

}  // namespace carillon
