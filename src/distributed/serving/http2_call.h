// Http2Call: a call that comes by an Http2Connection, whose files alone use this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "distributed/serving/http2_connection.h"
#include "distributed/serving/message_reader.h"
#include "distributed/serving/outgoing_messages.h"
#include "distributed/serving/served_call.h"

namespace carillon {

// All members are under the connection's mutex, but what never changes once the handler is made.
class Http2Call final : public ServedCall, public std::enable_shared_from_this<Http2Call> {
 public:
  Http2Call(std::weak_ptr<Http2Connection> connection, int32_t id,
            std::shared_ptr<const Caller> caller, std::shared_ptr<MessageMemory> memory)
      : id(id), incoming(std::move(memory)), connection_(std::move(connection)) {
    info_.caller = std::move(caller);
  }

  void SendMetadata(Metadata metadata) override;
  void Send(MessagePieces message) override;
  void AskForMessage() override;
  void Finish(const Status& status) override;
  void BreakOff(const Status& status) override;
  void Answer(MessagePieces message) override;

  CallInfo& mutable_info() { return info_; }  // while it is being made

  // Whether the handler gets the next message: it waits, and what it has sent is on its way. So a
  // client that does not read is held up, and does not fill the memory with answers.
  bool wants_message() const { return is_waiting && outgoing.bytes() <= kMostUnsent; }
  // Whether there is one for it. Its only one stays until the client has sent all, or a second one.
  bool has_message() const {
    return incoming.has_next() &&
           (is_last || has_taken || !handler->takes_one_message() || incoming.num_whole() > 1);
  }

  const int32_t id;  // of the stream of HTTP/2
  std::shared_ptr<CallHandler> handler;
  bool is_over = false;
  bool is_broken_off = false;  // the handler is told, or has been

  // What the client sends.
  size_t header_bytes = 0;
  bool is_grpc = false;  // by its content type
  Status header_error;   // what is wrong with them, if anything
  MessageReader incoming;
  bool is_waiting = true;     // the handler, for the next message
  bool has_taken = false;     // the handler, a message
  bool is_last = false;       // the client sends no more,
  bool is_last_told = false;  // and the handler knows
  size_t unread = 0;  // bytes that came while nobody wanted any, for which there is no room yet

  // What it is sent.
  Metadata answer_metadata;
  bool is_answer_begun = false;
  OutgoingMessages outgoing;
  std::optional<Status> status;  // the end of the answer
  bool is_answered = false;      // all is sent

 private:
  static constexpr size_t kMostUnsent = 64 << 10;

  // Changes something, unless the call is over or finished.
  template <typename Change>
  void Do(Change change);

  const std::weak_ptr<Http2Connection> connection_;
};

}  // namespace carillon
