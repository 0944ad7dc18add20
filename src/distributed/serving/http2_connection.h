// Http2Connection: one connection of a client, and the calls of gRPC that come by it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/status.h"
#include "distributed/serving/event_loop.h"
#include "distributed/serving/idle_resets.h"
#include "distributed/serving/output_queue.h"
#include "distributed/serving/received_message.h"
#include "distributed/serving/served_call.h"
#include "distributed/serving/socket.h"

struct nghttp2_session;

namespace carillon {

class Http2Call;
class Http2Connection;

// What a connection asks of its server. On the loop's thread.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  // Null: there is no such method.
  virtual const MakeHandler* FindMethod(std::string_view method) const = 0;
  // Messages take more than they may.
  virtual void OnShortOfMemory() = 0;
  // The last thing. `error` says who is at fault; empty: the client has closed the connection.
  virtual void OnClosed(Http2Connection* connection, const std::string& error) = 0;
};

// The loop's thread reads, and calls the handlers; answers are written by the threads that give
// them. HTTP/2 itself (frames, headers, windows) is nghttp2's.
//
// Invariants: all below mutex_ is under it. No handler is called, made or destroyed under it: what
// they have to be told is kept in events_, what they leave behind in left_behind_. The loop's
// thread alone dispatches events; a thread that leaves some wakes it.
class Http2Connection final : public SocketWatcher,
                              public std::enable_shared_from_this<Http2Connection> {
 public:
  struct Environment {
    std::shared_ptr<EventLoop> loop;
    ConnectionHost* host;
    std::shared_ptr<MessageMemory> memory;
    std::span<char> buffer;  // to read into, on the loop's thread
    // After which a client that takes nothing of its answers is closed.
    std::chrono::milliseconds longest_standstill;
  };
  // Every call is answered with `refusal`, unless that is OK; no request is read then. The host and
  // the buffer outlive the loop's thread.
  Http2Connection(const Environment& environment, std::unique_ptr<Socket> socket, Caller caller,
                  Status refusal);
  ~Http2Connection() override;

  // All of these on the loop's thread.

  // Closes a client that has not begun to speak HTTP/2 by then, or of which no call gets a handler
  // in the time that follows.
  void Begin(EventLoop::Clock::time_point until, std::chrono::milliseconds first_call_timeout);
  void OnReady() override;
  // Takes no more calls. Who says so closes the connection, once num_calls() is 0.
  void GoAway();
  // Breaks off what is under way.
  void Close(const std::string& error);
  // What is under way; a last answer that has not come to the client's machine counts, too: if the
  // connection were closed, the next word of the client would end it there.
  size_t num_calls() const;
  bool has_served() const;  // a call of it got a handler
  const std::string& address() const { return caller_->address; }

  // When the oldest message began that takes memory here: no handler has it yet. Such moments are
  // numbered.
  std::optional<uint64_t> OldestMessage() const;
  // Ends the call of that message.
  void RefuseOldestMessage(const Status& status);

 private:
  friend class Http2Call;
  struct Callbacks;  // of nghttp2
  struct Event {
    enum class Kind { kBegin, kPart, kMessage, kLastMessage, kBrokenOff };
    Kind kind;
    std::shared_ptr<Http2Call> call;
    std::shared_ptr<CallHandler> handler;  // of kBrokenOff; null: the call's, if it has one by then
  };

  // On the loop's thread.
  enum class Reading { kMore, kAll, kOver };
  Reading ReadSome(size_t* read, std::string* error);  // adds to `read`
  void DispatchEvents();
  void Dispatch(Event event);
  void BeginCall(const std::shared_ptr<Http2Call>& call);
  void OfferPart(Http2Call* call, CallHandler* handler);
  // Closes the connection, unless it is past this stage by then.
  enum class Stage { kGreeting, kFirstCall };
  void AwaitStage(Stage stage, EventLoop::Clock::time_point until,
                  std::chrono::milliseconds first_call_timeout);
  // Again and again; `before`: how often nothing had moved already.
  void WatchStandstill(int before);
  void WatchDeadlines();
  void OnDeadlines();

  // Everything a call asks for goes through here: runs `change` under the lock and, unless that
  // says that there is nothing to do, sends what it gives to send, and has the loop see to what is
  // left. From any thread.
  void Do(absl::FunctionRef<bool()> change);

  // Under mutex_; these know nghttp2 (http2_session.cc).
  void BeginSession();
  void DeleteSession();
  Status TakeBytes(std::span<const char> bytes);
  Status TakeFrames(std::span<const char> bytes);  // without those that nghttp2 is not to see
  // Puts what there is to send into output_, as far as that has room. False: there is an error.
  bool FillOutput();
  bool IsSessionOver() const;
  // Counts a header that has come, in whatever it has. Not 0: there are too many.
  int CountHeader(size_t size);
  // What a callback of nghttp2 returns where the connection has to end.
  int FailSession(std::string_view error);
  void TellToGoAway();
  // The client may send as much as the handler has taken; more when it wants a message.
  void GiveRoom(Http2Call* call);
  void StartAnswer(Http2Call* call);
  void GoOnAnswering(Http2Call* call);
  void Finish(Http2Call* call, const Status& status);
  // Ends a call whose answer the client does not take.
  void GiveUp(Http2Call* call);

  // Under mutex_.
  void Flush();
  // Where the rest of the frame that is coming goes; empty if that is better not read there.
  std::span<char> RoomForFrame();
  // Tells the handler, if there is one yet, of what there is for it.
  void DeliverNext(Http2Call* call);
  std::optional<ReceivedMessage> TakeNext(Http2Call* call);
  // Finishes the call where the handler does not know: it is told.
  void BreakOff(Http2Call* call, const Status& status);
  // Nothing concerns the call any more.
  void Leave(Http2Call* call);
  Http2Call* OldestHolder() const;
  bool HasUnsentAnswer() const;

  const Environment environment_;
  const Status refusal_;
  const std::shared_ptr<Caller> caller_;  // its certificate is added before the first call
  EventLoop::Timer deadline_timer_, stage_timer_, standstill_timer_;  // the loop's
  bool has_turn_ahead_ = false;                                       // the loop's; posted

  mutable std::mutex mutex_;
  std::unique_ptr<Socket> socket_;  // null: closed
  IdleResets idle_resets_;
  nghttp2_session* session_ = nullptr;
  std::unordered_map<int32_t, std::shared_ptr<Http2Call>> calls_;
  std::set<std::pair<EventLoop::Clock::time_point, int32_t>> deadlines_;
  size_t header_bytes_ = 0;  // of calls_
  size_t block_bytes_ = 0;   // of the headers that are coming
  size_t headers_read_ = 0;  // by the read that is under way
  std::vector<Event> events_;
  bool is_dispatching_ = false;  // events that are added are going to be seen
  std::vector<std::shared_ptr<void>> left_behind_;
  int32_t frame_call_ = 0;  // whose the frame is that is coming
  size_t frame_left_ = 0;   // of its data, if it is nothing else
  OutputQueue output_;
  size_t answers_left_ = 0;     // of output_, to the end of the last piece of an answer
  bool has_sent_some_ = false;  // of an answer, since it was last looked at
  std::vector<iovec> vectors_;
  std::string protocol_error_;
  bool has_spoken_ = false;  // the client; before that nothing is sent to it
  bool is_greeted_ = false;  // the client speaks HTTP/2
  bool has_served_ = false;  // a call of it got a handler
  bool is_told_to_go_ = false;
  bool is_watching_writing_ = false;
  bool is_broken_ = false;  // nothing can be written any more
};

}  // namespace carillon
