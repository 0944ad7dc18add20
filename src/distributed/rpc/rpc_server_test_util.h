// Clients of gRPC for tests of RpcServer, and the server that they talk to.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>

#include "distributed/cluster/certificate_folder.h"
#include "distributed/rpc/admission.h"
#include "distributed/rpc/conversions.h"
#include "distributed/serving/service_test_util.h"
#include "temporary_folder.h"

namespace carillon {

using Channel = std::shared_ptr<grpc::Channel>;

inline grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// One call with one request; its status, and its answer.
struct Answer {
  grpc::Status status;
  std::string reply;
};
inline Answer Call(const Channel& channel, const char* method, const std::string& request,
                   grpc::ClientContext* context) {
  const grpc::internal::RpcMethod rpc(method, grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ByteBuffer in;
  Answer answer;
  answer.status = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
      channel.get(), rpc, context, BufferOf(request), &in);
  if (answer.status.ok()) answer.reply = ToString(in);
  return answer;
}
inline Answer Call(const Channel& channel, const char* method, const std::string& request) {
  grpc::ClientContext context;
  return Call(channel, method, request, &context);
}

// A call with as many messages as one likes, both ways.
class StreamCall {
 public:
  StreamCall(const Channel& channel, const char* method)
      : rpc_(method, grpc::internal::RpcMethod::BIDI_STREAMING),
        stream_(
            grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
                channel.get(), rpc_, &context_)) {}
  bool Write(const std::string& bytes) { return stream_->Write(BufferOf(bytes)); }
  void WritesDone() { stream_->WritesDone(); }
  // Nothing: there is no more.
  std::optional<std::string> Read() {
    grpc::ByteBuffer buffer;
    return stream_->Read(&buffer) ? std::optional(ToString(buffer)) : std::nullopt;
  }
  grpc::Status Finish() { return stream_->Finish(); }
  grpc::ClientContext& context() { return context_; }

 private:
  const grpc::internal::RpcMethod rpc_;
  grpc::ClientContext context_;
  const std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
};

// Over plain connections, and over TLS.
class RpcServerTest : public ServiceTest, public testing::WithParamInterface<bool> {
 protected:
  RpcServerTest() {
    if (!GetParam()) return;
    EXPECT_TRUE(MakeCertificateFolder({.folder = folder_.path() + "/certs",
                                       .cluster = {{"ps", {"h:1"}}, {"worker", {"h:2"}}}})
                    .ok());
  }

  std::shared_ptr<const Credentials> Of(const std::string& owner) const {
    if (!GetParam()) return std::make_shared<Credentials>();
    return std::make_shared<Credentials>(
        LoadCredentials({.tls_dir = folder_.path() + "/certs"}, {.name = owner}).value());
  }
  std::shared_ptr<const Credentials> ServerCredentials() const override { return Of("ps-0"); }

  // A connection of its own.
  Channel Connect(grpc_compression_algorithm packing = GRPC_COMPRESS_NONE) const {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetCompressionAlgorithm(packing);
    if (GetParam()) arguments.SetSslTargetNameOverride("ps-0.carillon");
    return grpc::CreateCustomChannel(server_->address(), ToChannelCredentials(*Of("worker-0")),
                                     arguments);
  }
  void ExpectServed(const Channel& channel) const {
    const Answer answer = Call(channel, "/test/Echo", "are you there?");
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.reply, "are you there?");
  }

 private:
  const TestFolder folder_;
};

inline std::string PlainOrTls(const testing::TestParamInfo<bool>& info) {
  return info.param ? "Tls" : "Plain";
}

}  // namespace carillon
