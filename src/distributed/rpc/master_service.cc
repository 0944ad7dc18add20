#include "distributed/rpc/master_service.h"

#include <condition_variable>
#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <mutex>
#include <thread>

#include "base/strings.h"
#include "base/throw.h"
#include "distributed/rpc/conversions.h"
#include "proto/master.grpc.pb.h"

namespace carillon {
namespace {

using grpc::ByteBuffer;
using tensorflow::MasterService;

// All requests come as bytes: what is no such message is InvalidArgument (gRPC itself would say
// Internal).
using RawService = MasterService::WithRawMethod_CreateSession<
    MasterService::WithRawMethod_ExtendSession<MasterService::WithRawMethod_PartialRunSetup<
        MasterService::WithRawMethod_RunStep<MasterService::WithRawMethod_CloseSession<
            MasterService::WithRawMethod_ListDevices<MasterService::WithRawMethod_Reset<
                MasterService::WithRawMethod_MakeCallable<MasterService::WithRawMethod_RunCallable<
                    MasterService::WithRawMethod_ReleaseCallable<MasterService::Service>>>>>>>>>>;
using RequestMethod = void (RawService::*)(grpc::ServerContext*, ByteBuffer*,
                                           grpc::ServerAsyncResponseWriter<ByteBuffer>*,
                                           grpc::CompletionQueue*, grpc::ServerCompletionQueue*,
                                           void*);

// Larger requests are read on another thread.
constexpr size_t kSmallRequest = 64 << 10;

constexpr std::chrono::seconds kDeadlineSlack{1};

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

Status Parse(ByteBuffer bytes, google::protobuf::Message* message) {
  grpc::ProtoBufferReader stream(&bytes);
  if (stream.status().ok() && message->ParseFromZeroCopyStream(&stream)) return absl::OkStatus();
  return InvalidArgument("the bytes are no ", message->GetTypeName(),
                         ": they are cut off or malformed, nested too deeply, or a name in them "
                         "is not UTF-8");
}

// How many calls are under way.
class CallCount {
 public:
  void Begin() {
    std::lock_guard lock(mutex_);
    ++calls_;
  }
  void End() {
    std::lock_guard lock(mutex_);
    if (--calls_ == 0) none_.notify_all();
  }
  void WaitForNone() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return calls_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int calls_ = 0;
};

struct Context {
  Master* master;
  Admission* admission;
  BackgroundThreads* threads;
  RawService service;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  CallCount calls;
};

// One call, from the moment that the server is ready to take it. gRPC reports three events, on the
// thread that takes calls: that it arrived; that its answer was sent; that it is over, or broken
// off before that. With the last two it is deleted. The answer may be given by any thread.
class Call {
 public:
  Call(Context* context, RequestMethod method) : context_(*context), method_(method) {}
  virtual ~Call() = default;

  struct Event {
    Call* call;
    void (Call::*handle)(bool ok);
  };

  // Waits for a call of the method.
  void Await() {
    grpc_.AsyncNotifyWhenDone(&over_);
    (context_.service.*method_)(&grpc_, &request_, &writer_, context_.queue.get(),
                                context_.queue.get(), &arrived_);
  }

 protected:
  // Answers, here if that is quick.
  virtual void Serve() = 0;
  virtual void Cancel(const Status&) {}
  virtual std::string session() const { return ""; }  // once it is answered
  virtual std::unique_ptr<Call> Another() const = 0;

  void Answer(const Status& status) {
    std::lock_guard lock(answering_);
    if (status.ok()) return writer_.Finish(response_, grpc::Status::OK, &sent_);
    writer_.FinishWithError(ToGrpcStatus(status), &sent_);
  }
  void Answer(const MessagePieces& pieces) {
    response_ = ToByteBuffer(pieces);
    Answer(absl::OkStatus());
  }

  Context& context_;
  const RequestMethod method_;
  ByteBuffer request_, response_;

 private:
  void Arrived(bool ok) {
    if (!ok) {  // the server stops: nobody called
      delete this;
      return;
    }
    context_.calls.Begin();
    if (const grpc::Status refused = context_.admission->AdmitClient(grpc_); refused.ok()) {
      Serve();
    } else {
      Answer(FromGrpcStatus(refused));
    }
    // Not before, since it takes a while and the client waits. This is still here, as its next
    // event comes to this thread.
    Another().release()->Await();
  }
  void Sent(bool) { OneEventLess(); }
  void Over(bool) {
    if (grpc_.IsCancelled()) {
      Cancel(CancelledByClient());
      // A client whose deadline has passed goes on; one whose call broke off before is gone. At the
      // client it may pass a little earlier than here.
      client_is_gone_ = grpc_.deadline() > std::chrono::system_clock::now() + kDeadlineSlack;
    }
    OneEventLess();
  }
  void OneEventLess() {
    if (--events_ > 0) return;
    { std::lock_guard wait_for_answer(answering_); }
    if (client_is_gone_ && !session().empty()) {
      context_.threads->Start(
          [master = context_.master, handle = session()] { master->Abandon(handle); });
    }
    CallCount& calls = context_.calls;
    delete this;
    calls.End();
  }

  grpc::ServerContext grpc_;
  grpc::ServerAsyncResponseWriter<ByteBuffer> writer_{&grpc_};
  std::mutex answering_;  // held while gRPC takes the answer, so that the call outlives that
  Event arrived_{this, &Call::Arrived}, sent_{this, &Call::Sent}, over_{this, &Call::Over};
  int events_ = 2;  // still to come once it arrived
  bool client_is_gone_ = false;
};

// A call that is answered on a background thread.
template <typename Request, typename Response, typename Method>
class PlainCall final : public Call {
 public:
  PlainCall(Context* context, RequestMethod method, Method answer)
      : Call(context, method), answer_(answer) {}

 private:
  void Serve() override {
    context_.threads->Start([this] {
      Answer(Guard([&]() -> Status {
        Request request;
        Response response;
        CARILLON_RETURN_IF_ERROR(Parse(request_, &request));
        CARILLON_RETURN_IF_ERROR(answer_(*context_.master, request, &response));
        bool own_buffer = false;
        return FromGrpcStatus(
            grpc::SerializationTraits<Response>::Serialize(response, &response_, &own_buffer));
      }));
    });
  }
  std::unique_ptr<Call> Another() const override {
    return std::make_unique<PlainCall>(&context_, method_, answer_);
  }

  const Method answer_;
};

// A RunStep or RunCallable. `Step` is held by the call and by the step, which may be the last to
// go.
template <typename Step>
class AnyStepCall : public Call {
 public:
  using Call::Call;

 private:
  // `unless_quick`: as of Master::RunStep.
  virtual void Run(BackgroundThreads* unless_quick) = 0;

  void Serve() override {
    if (request_.Length() <= kSmallRequest) return Run(context_.threads);
    context_.threads->Start([this] { Run(nullptr); });
  }
  void Cancel(const Status& status) override { step_->Cancel(status); }
  std::string session() const override { return step_->request.session_handle; }

 protected:
  // Reads the request with `read`, from memory that gRPC gives back right away.
  template <typename Read>
  Status ParseStep(Read read) {
    ByteBuffer bytes;
    bytes.Swap(&request_);
    grpc::ProtoBufferReader stream(&bytes);
    google::protobuf::io::CodedInputStream in(&stream);
    in.PushLimit(static_cast<int>(bytes.Length()));
    CARILLON_RETURN_IF_ERROR(FromGrpcStatus(stream.status()));
    return Guard([&] {
      return read(
          &in, [this](const std::string& handle) { return context_.master->AllocatorOf(handle); },
          &step_->request);
    });
  }

  const std::shared_ptr<Step> step_ = std::make_shared<Step>();
};

class RunStepCall final : public AnyStepCall<StepCall> {
 public:
  explicit RunStepCall(Context* context) : AnyStepCall(context, &RawService::RequestRunStep) {}

 private:
  void Run(BackgroundThreads* unless_quick) override {
    step_->done = [this](StepReply reply) {
      if (!reply.status.ok() && !step_->request.store_errors_in_response_body)
        return Answer(reply.status);
      Answer(WriteStepReply(reply));
    };
    const std::shared_ptr<StepCall> step = step_;  // the call may go with its answer
    if (Status status = ParseStep(ReadStepRequest); !status.ok())
      return step->done({.status = std::move(status)});
    context_.master->RunStep(step, unless_quick);
  }
  std::unique_ptr<Call> Another() const override {
    return std::make_unique<RunStepCall>(&context_);
  }
};

class RunCallableCall final : public AnyStepCall<CallableCall> {
 public:
  explicit RunCallableCall(Context* context)
      : AnyStepCall(context, &RawService::RequestRunCallable) {}

 private:
  void Run(BackgroundThreads* unless_quick) override {
    step_->done = [this](Status status, CallableReply reply) {
      if (!status.ok()) return Answer(status);
      Answer(WriteCallableReply(reply));
    };
    const std::shared_ptr<CallableCall> step = step_;  // the call may go with its answer
    if (Status status = ParseStep(ReadCallableRequest); !status.ok())
      return step->done(std::move(status), {});
    context_.master->RunCallable(step, unless_quick);
  }
  std::unique_ptr<Call> Another() const override {
    return std::make_unique<RunCallableCall>(&context_);
  }
};

template <typename Request, typename Response, typename Method>
void TakePlainCalls(Context* context, RequestMethod method, Method answer) {
  (new PlainCall<Request, Response, Method>(context, method, answer))->Await();
}

void TakeCalls(Context* context) {
#define CARILLON_MASTER_CALL(name, ...)                                                           \
  TakePlainCalls<tensorflow::name##Request, tensorflow::name##Response>(                          \
      context, &RawService::Request##name,                                                        \
      []([[maybe_unused]] Master& master, const auto& request, [[maybe_unused]] auto* response) { \
        return master.name(__VA_ARGS__);                                                          \
      })
  CARILLON_MASTER_CALL(CreateSession, request, response);
  CARILLON_MASTER_CALL(ExtendSession, request, response);
  CARILLON_MASTER_CALL(PartialRunSetup, request, response);
  CARILLON_MASTER_CALL(MakeCallable, request, response);
  CARILLON_MASTER_CALL(ReleaseCallable, request);
  CARILLON_MASTER_CALL(ListDevices, request, response);
  CARILLON_MASTER_CALL(CloseSession, request);
  CARILLON_MASTER_CALL(Reset, request);
#undef CARILLON_MASTER_CALL
  (new RunStepCall(context))->Await();
  (new RunCallableCall(context))->Await();
}

}  // namespace

struct MasterServer::State {
  Context context;
  std::thread thread;
};

MasterServer::MasterServer(Master* master, Admission* admission, BackgroundThreads* threads)
    : state_(std::make_unique<State>()) {
  state_->context.master = master;
  state_->context.admission = admission;
  state_->context.threads = threads;
}

MasterServer::~MasterServer() { Stop(); }

void MasterServer::AddTo(grpc::ServerBuilder* builder) {
  state_->context.queue = builder->AddCompletionQueue();
  builder->RegisterService(&state_->context.service);
}

void MasterServer::Start() {
  TakeCalls(&state_->context);
  state_->thread = std::thread([this] {
    void* tag = nullptr;
    bool ok = false;
    while (state_->context.queue->Next(&tag, &ok)) {
      const Call::Event& event = *static_cast<Call::Event*>(tag);
      (event.call->*event.handle)(ok);
    }
  });
}

void MasterServer::Stop() {
  if (!state_->thread.joinable()) return;
  state_->context.calls.WaitForNone();
  state_->context.queue->Shutdown();
  state_->thread.join();
}

}  // namespace carillon
