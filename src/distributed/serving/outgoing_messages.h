// OutgoingMessages: the messages of an answer that are still to be sent.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>

#include "distributed/serving/message_reader.h"
#include "distributed/serving/output_queue.h"
#include "tensor/tensor_wire.h"

namespace carillon {

// Not thread-safe.
class OutgoingMessages {
 public:
  size_t bytes() const { return bytes_; }

  void Add(MessagePieces message);
  // The next bytes; there must be as many.
  void Move(size_t bytes, OutputQueue* output);

 private:
  struct Message {
    std::shared_ptr<const MessagePieces> pieces;
    std::array<char, kMessagePrefix> prefix;
    size_t prefix_moved = 0, piece = 0, at = 0;  // `at` bytes of the piece are moved
  };
  // At most so many bytes of the first message; how many it was.
  size_t MoveFirst(size_t most, OutputQueue* output);

  std::deque<Message> messages_;
  size_t bytes_ = 0;
};

}  // namespace carillon
