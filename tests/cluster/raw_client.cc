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
#include "distributed/rpc/conversions.h"

namespace carillon {

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
  if (status.ok() && reply != nullptr) *reply = ToString(in);
  return FromGrpcStatus(status);
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

}  // namespace

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

}  // namespace carillon
