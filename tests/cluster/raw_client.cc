#include "raw_client.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <fstream>
#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/strings.h"

namespace carillon {
namespace {

Status StatusOf(const grpc::Status& status) {
  return Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// A line of /proc/self/status, in bytes.
int64_t ProcessBytes(const std::string& what) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(what + ":")) return std::stoll(line.substr(what.size() + 1)) << 10;
  }
  return 0;
}

}  // namespace

RawClient::RawClient(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(INT32_MAX);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel_ = grpc::CreateCustomChannel(StrCat("127.0.0.1:", port),
                                       grpc::InsecureChannelCredentials(), arguments);
}

RawClient::~RawClient() = default;

Status RawClient::Call(const std::string& method, const std::string& request, std::string* reply,
                       std::chrono::milliseconds deadline) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + deadline);
  const grpc::internal::RpcMethod rpc(method.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Slice slice(request);
  const grpc::ByteBuffer out(&slice, 1);
  grpc::ByteBuffer in;
  const grpc::Status status = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
      channel_.get(), rpc, &context, out, &in);
  if (status.ok() && reply != nullptr) {
    std::vector<grpc::Slice> slices;
    if (!in.Dump(&slices).ok()) return Internal("no reply");
    reply->clear();
    for (const grpc::Slice& piece : slices)
      reply->append(reinterpret_cast<const char*>(piece.begin()), piece.size());
  }
  return StatusOf(status);
}

Status RawClient::Master(const std::string& method, const google::protobuf::MessageLite& request,
                         google::protobuf::MessageLite* reply, std::chrono::milliseconds deadline) {
  std::string bytes;
  CARILLON_RETURN_IF_ERROR(
      Call("/tensorflow.MasterService/" + method, request.SerializeAsString(), &bytes, deadline));
  return reply->ParseFromString(bytes) ? absl::OkStatus() : Internal("the reply is malformed");
}

StatusOr<std::string> RawClient::CreateSession(const tensorflow::GraphDef& graph) {
  tensorflow::CreateSessionRequest request;
  *request.mutable_graph_def() = graph;
  tensorflow::CreateSessionResponse reply;
  CARILLON_RETURN_IF_ERROR(Master("CreateSession", request, &reply));
  return reply.session_handle();
}

Status RawClient::CloseSession(const std::string& handle) {
  tensorflow::CloseSessionRequest request;
  request.set_session_handle(handle);
  tensorflow::CloseSessionResponse reply;
  return Master("CloseSession", request, &reply);
}

Status RawClient::RunOnce(const tensorflow::GraphDef& graph, const std::string& fetch,
                          std::chrono::milliseconds timeout) {
  CARILLON_ASSIGN_OR_RETURN(const std::string handle, CreateSession(graph));
  tensorflow::RunStepRequest request;
  request.set_session_handle(handle);
  request.add_fetch(fetch);
  request.mutable_options()->set_timeout_in_ms(timeout.count());
  tensorflow::RunStepResponse reply;
  const Status status = Master("RunStep", request, &reply);
  CARILLON_RETURN_IF_ERROR(CloseSession(handle));
  return status;
}

tensorflow::GraphDef GraphOf(const std::string& text) {
  tensorflow::GraphDef graph;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &graph)) << text;
  return graph;
}

std::string ConstText(const std::string& name, const std::vector<int64_t>& values,
                      const std::string& dtype, bool scalar) {
  std::string list;
  for (const int64_t value : values)
    StrAppend(&list, dtype == "DT_INT64" ? " int64_val: " : " int_val: ", value);
  const std::string shape = scalar ? "" : StrCat("dim { size: ", values.size(), " }");
  return NodeText(name, "Const", {},
                  Attr("dtype", "type: " + dtype) +
                      Attr("value", StrCat("tensor { dtype: ", dtype, " tensor_shape { ", shape,
                                           " }", list, " }")));
}

std::string NodeText(const std::string& name, const std::string& op,
                     const std::vector<std::string>& inputs, const std::string& attrs) {
  std::string text = StrCat("node { name: \"", name, "\" op: \"", op, "\"");
  for (const std::string& input : inputs) StrAppend(&text, " input: \"", input, "\"");
  return StrCat(text, attrs, " }\n");
}

std::string Attr(const std::string& name, const std::string& value) {
  return StrCat(" attr { key: \"", name, "\" value { ", value, " } }");
}

namespace {

int ConnectTo(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

std::string BigEndian(uint32_t value, int bytes) {
  std::string result;
  while (bytes-- > 0) result += static_cast<char>(value >> (8 * bytes));
  return result;
}

uint32_t FromBigEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<uint8_t>(byte);
  return value;
}

// A header of HTTP/2 as it is, in no table.
std::string Header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

// Frames of HTTP/2.
constexpr char kData = 0, kHeaders = 1, kSettings = 4, kPing = 6, kWindowUpdate = 8;
constexpr char kAck = 1, kEndOfHeaders = 4;
constexpr size_t kFrameHead = 9;

}  // namespace

HalfSentMessage::HalfSentMessage(int port, const std::string& method, uint32_t announced)
    : socket_(ConnectTo(port)) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  send(socket_, preface.data(), preface.size(), MSG_NOSIGNAL);
  WriteFrame(kSettings, 0, 0, "");
  WriteFrame(kHeaders, kEndOfHeaders, 1,
             Header(":method", "POST") + Header(":scheme", "http") + Header(":path", method) +
                 Header(":authority", "server") + Header("content-type", "application/grpc") +
                 Header("te", "trailers"));
  WriteFrame(kData, 0, 1, std::string(1, '\0') + BigEndian(announced, 4));
  connection_room_ -= 5;
  stream_room_ -= 5;
}

HalfSentMessage::~HalfSentMessage() { close(socket_); }

int64_t HalfSentMessage::Send(int64_t bytes) {
  int64_t sent = 0;
  while (sent < bytes && is_open_) {
    const int64_t size = std::min({bytes - sent, int64_t{16384}, connection_room_, stream_room_});
    if (size <= 0) {
      if (!AwaitRoom()) break;
      continue;
    }
    WriteFrame(kData, 0, 1, std::string(static_cast<size_t>(size), 'x'));
    connection_room_ -= size;
    stream_room_ -= size;
    sent += size;
  }
  return sent;
}

void HalfSentMessage::WriteFrame(char type, char flags, uint32_t stream,
                                 const std::string& payload) {
  const std::string frame = BigEndian(static_cast<uint32_t>(payload.size()), 3) + type + flags +
                            BigEndian(stream, 4) + payload;
  if (send(socket_, frame.data(), frame.size(), MSG_NOSIGNAL) < 0) is_open_ = false;
}

bool HalfSentMessage::AwaitRoom() {
  const timeval a_while{.tv_sec = 1, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &a_while, sizeof(a_while));
  char bytes[4096];
  const ssize_t got = recv(socket_, bytes, sizeof(bytes), 0);
  if (got <= 0) return false;
  received_.append(bytes, static_cast<size_t>(got));
  while (received_.size() >= kFrameHead) {
    const uint32_t length = FromBigEndian(std::string_view(received_).substr(0, 3));
    if (received_.size() < kFrameHead + length) break;
    const std::string payload = received_.substr(kFrameHead, length);
    const uint32_t stream = FromBigEndian(std::string_view(received_).substr(5, 4));
    if (received_[3] == kWindowUpdate)
      (stream == 0 ? connection_room_ : stream_room_) += FromBigEndian(payload);
    for (size_t i = 0; received_[3] == kSettings && i + 6 <= payload.size(); i += 6) {
      if (FromBigEndian(payload.substr(i, 2)) != 4) continue;  // the room of a new stream
      const int64_t room = FromBigEndian(payload.substr(i + 2, 4));
      stream_room_ += room - std::exchange(first_room_, room);
    }
    if (received_[3] == kPing && received_[4] == 0) WriteFrame(kPing, kAck, 0, payload);
    if (received_[3] == kSettings && received_[4] == 0) WriteFrame(kSettings, kAck, 0, "");
    received_.erase(0, kFrameHead + length);
  }
  return true;
}

SilentConnections::~SilentConnections() {
  for (const int socket : sockets_) close(socket);
}

bool SilentConnections::Open(int port) {
  const int fd = ConnectTo(port);
  if (fd >= 0) sockets_.push_back(fd);
  return fd >= 0;
}

bool SilentConnections::Send(const std::string& bytes) {
  return send(sockets_.back(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

bool SilentConnections::WaitUntilClosed() {
  const timeval longest{.tv_sec = 60, .tv_usec = 0};
  setsockopt(sockets_.back(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
  char bytes[256];
  ssize_t got;
  while ((got = recv(sockets_.back(), bytes, sizeof(bytes), 0)) > 0) {
  }
  return got == 0 || errno == ECONNRESET;
}

int64_t ResidentBytes() { return ProcessBytes("VmRSS"); }
int64_t PeakResidentBytes() { return ProcessBytes("VmHWM"); }
void ResetPeakResidentBytes() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace carillon
