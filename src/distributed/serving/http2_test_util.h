// A client of HTTP/2 for tests of servers, which can say what no good client says.
#pragma once

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <map>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "base/strings.h"

namespace carillon {

namespace http2 {

// Frames, their flags, and settings.
constexpr char kData = 0, kHeaders = 1, kPriority = 2, kReset = 3, kSettings = 4, kPush = 5,
               kPing = 6, kGoAway = 7, kWindowUpdate = 8, kContinuation = 9;
constexpr char kAck = 1, kEndStream = 1, kEndHeaders = 4, kPadded = 8;
constexpr uint16_t kInitialWindow = 4;

inline std::string BigEndian(uint32_t value, int bytes) {
  std::string result;
  while (bytes-- > 0) result += static_cast<char>(value >> (8 * bytes));
  return result;
}

inline uint32_t FromBigEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

inline std::string Frame(char type, char flags, uint32_t stream, std::string_view payload) {
  return StrCat(BigEndian(static_cast<uint32_t>(payload.size()), 3), std::string(1, type),
                std::string(1, flags), BigEndian(stream, 4), payload);
}

// One header, in no table.
inline std::string Header(std::string_view name, std::string_view value) {
  const auto length = [](size_t size) {
    if (size < 127) return std::string(1, static_cast<char>(size));
    std::string text(1, 127);
    for (size -= 127; size >= 128; size >>= 7) text += static_cast<char>(size | 128);
    return text + static_cast<char>(size);
  };
  return StrCat(std::string(1, '\0'), length(name.size()), name, length(value.size()), value);
}

// Those of a call, without those that follow its method and its type.
inline std::string CallHeaders(std::string_view method,
                               std::string_view content_type = "application/grpc") {
  return Header(":method", "POST") + Header(":scheme", "http") + Header(":path", method) +
         Header(":authority", "server") + Header("content-type", content_type) +
         Header("te", "trailers");
}

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// A message of gRPC.
inline std::string Message(std::string_view bytes, char is_packed = 0) {
  return StrCat(std::string(1, is_packed), BigEndian(static_cast<uint32_t>(bytes.size()), 4),
                bytes);
}

}  // namespace http2

// One connection. Keeps to its own windows, and lets the server send whatever it likes. Waits no
// longer than a minute for anything.
class Http2Client {
 public:
  struct Stream {
    std::map<std::string, std::string> headers;  // and trailers
    std::string data;
    bool is_ended = false;          // by the server
    std::optional<uint32_t> reset;  // its reason
    int64_t room = 0;               // that we may send

    std::string status() const {
      const auto found = headers.find("grpc-status");
      return found == headers.end() ? "none" : found->second;
    }
  };

  // Does not greet.
  explicit Http2Client(int port, int receive_buffer = 0)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval longest{.tv_sec = 60, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (receive_buffer > 0)
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    nghttp2_hd_inflate_new(&inflater_);
  }
  ~Http2Client() {
    nghttp2_hd_inflate_del(inflater_);
    close(socket_);
  }
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  bool is_open() const { return is_open_; }
  bool is_told_to_go() const { return is_told_to_go_; }
  const Stream& stream(uint32_t id) { return streams_[id]; }

  // Whatever it is.
  void Send(std::string_view bytes) {
    while (!bytes.empty() && is_open_) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) is_open_ = false;
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void SendFrame(char type, char flags, uint32_t stream, std::string_view payload) {
    Send(http2::Frame(type, flags, stream, payload));
  }

  void Greet() {
    Send(http2::kPreface);
    SendFrame(http2::kSettings, 0, 0,
              http2::BigEndian(http2::kInitialWindow, 2) + http2::BigEndian(INT32_MAX, 4));
    SendFrame(http2::kWindowUpdate, 0, 0, http2::BigEndian(1 << 30, 4));
  }
  // The call's number.
  uint32_t Begin(std::string_view method, std::string_view more_headers = "") {
    const uint32_t id = next_;
    next_ += 2;
    streams_[id].room = first_room_;
    SendFrame(http2::kHeaders, http2::kEndHeaders, id,
              http2::CallHeaders(method) + std::string(more_headers));
    return id;
  }
  // As much of it as the server lets us, waiting for it to let us; how much that was.
  size_t SendData(uint32_t id, std::string_view bytes, bool is_last = false,
                  int64_t largest_frame = 16384) {
    const size_t all = bytes.size();
    do {
      const int64_t room = std::min({room_, streams_[id].room, largest_frame});
      if (room <= 0 && !bytes.empty()) {
        if (!Pump()) break;
        continue;
      }
      const std::string_view piece = bytes.substr(0, static_cast<size_t>(room));
      bytes.remove_prefix(piece.size());
      room_ -= static_cast<int64_t>(piece.size());
      streams_[id].room -= static_cast<int64_t>(piece.size());
      SendFrame(http2::kData, is_last && bytes.empty() ? http2::kEndStream : 0, id, piece);
    } while (!bytes.empty() && is_open_ && !IsOver(id));
    return all - bytes.size();
  }
  // A whole call.
  Stream Call(std::string_view method, std::string_view message) {
    const uint32_t id = Begin(method);
    SendData(id, http2::Message(message), true);
    AwaitEnd(id);
    return streams_[id];
  }

  // Reads what comes next. False: the connection is over, or nothing comes.
  bool Pump() {
    char bytes[1 << 16];
    const ssize_t got = is_open_ ? recv(socket_, bytes, sizeof(bytes), 0) : -1;
    if (got <= 0) {
      is_closed_ = got == 0 || errno != EAGAIN;
      is_open_ = false;
      return false;
    }
    received_.append(bytes, static_cast<size_t>(got));
    constexpr size_t kHead = 9;
    size_t at = 0;
    while (received_.size() - at >= kHead) {
      const std::string_view rest = std::string_view(received_).substr(at);
      const uint32_t length = http2::FromBigEndian(rest.substr(0, 3));
      if (rest.size() < kHead + length) break;
      OnFrame(rest[3], rest[4], http2::FromBigEndian(rest.substr(5, 4)),
              rest.substr(kHead, length));
      at += kHead + length;
    }
    received_.erase(0, at);
    return true;
  }
  // Until the server has ended the call, one way or the other.
  bool AwaitEnd(uint32_t id) {
    while (!IsOver(id) && Pump()) {
    }
    return IsOver(id);
  }
  // Until the server has closed the connection.
  bool AwaitClosed() {
    is_open_ = true;  // there may be something to read even if nothing can be written
    while (Pump()) {
    }
    return is_closed_;
  }
  // There and back: the server has seen all that was sent before.
  bool Ping() {
    const int before = pings_;
    SendFrame(http2::kPing, 0, 0, "12345678");
    while (pings_ == before && Pump()) {
    }
    return pings_ > before;
  }
  int64_t room(uint32_t id) { return streams_[id].room; }

 private:
  bool IsOver(uint32_t id) {
    const Stream& stream = streams_[id];
    return stream.is_ended || stream.reset.has_value();
  }

  void OnFrame(char type, char flags, uint32_t id, std::string_view payload) {
    using namespace http2;
    if (type == kData) streams_[id].data += payload;
    if (type == kHeaders) Inflate(payload, &streams_[id].headers);
    if ((type == kData || type == kHeaders) && (flags & kEndStream) != 0)
      streams_[id].is_ended = true;
    if (type == kReset) streams_[id].reset = FromBigEndian(payload);
    if (type == kGoAway) is_told_to_go_ = true;
    if (type == kWindowUpdate) (id == 0 ? room_ : streams_[id].room) += FromBigEndian(payload);
    if (type == kPing && (flags & kAck) != 0) ++pings_;
    if (type == kPing && flags == 0) SendFrame(kPing, kAck, 0, payload);
    if (type != kSettings || (flags & kAck) != 0) return;
    for (size_t i = 0; i + 6 <= payload.size(); i += 6) {
      if (FromBigEndian(payload.substr(i, 2)) != kInitialWindow) continue;
      const int64_t room = FromBigEndian(payload.substr(i + 2, 4));
      for (auto& [number, stream] : streams_) stream.room += room - first_room_;
      first_room_ = room;
    }
    SendFrame(kSettings, kAck, 0, "");
  }

  void Inflate(std::string_view block, std::map<std::string, std::string>* headers) {
    auto* next = reinterpret_cast<const uint8_t*>(block.data());
    size_t left = block.size();
    for (;;) {
      nghttp2_nv header;
      int flags = 0;
      const ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &header, &flags, next, left, 1);
      if (used < 0) return;
      next += used;
      left -= static_cast<size_t>(used);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
        (*headers)[std::string(reinterpret_cast<char*>(header.name), header.namelen)] =
            std::string(reinterpret_cast<char*>(header.value), header.valuelen);
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && left == 0) break;
    }
    nghttp2_hd_inflate_end_headers(inflater_);
  }

  const int socket_;
  nghttp2_hd_inflater* inflater_ = nullptr;
  bool is_open_ = false, is_closed_ = false, is_told_to_go_ = false;
  uint32_t next_ = 1;
  int64_t room_ = 65535, first_room_ = 65535;
  int pings_ = 0;
  std::string received_;
  std::map<uint32_t, Stream> streams_;
};

}  // namespace carillon
