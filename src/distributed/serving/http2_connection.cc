#include "distributed/serving/http2_connection.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "distributed/serving/http2_call.h"

namespace carillon {
namespace {

constexpr size_t kTurn = 4 << 20;              // bytes, before others have theirs
constexpr size_t kWorthItsPlace = 32 << 10;    // left of a frame
constexpr size_t kBesidesFrame = 4 << 10;      // read with it
constexpr size_t kLargestMessage = INT32_MAX;  // that clients of gRPC take
// Looks at a connection during its longest standstill. What passes while the process stands still
// itself is one of them.
constexpr int kLooks = 4;

Status TooLarge(const MessagePieces& message) {
  return absl::ResourceExhaustedError(StrCat("an answer of ", message.size(),
                                             " bytes is more than one message of gRPC holds, ",
                                             kLargestMessage, ": fetch less at once"));
}

}  // namespace

template <typename Change>
void Http2Call::Do(Change change) {
  const std::shared_ptr<Http2Connection> connection = connection_.lock();
  if (connection == nullptr) return;
  connection->Do([&] {
    if (is_over || status.has_value()) return false;
    change(*connection);
    return true;
  });
}

void Http2Call::SendMetadata(Metadata metadata) {
  Do([&](Http2Connection& connection) {
    if (is_answer_begun) return;
    answer_metadata = std::move(metadata);
    connection.StartAnswer(this);
  });
}

void Http2Call::Send(MessagePieces message) {
  if (message.size() > kLargestMessage) return Finish(TooLarge(message));
  Do([&](Http2Connection& connection) {
    outgoing.Add(std::move(message));
    connection.GoOnAnswering(this);
  });
}

void Http2Call::AskForMessage() {
  Do([&](Http2Connection& connection) {
    is_waiting = true;
    connection.DeliverNext(this);
    connection.GiveRoom(this);
  });
}

void Http2Call::Finish(const Status& with) {
  Do([&](Http2Connection& connection) { connection.Finish(this, with); });
}

void Http2Call::BreakOff(const Status& with) {
  Do([&](Http2Connection& connection) { connection.BreakOff(this, with); });
}

void Http2Call::Answer(MessagePieces message) {
  if (message.size() > kLargestMessage) return Finish(TooLarge(message));
  Do([&](Http2Connection& connection) {
    outgoing.Add(std::move(message));
    connection.Finish(this, absl::OkStatus());
  });
}

Http2Connection::Http2Connection(const Environment& environment, std::unique_ptr<Socket> socket,
                                 Caller caller, Status refusal)
    : environment_(environment),
      refusal_(std::move(refusal)),
      caller_(std::make_shared<Caller>(std::move(caller))),
      socket_(std::move(socket)) {}

Http2Connection::~Http2Connection() { DeleteSession(); }

void Http2Connection::Begin(EventLoop::Clock::time_point until,
                            std::chrono::milliseconds first_call_timeout) {
  int descriptor;
  {
    std::lock_guard lock(mutex_);
    BeginSession();
    descriptor = socket_->descriptor();
  }
  AwaitStage(Stage::kGreeting, until, first_call_timeout);
  WatchStandstill(0);
  if (!environment_.loop->Watch(descriptor, shared_from_this()))
    Close("the system cannot watch it");
}

void Http2Connection::AwaitStage(Stage stage, EventLoop::Clock::time_point until,
                                 std::chrono::milliseconds first_call_timeout) {
  stage_timer_ = environment_.loop->At(until, [=, weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    bool is_greeted, has_served;
    {
      std::lock_guard lock(self->mutex_);
      is_greeted = self->is_greeted_;
      has_served = self->has_served_;
    }
    if (!is_greeted) return self->Close("it has not begun to speak HTTP/2 in time");
    if (has_served) return;
    if (stage == Stage::kGreeting)
      return self->AwaitStage(Stage::kFirstCall, until + first_call_timeout, first_call_timeout);
    self->GoAway();
    self->Close("it has made no call that was let in");
  });
}

void Http2Connection::WatchStandstill(int before) {
  const auto next = EventLoop::Clock::now() + environment_.longest_standstill / kLooks;
  standstill_timer_ = environment_.loop->At(next, [before, weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    bool stands_still;
    {
      std::lock_guard lock(self->mutex_);
      stands_still = !std::exchange(self->has_sent_some_, false) && self->HasUnsentAnswer();
    }
    if (!stands_still) return self->WatchStandstill(0);
    if (before == kLooks) return self->Close("it does not take what it is answered");
    self->WatchStandstill(before + 1);
  });
}

void Http2Connection::OnReady() {
  if (has_turn_ahead_) return;
  std::string error;
  size_t read = 0;
  for (Reading reading = Reading::kMore; reading == Reading::kMore;) {
    reading = ReadSome(&read, &error);
    // What handlers have been given cannot be turned away any more.
    if (environment_.memory->is_over_limit()) environment_.host->OnShortOfMemory();
    DispatchEvents();
    if (reading == Reading::kOver) return Close(error);
    if (reading == Reading::kAll || read < kTurn) continue;
    // What TLS has read already nobody would wake us for.
    has_turn_ahead_ = true;
    environment_.loop->Post([self = shared_from_this()] {
      self->has_turn_ahead_ = false;
      self->OnReady();
    });
    break;
  }
  bool is_over, has_ended_calls;
  {
    std::lock_guard lock(mutex_);
    if (socket_ == nullptr) return;
    Flush();
    is_over = is_broken_ || (output_.empty() && IsSessionOver() && !is_told_to_go_);
    has_ended_calls = !events_.empty() || !left_behind_.empty();
    error = protocol_error_;
  }
  if (has_ended_calls) DispatchEvents();
  if (is_over) Close(error);
}

Http2Connection::Reading Http2Connection::ReadSome(size_t* read, std::string* error) {
  std::lock_guard lock(mutex_);
  if (socket_ == nullptr) return Reading::kAll;  // closed already
  // What is left of a frame of a large message goes straight to its place, and only what follows
  // the frame into the buffer.
  const std::span<char> place = RoomForFrame();
  const std::span<char> buffer =
      place.empty() ? environment_.buffer : environment_.buffer.first(kBesidesFrame);
  const iovec pieces[] = {{place.data(), place.size()}, {buffer.data(), buffer.size()}};
  const ssize_t size = socket_->Read(pieces);
  if (size < 0) {
    *error = socket_->error();
    return Reading::kOver;
  }
  if (size == 0) return Reading::kAll;
  *read += static_cast<size_t>(size);
  if (!has_spoken_ && !socket_->is_plain()) {
    caller_->has_certificate = true;
    caller_->names = socket_->PeerNames();
  }
  has_spoken_ = true;
  headers_read_ = 0;
  const auto in_place = std::min(static_cast<size_t>(size), place.size());
  for (const std::span<const char> bytes :
       {std::span<const char>(place.first(in_place)),
        std::span<const char>(buffer.first(static_cast<size_t>(size) - in_place))}) {
    const Status status = TakeBytes(bytes);
    if (status.ok()) continue;
    *error = std::string(status.message());
    return Reading::kOver;
  }
  *read += headers_read_;  // they may be much more work than what was read
  return static_cast<size_t>(size) == place.size() + buffer.size() ? Reading::kMore : Reading::kAll;
}

std::span<char> Http2Connection::RoomForFrame() {
  if (frame_left_ < kWorthItsPlace) return {};
  const auto found = calls_.find(frame_call_);
  return found == calls_.end() ? std::span<char>() : found->second->incoming.Room(frame_left_);
}

void Http2Connection::DeliverNext(Http2Call* call) {
  if (call->handler == nullptr) return;
  if (call->wants_message() && call->has_message()) {
    call->is_waiting = false;
    events_.push_back({Event::Kind::kMessage, call->shared_from_this(), nullptr});
  }
  if (call->is_waiting && call->incoming.has_part())
    events_.push_back({Event::Kind::kPart, call->shared_from_this(), nullptr});
  if (!call->is_last || call->is_last_told || call->incoming.has_next() ||
      call->incoming.is_inside())
    return;
  call->is_last_told = true;
  events_.push_back({Event::Kind::kLastMessage, call->shared_from_this(), nullptr});
}

std::optional<ReceivedMessage> Http2Connection::TakeNext(Http2Call* call) {
  std::optional<ReceivedMessage> message = call->incoming.Next();
  if (!message.has_value()) return message;
  call->has_taken = true;
  DeliverNext(call);
  if (call->unread > 0) {
    GiveRoom(call);
    Flush();
  }
  return message;
}

void Http2Connection::BreakOff(Http2Call* call, const Status& status) {
  if (call->status.has_value()) return;
  Finish(call, status);
  call->is_broken_off = true;
  events_.push_back({Event::Kind::kBrokenOff, call->shared_from_this(), std::move(call->handler)});
}

void Http2Connection::Leave(Http2Call* call) {
  call->is_over = true;
  header_bytes_ -= call->header_bytes;
  deadlines_.erase({call->info().deadline, call->id});
  // The event that says that it is broken off takes the handler with it.
  if (call->handler == nullptr || call->is_broken_off) return;
  if (call->is_answered) {
    left_behind_.push_back(std::move(call->handler));
  } else {
    events_.push_back(
        {Event::Kind::kBrokenOff, call->shared_from_this(), std::move(call->handler)});
  }
}

void Http2Connection::Do(absl::FunctionRef<bool()> change) {
  std::vector<std::shared_ptr<void>> left_behind;
  bool wake;
  {
    std::lock_guard lock(mutex_);
    if (socket_ == nullptr || !change()) return;
    Flush();
    wake = !events_.empty() && !is_dispatching_;
    // Where there are events, the loop's thread sees to both. Whoever breaks a call off, which is
    // always an event, may hold locks that handlers need as they go.
    if (events_.empty()) left_behind.swap(left_behind_);
  }
  if (wake) environment_.loop->Post([self = shared_from_this()] { self->DispatchEvents(); });
}

void Http2Connection::Flush() {
  bool is_blocked = false;
  size_t written = 0;
  while (has_spoken_ && !is_broken_ && !is_blocked) {
    is_broken_ = !FillOutput();
    if (is_broken_ || output_.empty()) break;
    output_.Gather(&vectors_);
    size_t all = 0;
    for (const iovec& vector : vectors_) all += vector.iov_len;
    const ssize_t sent = socket_->Write(vectors_);
    if (sent < 0) {
      is_broken_ = true;
      break;
    }
    output_.Remove(static_cast<size_t>(sent));
    has_sent_some_ |= answers_left_ > 0 && sent > 0;
    answers_left_ -= std::min(answers_left_, static_cast<size_t>(sent));
    written += static_cast<size_t>(sent);
    is_blocked = static_cast<size_t>(sent) < all || written >= kTurn;
  }
  if (is_broken_) return socket_->ShutDown();  // the loop's thread sees that, and closes
  const bool watch = is_blocked || socket_->reading_wants_to_write();
  if (watch == is_watching_writing_) return;
  is_watching_writing_ = watch;
  environment_.loop->WatchWriting(socket_->descriptor(), watch);
}

void Http2Connection::DispatchEvents() {
  for (;;) {
    std::vector<Event> events;
    std::vector<std::shared_ptr<void>> left_behind;
    {
      std::lock_guard lock(mutex_);
      left_behind.swap(left_behind_);
      events.swap(events_);
      is_dispatching_ = !events.empty();
    }
    if (events.empty()) break;
    for (Event& event : events) Dispatch(std::move(event));
  }
  WatchDeadlines();
}

void Http2Connection::Dispatch(Event event) {
  if (event.kind == Event::Kind::kBegin) return BeginCall(event.call);
  std::shared_ptr<CallHandler> handler = std::move(event.handler);
  auto by = CallHandler::By::kClient;
  std::optional<ReceivedMessage> message;
  {
    std::lock_guard lock(mutex_);
    if (handler == nullptr) handler = event.call->handler;
    if (handler != nullptr && event.kind == Event::Kind::kMessage)
      message = TakeNext(event.call.get());
    if (event.kind == Event::Kind::kBrokenOff) event.call->handler.reset();
    if (event.call->is_broken_off) by = CallHandler::By::kServer;
  }
  if (handler == nullptr) return;  // it is over
  if (event.kind == Event::Kind::kBrokenOff) return handler->OnBrokenOff(by);
  if (event.kind == Event::Kind::kPart) return OfferPart(event.call.get(), handler.get());
  if (event.kind == Event::Kind::kLastMessage) return handler->OnLastMessage();
  if (message.has_value()) handler->OnMessage(*std::move(message));
}

void Http2Connection::BeginCall(const std::shared_ptr<Http2Call>& call) {
  {
    std::lock_guard lock(mutex_);
    if (call->is_over || call->status.has_value()) return;
  }
  if (!refusal_.ok()) return call->Finish(refusal_);
  if (!call->header_error.ok()) return call->Finish(call->header_error);
  const MakeHandler* make = environment_.host->FindMethod(call->info().method);
  if (make == nullptr)
    return call->Finish(Unimplemented("this server has no method ", call->info().method));
  std::shared_ptr<CallHandler> handler = (*make)(call);
  if (handler == nullptr) return;
  {
    std::lock_guard lock(mutex_);
    has_served_ = true;
    // If it was broken off meanwhile, the event that says so is still to come.
    if (!call->is_over || call->is_broken_off) {
      call->handler.swap(handler);
      if (!call->status.has_value()) DeliverNext(call.get());
      return;
    }
    if (call->is_answered) return;
  }
  handler->OnBrokenOff(
      CallHandler::By::kClient);  // something that it sent found the call ended by an error
}

void Http2Connection::OfferPart(Http2Call* call, CallHandler* handler) {
  std::optional<ReceivedMessage> part;
  {
    std::lock_guard lock(mutex_);
    if (call->is_waiting) part = call->incoming.LendPart();
  }
  if (!part.has_value()) return;
  handler->OnPart(&*part);
  std::lock_guard lock(mutex_);
  call->incoming.TakeBack(*std::move(part));
}

void Http2Connection::WatchDeadlines() {
  EventLoop::Clock::time_point first = EventLoop::Clock::time_point::max();
  {
    std::lock_guard lock(mutex_);
    if (!deadlines_.empty()) first = deadlines_.begin()->first;
  }
  const bool is_watched = deadline_timer_.second != 0;
  if (first == EventLoop::Clock::time_point::max() ||
      (is_watched && deadline_timer_.first <= first))
    return;
  if (is_watched) environment_.loop->Cancel(deadline_timer_);
  deadline_timer_ = environment_.loop->At(first, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnDeadlines();
  });
}

void Http2Connection::OnDeadlines() {
  deadline_timer_ = {};
  const EventLoop::Clock::time_point now = EventLoop::Clock::now();
  Do([&] {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const auto found = calls_.find(deadlines_.begin()->second);
      deadlines_.erase(deadlines_.begin());
      if (found == calls_.end()) continue;
      Http2Call* const call = found->second.get();
      const bool is_stuck = call->status.has_value() || call->outgoing.bytes() > 0;
      BreakOff(call, absl::DeadlineExceededError("the deadline of the call has passed"));
      if (is_stuck) GiveUp(call);
    }
    return true;
  });
  DispatchEvents();
}

void Http2Connection::GoAway() {
  Do([&] {
    TellToGoAway();
    is_told_to_go_ = true;
    return true;
  });
}

void Http2Connection::Close(const std::string& error) {
  const std::shared_ptr<Http2Connection> self = shared_from_this();
  {
    std::lock_guard lock(mutex_);
    if (socket_ == nullptr) return;
    for (const auto& [id, call] : calls_) Leave(call.get());
    calls_.clear();
    DeleteSession();
    environment_.loop->Unwatch(socket_->descriptor());
    socket_.reset();
  }
  environment_.loop->Cancel(stage_timer_);
  environment_.loop->Cancel(deadline_timer_);
  environment_.loop->Cancel(standstill_timer_);
  DispatchEvents();
  environment_.host->OnClosed(this, error);
}

size_t Http2Connection::num_calls() const {
  std::lock_guard lock(mutex_);
  const bool is_all_sent = socket_ == nullptr || (output_.empty() && !socket_->has_unsent());
  return calls_.size() + (is_all_sent ? 0 : 1);
}

bool Http2Connection::has_served() const {
  std::lock_guard lock(mutex_);
  return has_served_;
}

Http2Call* Http2Connection::OldestHolder() const {
  Http2Call* oldest = nullptr;
  for (const auto& [id, call] : calls_) {
    const std::optional<uint64_t> number = call->incoming.held_message();
    if (number.has_value() && (oldest == nullptr || *number < oldest->incoming.held_message()))
      oldest = call.get();
  }
  return oldest;
}

bool Http2Connection::HasUnsentAnswer() const {
  return answers_left_ > 0 || std::ranges::any_of(calls_, [](const auto& one) {
           const Http2Call& call = *one.second;
           return call.outgoing.bytes() > 0 || (call.status.has_value() && !call.is_answered);
         });
}

std::optional<uint64_t> Http2Connection::OldestMessage() const {
  std::lock_guard lock(mutex_);
  const Http2Call* oldest = OldestHolder();
  return oldest == nullptr ? std::nullopt : oldest->incoming.held_message();
}

void Http2Connection::RefuseOldestMessage(const Status& status) {
  Do([&] {
    Http2Call* const oldest = OldestHolder();
    if (oldest != nullptr) BreakOff(oldest, status);
    return oldest != nullptr;
  });
}

}  // namespace carillon
