#include "distributed/serving/outgoing_messages.h"

#include <algorithm>
#include <utility>

namespace carillon {

void OutgoingMessages::Add(MessagePieces message) {
  const auto size = static_cast<uint32_t>(message.size());
  bytes_ += kMessagePrefix + message.size();
  messages_.push_back({std::make_shared<MessagePieces>(std::move(message)),
                       {0, static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                        static_cast<char>(size >> 8), static_cast<char>(size)}});
}

void OutgoingMessages::Move(size_t bytes, OutputQueue* output) {
  bytes_ -= bytes;
  while (bytes > 0) {
    bytes -= MoveFirst(bytes, output);
    const Message& first = messages_.front();
    if (first.prefix_moved == kMessagePrefix && first.piece == first.pieces->pieces().size())
      messages_.pop_front();
  }
}

size_t OutgoingMessages::MoveFirst(size_t most, OutputQueue* output) {
  Message& message = messages_.front();
  size_t moved = std::min(most, kMessagePrefix - message.prefix_moved);
  output->Append(std::string_view(message.prefix.data() + message.prefix_moved, moved));
  message.prefix_moved += moved;
  const auto& pieces = message.pieces->pieces();
  // Pieces may be empty: they are passed over even when no byte more is asked for.
  while (message.prefix_moved == kMessagePrefix && message.piece < pieces.size()) {
    const std::string_view piece = pieces[message.piece].view();
    const std::string_view bytes = piece.substr(message.at, most - moved);
    output->Append(bytes, message.pieces);
    moved += bytes.size();
    message.at += bytes.size();
    if (message.at < piece.size()) break;
    ++message.piece;
    message.at = 0;
  }
  return moved;
}

}  // namespace carillon
