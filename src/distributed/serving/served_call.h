// ServedCall: a call that somebody makes to this server, as the service that answers it sees it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "distributed/serving/received_message.h"
#include "tensor/tensor_wire.h"

namespace carillon {

// Values of keys that end in "-bin" are any bytes; all others are printable.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// Who is at the other end of a connection.
struct Caller {
  std::string address;  // "127.0.0.1:4000"
  bool is_on_this_machine = false;
  bool has_certificate = false;    // one of the server's own authority
  std::vector<std::string> names;  // the DNS names in it
};

struct CallInfo {
  using Clock = std::chrono::steady_clock;
  std::string method;  // "/tensorflow.MasterService/RunStep"
  std::shared_ptr<const Caller> caller;
  Metadata metadata;                                      // keys in small letters
  Clock::time_point deadline = Clock::time_point::max();  // the client waits no longer

  // Null: there is none.
  const std::string* Find(std::string_view key) const;
};

// Thread-safe. Once the call is over, nothing that is asked of it has an effect.
class ServedCall {
 public:
  virtual ~ServedCall() = default;

  const CallInfo& info() const { return info_; }

  // Before the first message.
  virtual void SendMetadata(Metadata metadata) = 0;
  // Of 2 GiB or more, which gRPC has no message for: the call is finished with ResourceExhausted.
  virtual void Send(MessagePieces message) = 0;
  // The handler has got a message, and gets no other until it asks for it, and most of what it has
  // sent is on its way; meanwhile the client is held up.
  virtual void AskForMessage() = 0;
  // The last thing, after what was sent before. Whoever sends may be the one that destroys the
  // handlers of calls whose ends go with it, this one's and others'.
  virtual void Finish(const Status& status) = 0;
  // The same from somebody else than the handler, which is told, soon, by the server's thread.
  // Destroys nobody, so that locks may be held.
  virtual void BreakOff(const Status& status) = 0;
  // Sends the message and finishes well, with one trip to the network.
  virtual void Answer(MessagePieces message) = 0;

 protected:
  CallInfo info_;
};

// What a service makes of one call. Called by the server's own thread, which others wait for.
class CallHandler {
 public:
  virtual ~CallHandler() = default;
  // Whether a call has one message, which the handler gets once the client has sent all: until then
  // it can be turned away where messages take too much. The same for as long as the handler lives.
  virtual bool takes_one_message() const { return false; }
  // A large message has come in part: the handler may place what is still to come of it, for
  // nothing to be copied. Any number of times before OnMessage().
  virtual void OnPart(ReceivedMessage*) {}
  virtual void OnMessage(ReceivedMessage message) = 0;
  // The client has sent its last message.
  virtual void OnLastMessage() {}
  // The call is over before its end was sent. Either the client has cancelled it or is gone, or it
  // was ended here: its deadline has passed, its message had no room, or BreakOff was called. The
  // last thing.
  enum class By { kClient, kServer };
  virtual void OnBrokenOff(By) {}
};

// Makes the handler of a call; it may finish the call right away. The server holds the handler as
// long as the call lasts.
using MakeHandler = std::function<std::shared_ptr<CallHandler>(std::shared_ptr<ServedCall>)>;

}  // namespace carillon
