// What Http2Connection asks of nghttp2, and nghttp2 of it.
#include <algorithm>
#include <nghttp2/nghttp2.h>
#include <utility>

#include "base/strings.h"
#include "distributed/serving/call_metadata.h"
#include "distributed/serving/http2_call.h"
#include "distributed/serving/http2_connection.h"

namespace carillon {
namespace {

// What a client may send before it hears from us: of one call that is not being read, and of all.
constexpr int32_t kCallWindow = 4 << 20, kConnectionWindow = 32 << 20;
constexpr uint32_t kLargestFrame = 1 << 20;
constexpr uint32_t kMostCalls = 1000;         // of a connection, at once
constexpr size_t kLargestHeaders = 32 << 10;  // of a call,
constexpr size_t kMostHeaders = 2 << 20;      // of all calls of a connection, with
constexpr size_t kHeaderOverhead = 32;        // for each, as HTTP/2 counts
// A header of a few kilobytes can be said in one byte. Who says more at once than he could be heard
// with does not go on: all of it has to be looked at.
constexpr size_t kMostOfBlock = 4 * kLargestHeaders;          // headers or trailers of a call
constexpr size_t kMostOfRead = kMostCalls * kLargestHeaders;  // in what is read at once
// nghttp2 makes room for what a GOAWAY says by the length of its frame.
constexpr size_t kLargestGoAway = 16 << 10;
constexpr size_t kMostOutput = 4 << 20;  // put into frames before it is sent
// Frames that wait to be put there. No call needs so many, but a client that does not read can have
// as many as it likes answered: each call past the most is refused with one.
constexpr size_t kMostWaitingFrames = 10 * kMostCalls;

// Calls that a client may give up, at once and on the whole.
constexpr uint64_t kResetBurst = 100'000, kResetsPerSecond = 10'000;

constexpr std::string_view kContentType = "application/grpc";

nghttp2_nv Header(std::string_view name, std::string_view value) {
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NONE};
}

std::string_view View(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

bool IsReserved(std::string_view key) {
  return key.starts_with(':') || key.starts_with("grpc-") || key == "content-type" || key == "te" ||
         key == "user-agent";
}

// How a call has ended.
struct StatusHeaders {
  explicit StatusHeaders(const Status& status)
      : code(StrCat(status.raw_code())),
        message(WriteStatusMessage(
            std::string_view(status.message().data(), status.message().size()))) {
    headers.push_back(Header("grpc-status", code));
    if (!message.empty()) headers.push_back(Header("grpc-message", message));
  }
  const std::string code, message;
  std::vector<nghttp2_nv> headers;
};

}  // namespace

struct Http2Connection::Callbacks {
  static Http2Connection* Self(void* connection) {
    return static_cast<Http2Connection*>(connection);
  }
  static Http2Call* CallOf(nghttp2_session* session, int32_t id) {
    return static_cast<Http2Call*>(nghttp2_session_get_stream_user_data(session, id));
  }

  static int OnBeginFrame(nghttp2_session*, const nghttp2_frame_hd* header, void* connection) {
    Http2Connection* self = Self(connection);
    if (header->type == NGHTTP2_GOAWAY && header->length > kLargestGoAway)
      return self->FailSession("GOAWAY: too long");
    const bool is_plain_data =
        header->type == NGHTTP2_DATA && (header->flags & NGHTTP2_FLAG_PADDED) == 0;
    self->frame_call_ = header->stream_id;
    self->frame_left_ = is_plain_data ? header->length : 0;
    return 0;
  }

  static int OnBeginHeaders(nghttp2_session* session, const nghttp2_frame* frame,
                            void* connection) {
    Http2Connection* self = Self(connection);
    self->block_bytes_ = 0;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    const int32_t id = frame->hd.stream_id;
    auto call = std::make_shared<Http2Call>(self->weak_from_this(), id, self->caller_,
                                            self->environment_.memory);
    nghttp2_session_set_stream_user_data(session, id, call.get());
    self->calls_.emplace(id, std::move(call));
    return 0;
  }

  static int OnHeader(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* text, size_t text_size, uint8_t,
                      void* connection) {
    const size_t size = name_size + text_size + kHeaderOverhead;
    if (const int error = Self(connection)->CountHeader(size); error != 0) return error;
    Http2Call* call = CallOf(session, frame->hd.stream_id);
    if (call == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    const std::string_view key = View(name, name_size), value = View(text, text_size);
    if (key == "content-type") call->is_grpc = value.starts_with(kContentType);
    if (!call->header_error.ok()) return 0;
    size_t& all = Self(connection)->header_bytes_;
    if (call->header_bytes + size > kLargestHeaders || all + size > kMostHeaders) {
      call->header_error = absl::ResourceExhaustedError(
          StrCat("the metadata of a call may take ", kLargestHeaders,
                 " bytes, that of all calls of a connection ", kMostHeaders));
      return 0;
    }
    call->header_bytes += size;
    all += size;
    CallInfo& info = call->mutable_info();
    if (key == ":path") {
      info.method = value;
    } else if (key == "grpc-timeout") {
      const auto timeout = ReadTimeout(value);
      if (timeout.has_value()) {
        info.deadline = CallInfo::Clock::now() + *timeout;
      } else {
        call->header_error = InvalidArgument("grpc-timeout is no time");
      }
    } else if (key == "grpc-encoding") {
      call->incoming.set_packing(value);
    } else if (!IsReserved(key)) {
      auto read = ReadMetadataValue(key, value);
      if (read.has_value()) {
        info.metadata.emplace_back(key, *std::move(read));
      } else {
        call->header_error = InvalidArgument("the metadata ", key, " is not in base64");
      }
    }
    return 0;
  }

  // nghttp2 leaves it out.
  static int OnInvalidHeader(nghttp2_session*, const nghttp2_frame*, const uint8_t*,
                             size_t name_size, const uint8_t*, size_t text_size, uint8_t,
                             void* connection) {
    return Self(connection)->CountHeader(name_size + text_size + kHeaderOverhead);
  }

  static int OnFrame(nghttp2_session* session, const nghttp2_frame* frame, void* connection) {
    Http2Connection* self = Self(connection);
    if (frame->hd.type == NGHTTP2_SETTINGS) self->is_greeted_ = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Call* call = CallOf(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      if (!call->is_grpc) {
        const nghttp2_nv refusal = Header(":status", "415");
        return nghttp2_submit_response(session, call->id, &refusal, 1, nullptr);
      }
      self->events_.push_back({Event::Kind::kBegin, call->shared_from_this(), nullptr});
      if (call->info().deadline != CallInfo::Clock::time_point::max())
        self->deadlines_.emplace(call->info().deadline, call->id);
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && !call->status.has_value()) {
      call->is_last = true;
      if (call->incoming.is_inside()) {
        self->BreakOff(call, InvalidArgument("the last message of the call is cut off"));
      } else {
        self->DeliverNext(call);
      }
    }
    return 0;
  }

  static int OnData(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* bytes,
                    size_t size, void* connection) {
    Http2Connection* self = Self(connection);
    self->frame_left_ -= std::min(size, self->frame_left_);
    nghttp2_session_consume_connection(session, size);
    Http2Call* call = CallOf(session, id);
    if (call == nullptr || call->status.has_value() || !call->is_grpc) {
      nghttp2_session_consume_stream(session, id, size);  // nobody wants it
      return 0;
    }
    if (call->wants_message()) {
      nghttp2_session_consume_stream(session, id, size);
    } else {
      call->unread += size;
    }
    if (const Status status = call->incoming.Take(View(bytes, size)); !status.ok()) {
      self->BreakOff(call, status);
    } else {
      self->DeliverNext(call);
    }
    return 0;
  }

  static int OnStreamClose(nghttp2_session* session, int32_t id, uint32_t, void* connection) {
    Http2Call* call = CallOf(session, id);
    if (call == nullptr) return 0;
    Http2Connection* self = Self(connection);
    self->Leave(call);
    self->calls_.erase(id);
    return 0;
  }

  static int OnFrameSent(nghttp2_session* session, const nghttp2_frame* frame, void* connection) {
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
      const std::string_view reason =
          View(frame->goaway.opaque_data, frame->goaway.opaque_data_len);
      std::string& error = Self(connection)->protocol_error_;
      if (error.empty())
        error = reason.empty() ? nghttp2_http2_strerror(frame->goaway.error_code) : reason;
    }
    if (frame->hd.type != NGHTTP2_HEADERS || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
      return 0;
    const int32_t id = frame->hd.stream_id;
    if (Http2Call* call = CallOf(session, id); call != nullptr) call->is_answered = true;
    // The client need not send the rest.
    if (nghttp2_session_get_stream_remote_close(session, id) == 0)
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
    return 0;
  }

  static int OnError(nghttp2_session*, int code, const char* message, size_t size,
                     void* connection) {
    if (code == NGHTTP2_ERR_HTTP_HEADER) return 0;  // it ends a call at most
    std::string& error = Self(connection)->protocol_error_;
    if (error.empty()) error.assign(message, size);
    return 0;
  }

  static ssize_t Send(nghttp2_session*, const uint8_t* bytes, size_t size, int, void* connection) {
    OutputQueue& output = Self(connection)->output_;
    if (output.size() >= kMostOutput) return NGHTTP2_ERR_WOULDBLOCK;
    output.Append(View(bytes, size));
    return static_cast<ssize_t>(size);
  }

  static int SendData(nghttp2_session*, nghttp2_frame*, const uint8_t* header, size_t size,
                      nghttp2_data_source* source, void* connection) {
    constexpr size_t kFrameHeader = 9;
    OutputQueue& output = Self(connection)->output_;
    if (output.size() >= kMostOutput) return NGHTTP2_ERR_WOULDBLOCK;
    output.Append(View(header, kFrameHeader));
    Http2Call* const call = static_cast<Http2Call*>(source->ptr);
    const bool was_held_up = !call->wants_message();
    call->outgoing.Move(size, &output);
    Self(connection)->answers_left_ = output.size();
    if (was_held_up && call->wants_message() && !call->status.has_value()) {
      Self(connection)->DeliverNext(call);
      Self(connection)->GiveRoom(call);
    }
    return 0;
  }

  static ssize_t FrameSize(nghttp2_session*, uint8_t, int32_t, int32_t connection_window,
                           int32_t call_window, uint32_t largest_frame, void*) {
    const int64_t window = std::min(connection_window, call_window);
    return static_cast<ssize_t>(std::min<int64_t>({window, largest_frame, int64_t{kLargestFrame}}));
  }

  // How much of the next frame there is, and whether the answer ends with it.
  static ssize_t ReadOutgoing(nghttp2_session* session, int32_t id, uint8_t*, size_t most,
                              uint32_t* flags, nghttp2_data_source* source, void*) {
    Http2Call* call = static_cast<Http2Call*>(source->ptr);
    const size_t size = std::min(most, call->outgoing.bytes());
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (size == call->outgoing.bytes() && call->status.has_value()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const StatusHeaders trailers(*call->status);
      nghttp2_submit_trailer(session, id, trailers.headers.data(), trailers.headers.size());
    } else if (size == 0) {
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(size);
  }

  // All of them, for every session.
  static const nghttp2_session_callbacks* Get() {
    static nghttp2_session_callbacks* const callbacks = [] {
      nghttp2_session_callbacks* made = nullptr;
      nghttp2_session_callbacks_new(&made);
      nghttp2_session_callbacks_set_on_begin_frame_callback(made, OnBeginFrame);
      nghttp2_session_callbacks_set_on_begin_headers_callback(made, OnBeginHeaders);
      nghttp2_session_callbacks_set_on_header_callback(made, OnHeader);
      nghttp2_session_callbacks_set_on_invalid_header_callback(made, OnInvalidHeader);
      nghttp2_session_callbacks_set_on_frame_recv_callback(made, OnFrame);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, OnData);
      nghttp2_session_callbacks_set_on_stream_close_callback(made, OnStreamClose);
      nghttp2_session_callbacks_set_on_frame_send_callback(made, OnFrameSent);
      nghttp2_session_callbacks_set_error_callback2(made, OnError);
      nghttp2_session_callbacks_set_send_callback(made, Send);
      nghttp2_session_callbacks_set_send_data_callback(made, SendData);
      nghttp2_session_callbacks_set_data_source_read_length_callback(made, FrameSize);
      return made;
    }();
    return callbacks;
  }
};

void Http2Connection::DeleteSession() { nghttp2_session_del(std::exchange(session_, nullptr)); }

void Http2Connection::BeginSession() {
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  // A client that gives up calls, however many, is no attack; one that does nothing else is.
  nghttp2_option_set_stream_reset_rate_limit(option, kResetBurst, kResetsPerSecond);
  nghttp2_session_server_new2(&session_, Callbacks::Get(), this, option);
  nghttp2_option_del(option);
  constexpr nghttp2_settings_entry kSettings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMostCalls},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kCallWindow},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kLargestFrame},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kLargestHeaders}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, kSettings, std::size(kSettings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

Status Http2Connection::TakeBytes(std::span<const char> bytes) {
  return idle_resets_.LeaveOut(bytes, [&](std::span<const char> rest) { return TakeFrames(rest); });
}

Status Http2Connection::TakeFrames(std::span<const char> bytes) {
  const ssize_t taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (taken >= 0) {
    if (nghttp2_session_get_outbound_queue_size(session_) <= kMostWaitingFrames)
      return absl::OkStatus();
    return absl::ResourceExhaustedError("it does not read what it is answered");
  }
  if (taken == NGHTTP2_ERR_CALLBACK_FAILURE) return absl::ResourceExhaustedError(protocol_error_);
  return InvalidArgument(taken == NGHTTP2_ERR_BAD_CLIENT_MAGIC
                             ? "it does not speak HTTP/2"
                             : nghttp2_strerror(static_cast<int>(taken)));
}

int Http2Connection::CountHeader(size_t size) {
  block_bytes_ += size;
  headers_read_ += size;
  if (block_bytes_ <= kMostOfBlock && headers_read_ <= kMostOfRead) return 0;
  return FailSession("its headers are too large");
}

int Http2Connection::FailSession(std::string_view error) {
  protocol_error_ = error;
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

void Http2Connection::StartAnswer(Http2Call* call) {
  call->is_answer_begun = true;
  std::vector<nghttp2_nv> headers{Header(":status", "200"), Header("content-type", kContentType)};
  for (auto& [key, value] : call->answer_metadata) {
    value = WriteMetadataValue(key, value);
    headers.push_back(Header(key, value));
  }
  const nghttp2_data_provider provider{{.ptr = call}, Callbacks::ReadOutgoing};
  nghttp2_submit_response(session_, call->id, headers.data(), headers.size(), &provider);
}

void Http2Connection::Finish(Http2Call* call, const Status& status) {
  call->status = status;
  call->incoming.Clear();
  GiveRoom(call);
  if (!call->is_answer_begun && call->outgoing.bytes() == 0) {
    call->is_answer_begun = true;
    StatusHeaders end(status);
    end.headers.insert(end.headers.begin(),
                       {Header(":status", "200"), Header("content-type", kContentType)});
    nghttp2_submit_response(session_, call->id, end.headers.data(), end.headers.size(), nullptr);
  } else {
    GoOnAnswering(call);
  }
}

void Http2Connection::GiveUp(Http2Call* call) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call->id, NGHTTP2_CANCEL);
}

void Http2Connection::GoOnAnswering(Http2Call* call) {
  if (!call->is_answer_begun) return StartAnswer(call);
  nghttp2_session_resume_data(session_, call->id);
}

void Http2Connection::GiveRoom(Http2Call* call) {
  const size_t kept = call->wants_message() ? 0 : std::min(call->unread, call->incoming.bytes());
  nghttp2_session_consume_stream(session_, call->id, call->unread - kept);
  call->unread = kept;
}

bool Http2Connection::FillOutput() { return nghttp2_session_send(session_) == 0; }

bool Http2Connection::IsSessionOver() const {
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

void Http2Connection::TellToGoAway() {
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

}  // namespace carillon
