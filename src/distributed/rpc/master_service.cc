#include "distributed/rpc/master_service.h"

#include <atomic>
#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "base/strings.h"
#include "base/throw.h"
#include "distributed/rpc/conversions.h"
#include "proto/master.grpc.pb.h"

namespace carillon {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using tensorflow::MasterService;

// A client whose deadline has passed goes on; one whose call broke off before is gone.
bool ClientIsGone(const CallbackServerContext& context) {
  return context.deadline() > std::chrono::system_clock::now();
}

Status CancelledByClient() {
  return absl::CancelledError("the client cancelled the call, its deadline passed, or it is gone");
}

// Whatever a request makes the code below throw is the client's error, not the server's end.
template <typename Body>
Status Guard(Body&& body) {
  Status status;
  const Status thrown = CatchAsStatus([&] { status = body(); });
  return thrown.ok() ? status : thrown;
}

// Where quick steps run: on gRPC's own threads, since handing them over would take longer than they
// do. One at a time, so that another of these threads, of which there are at least two, always
// waits for the network.
class QuickLane {
 public:
  bool TryEnter() { return !taken_.test_and_set(std::memory_order_acquire); }
  void Leave() { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_;
};
constexpr size_t kQuickRequestBytes = 64 << 10;

// One RunStep or RunCallable. Lives until gRPC is done with it and the step is: `Call` is held by
// both.
template <typename Call>
class StepReactor : public ServerUnaryReactor {
 public:
  StepReactor(Master* master, BackgroundThreads* threads, CallbackServerContext* context,
              const ByteBuffer* request, ByteBuffer* response)
      : master_(master),
        threads_(threads),
        context_(context),
        request_(request),
        response_(response) {}

  void OnCancel() override {
    call_->Cancel(CancelledByClient());
    client_gone_ = ClientIsGone(*context_);
  }

  void OnDone() override {
    if (client_gone_) {
      threads_->Start(
          [master = master_, handle = call_->request.session_handle] { master->Abandon(handle); });
    }
    delete this;
  }

 protected:
  // Reads the request with `read`, from memory that gRPC gives back right away.
  template <typename Read>
  Status Parse(Read read) {
    ByteBuffer buffer = *request_;
    grpc::ProtoBufferReader stream(&buffer);
    google::protobuf::io::CodedInputStream in(&stream);
    in.PushLimit(static_cast<int>(buffer.Length()));
    CARILLON_RETURN_IF_ERROR(FromGrpcStatus(stream.status()));
    return Guard([&] {
      return read(
          &in, [this](const std::string& handle) { return master_->AllocatorOf(handle); },
          &call_->request);
    });
  }

  void Reply(const MessagePieces& pieces) {
    *response_ = ToByteBuffer(pieces);
    Finish(grpc::Status::OK);
  }

  Master* const master_;
  BackgroundThreads* const threads_;
  CallbackServerContext* const context_;
  const ByteBuffer* const request_;
  ByteBuffer* const response_;
  const std::shared_ptr<Call> call_ = std::make_shared<Call>();
  bool client_gone_ = false;
};

class RunStepReactor final : public StepReactor<StepCall> {
 public:
  using StepReactor::StepReactor;

  void Start(BackgroundThreads* unless_quick) {
    call_->done = [this](StepReply reply) {
      if (!reply.status.ok() && !call_->request.store_errors_in_response_body)
        return Finish(ToGrpcStatus(reply.status));
      Reply(WriteStepReply(reply));
    };
    if (Status status = Parse(ReadStepRequest); !status.ok())
      return call_->done({.status = std::move(status)});
    master_->RunStep(call_, unless_quick);
  }
};

class RunCallableReactor final : public StepReactor<CallableCall> {
 public:
  using StepReactor::StepReactor;

  void Start(BackgroundThreads* unless_quick) {
    call_->done = [this](Status status, CallableReply reply) {
      if (!status.ok()) return Finish(ToGrpcStatus(status));
      Reply(WriteCallableReply(reply));
    };
    if (Status status = Parse(ReadCallableRequest); !status.ok())
      return call_->done(std::move(status), {});
    master_->RunCallable(call_, unless_quick);
  }
};

// All requests come as bytes, and are read on threads of ours: what is no such message is
// InvalidArgument (gRPC itself would say Internal), and a large one keeps nobody else waiting.
using RawService = MasterService::WithRawCallbackMethod_CreateSession<
    MasterService::WithRawCallbackMethod_ExtendSession<
        MasterService::WithRawCallbackMethod_PartialRunSetup<
            MasterService::WithRawCallbackMethod_RunStep<
                MasterService::WithRawCallbackMethod_CloseSession<
                    MasterService::WithRawCallbackMethod_ListDevices<
                        MasterService::WithRawCallbackMethod_Reset<
                            MasterService::WithRawCallbackMethod_MakeCallable<
                                MasterService::WithRawCallbackMethod_RunCallable<
                                    MasterService::WithRawCallbackMethod_ReleaseCallable<
                                        MasterService::Service>>>>>>>>>>;

class Service final : public RawService {
 public:
  Service(Master* master, BackgroundThreads* threads) : master_(master), threads_(threads) {}

  ServerUnaryReactor* RunStep(CallbackServerContext* context, const ByteBuffer* request,
                              ByteBuffer* response) override {
    return StartStep<RunStepReactor>(context, request, response);
  }
  ServerUnaryReactor* RunCallable(CallbackServerContext* context, const ByteBuffer* request,
                                  ByteBuffer* response) override {
    return StartStep<RunCallableReactor>(context, request, response);
  }

#define CARILLON_MASTER_CALL(name, ...)                                                           \
  ServerUnaryReactor* name(CallbackServerContext* context, const ByteBuffer* in, ByteBuffer* out) \
      override {                                                                                  \
    return Answer<tensorflow::name##Request, tensorflow::name##Response>(                         \
        context, in, out,                                                                         \
        [this](const auto& request, auto* response) { return master_->name(__VA_ARGS__); });      \
  }
  CARILLON_MASTER_CALL(CreateSession, request, response)
  CARILLON_MASTER_CALL(ExtendSession, request, response)
  CARILLON_MASTER_CALL(PartialRunSetup, request, response)
  CARILLON_MASTER_CALL(MakeCallable, request, response)
  CARILLON_MASTER_CALL(ReleaseCallable, request)
  CARILLON_MASTER_CALL(ListDevices, request, response)
  CARILLON_MASTER_CALL(CloseSession, request)
  CARILLON_MASTER_CALL(Reset, request)
#undef CARILLON_MASTER_CALL

 private:
  template <typename Reactor>
  ServerUnaryReactor* StartStep(CallbackServerContext* context, const ByteBuffer* request,
                                ByteBuffer* response) {
    auto* reactor = new Reactor(master_, threads_, context, request, response);
    if (request->Length() <= kQuickRequestBytes && lane_.TryEnter()) {
      reactor->Start(threads_);
      lane_.Leave();
    } else {
      threads_->Start([reactor] { reactor->Start(nullptr); });
    }
    return reactor;
  }

  template <typename Request, typename Response, typename Method>
  ServerUnaryReactor* Answer(CallbackServerContext* context, const ByteBuffer* in, ByteBuffer* out,
                             Method method) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    threads_->Start([reactor, in, out, method] {
      const Status status = Guard([&]() -> Status {
        Request request;
        Response response;
        CARILLON_RETURN_IF_ERROR(Parse(*in, &request));
        CARILLON_RETURN_IF_ERROR(method(request, &response));
        bool own_buffer = false;
        return FromGrpcStatus(
            grpc::SerializationTraits<Response>::Serialize(response, out, &own_buffer));
      });
      reactor->Finish(ToGrpcStatus(status));
    });
    return reactor;
  }

  static Status Parse(ByteBuffer bytes, google::protobuf::Message* message) {
    grpc::ProtoBufferReader stream(&bytes);
    if (stream.status().ok() && message->ParseFromZeroCopyStream(&stream)) return absl::OkStatus();
    return InvalidArgument("the bytes are no ", message->GetTypeName(),
                           ": they are cut off or malformed, nested too deeply, or a name in them "
                           "is not UTF-8");
  }

  Master* const master_;
  BackgroundThreads* const threads_;
  QuickLane lane_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeMasterService(Master* master, BackgroundThreads* threads) {
  return std::make_unique<Service>(master, threads);
}

}  // namespace carillon
