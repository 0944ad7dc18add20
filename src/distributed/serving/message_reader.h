// MessageReader: cuts what comes in a call into messages.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "distributed/serving/received_message.h"

namespace carillon {

// What precedes each message: whether it is packed, and its length.
inline constexpr size_t kMessagePrefix = 5;

// Not thread-safe.
class MessageReader {
 public:
  explicit MessageReader(std::shared_ptr<MessageMemory> memory) : memory_(std::move(memory)) {}

  // How messages are packed that say that they are: "gzip", "deflate".
  void set_packing(std::string_view packing) { packing_ = packing; }

  // ResourceExhausted for a message that can never have room, InvalidArgument for bytes that are no
  // messages, Unimplemented for unknown packing; nothing more is taken then.
  Status Take(std::string_view bytes);
  // Where the next bytes of the message go that is coming, at most so many, for who fills it before
  // Take(), which does not copy them then. Empty: there is none.
  std::span<char> Room(size_t most);

  // The message that is coming, for who may have places for the rest of it: from time to time,
  // while much is missing. Until it is back nothing is taken.
  bool has_part() const;
  std::optional<ReceivedMessage> LendPart();
  void TakeBack(ReceivedMessage part);

  // The next message that is whole.
  std::optional<ReceivedMessage> Next();
  bool has_next() const { return !whole_.empty(); }
  size_t num_whole() const { return whole_.size(); }
  // Of what has come and was not taken by Next(), with prefixes.
  size_t bytes() const { return bytes_; }
  // Whether a message has come in part, its prefix counted.
  bool is_inside() const { return prefix_size_ > 0; }
  // Of the last message that takes memory here, whole or beyond its prefix: all messages are
  // numbered as they begin.
  std::optional<uint64_t> held_message() const;
  void Clear();

 private:
  Status BeginMessage();

  const std::shared_ptr<MessageMemory> memory_;
  std::string packing_;
  std::array<char, kMessagePrefix> prefix_;
  size_t prefix_size_ = 0;
  ReceivedMessage message_;  // once the prefix is complete
  size_t lend_at_ = 0;       // when so many bytes have no place
  bool is_lent_ = false;
  uint64_t number_ = 0;
  std::deque<ReceivedMessage> whole_;
  size_t bytes_ = 0;
};

}  // namespace carillon
