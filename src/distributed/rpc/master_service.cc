#include "distributed/rpc/master_service.h"

#include <condition_variable>
#include <google/protobuf/io/coded_stream.h>
#include <mutex>
#include <optional>

#include "base/strings.h"
#include "base/work_scope.h"
#include "distributed/rpc/feed_placer.h"
#include "distributed/rpc/guard.h"
#include "distributed/serving/unary_handler.h"
#include "proto/master.pb.h"
#include "tensor/memory_charge.h"
#include "tensor/parsed_bytes.h"

namespace carillon {
namespace {

// Up to here a request is read without counting what that takes, a megabyte or so.
constexpr size_t kUncountedRequest = 4 << 10;
// Larger requests are read on another thread.
constexpr size_t kSmallRequest = 64 << 10;

// Answers that take more memory of their own are counted.
constexpr int64_t kSmallAnswer = 64 << 10;

constexpr std::chrono::seconds kDeadlineSlack{1};

Status CancelledByClient() {
  return absl::CancelledError("the client cancelled the call, its deadline passed, or it is gone");
}

Status Parse(const ReceivedMessage& bytes, google::protobuf::Message* message) {
  ReceivedMessage::Stream stream(bytes);
  if (message->ParseFromZeroCopyStream(&stream)) return absl::OkStatus();
  return InvalidArgument("the bytes are no ", message->GetTypeName(),
                         ": they are cut off or malformed, nested too deeply, or a name in them "
                         "is not UTF-8");
}

MessagePieces Serialize(const google::protobuf::Message& message) {
  MessagePieces pieces;
  pieces.AddFields(message.SerializeAsString());
  return pieces;
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
  CallCount calls;
};

// One call. It is held by the server while that lasts, and by whoever is about to answer it.
class MasterCall : public UnaryHandler, public std::enable_shared_from_this<MasterCall> {
 public:
  MasterCall(Context* context, std::shared_ptr<ServedCall> call)
      : UnaryHandler(std::move(call)), context_(*context) {
    context_.calls.Begin();
  }
  ~MasterCall() override {
    if (client_is_gone_ && !session_.empty()) {
      context_.threads->Start(
          [master = context_.master, session = session_] { master->Abandon(session); });
    }
    context_.calls.End();
  }

 protected:
  // Before a `Request` is read: counts what it will take, and what is made of its names, until the
  // call has ended.
  template <typename Request>
  Status Count(const ReceivedMessage& bytes) {
    if (bytes.size() <= kUncountedRequest) return absl::OkStatus();
    ReceivedMessage::Stream stream(bytes);
    google::protobuf::io::CodedInputStream in(&stream);
    in.PushLimit(static_cast<int>(bytes.size()));
    const size_t most = MostParsedBytes(&in, *Request::descriptor());
    memory_.emplace(context_.master->AllocatorOf(/*session_handle=*/"").get());
    return memory_->Add(static_cast<int64_t>(2 * (most - std::min(most, bytes.size()))));
  }

  void OnBrokenOff(By by) override {
    // A client whose deadline has passed goes on; one that broke off before is gone. At the client
    // it may pass a little earlier than here.
    client_is_gone_ =
        by == By::kClient && call_->info().deadline > CallInfo::Clock::now() + kDeadlineSlack;
  }

  Context& context_;
  std::string session_;  // which ends with the client, if that goes during the call

 private:
  std::optional<MemoryCharge> memory_;
  std::atomic<bool> client_is_gone_{false};
};

// A call that is answered on a background thread.
template <typename Request, typename Response, typename Method>
class PlainCall final : public MasterCall {
 public:
  PlainCall(Context* context, std::shared_ptr<ServedCall> call, Method answer)
      : MasterCall(context, std::move(call)), answer_(answer) {}

 private:
  void OnRequest(ReceivedMessage message) override {
    auto bytes = std::make_shared<ReceivedMessage>(std::move(message));
    context_.threads->Start([self = shared_from_this(), this, bytes] {
      Response response;
      const Status status = Guard([&]() -> Status {
        Request request;
        CARILLON_RETURN_IF_ERROR(bytes->Unpack());
        CARILLON_RETURN_IF_ERROR(this->template Count<Request>(*bytes));
        CARILLON_RETURN_IF_ERROR(Parse(*bytes, &request));
        return answer_(*context_.master, request, &response);
      });
      if (!status.ok()) return call_->Finish(status);
      if constexpr (std::is_same_v<Response, tensorflow::CreateSessionResponse>)
        session_ = response.session_handle();
      call_->Answer(Serialize(response));
    });
  }

  const Method answer_;
};

// A RunStep or RunCallable. The step holds the call once it runs, not the other way round.
template <typename Step, typename Request, FeedPlacer::Kind kind>
class AnyStepCall : public MasterCall {
 public:
  using MasterCall::MasterCall;
  ~AnyStepCall() override {
    // The request may not have become whole.
    if (session_.empty()) session_ = feeds_.session_handle();
  }

 protected:
  virtual void Run(ReceivedMessage request, std::shared_ptr<Step> step) = 0;

  template <typename Read>
  Status ParseStep(ReceivedMessage bytes, Read read, Step* step) {
    CARILLON_RETURN_IF_ERROR(bytes.Unpack());
    CARILLON_RETURN_IF_ERROR(this->template Count<Request>(bytes));
    ReceivedMessage::Stream stream(bytes);
    google::protobuf::io::CodedInputStream in(&stream);
    in.PushLimit(static_cast<int>(bytes.size()));
    const std::vector<Tensor> contents = bytes.contents();
    const Status status =
        Guard([&] { return read(&in, contents, AllocatorOfSessions(), &step->request); });
    session_ = step->request.session_handle;
    return status;
  }

  // Sends the answer, which counts for the session until it is on its way. An error, with nothing
  // sent, when there is no room for it: nobody is there to catch what is thrown where a step ends.
  template <typename Reply>
  Status TryAnswer(const Reply& reply, MessagePieces (*write)(const Reply&)) {
    return Guard([&]() -> Status {
      const WorkPause pause;  // of a kernel that this may be called from
      std::shared_ptr<MemoryCharge> charge;
      if (const int64_t bytes = OwnBytes(reply); bytes > kSmallAnswer) {
        charge = std::make_shared<MemoryCharge>(context_.master->AllocatorOf(session_).get());
        CARILLON_RETURN_IF_ERROR(charge->Add(bytes));
      }
      MessagePieces answer = write(reply);
      answer.KeepWithIt(std::move(charge));
      call_->Answer(std::move(answer));
      return absl::OkStatus();
    });
  }

 private:
  auto AllocatorOfSessions() const {
    return [master = context_.master](const std::string& handle) {
      return master->AllocatorOf(handle);
    };
  }
  void OnPart(ReceivedMessage* part) override { feeds_.Place(part, AllocatorOfSessions()); }
  void OnRequest(ReceivedMessage request) override {
    // A packed one may become a thousand times as large.
    if (request.size() <= kSmallRequest && !request.is_packed())
      return Run(std::move(request), std::move(step_));
    auto bytes = std::make_shared<ReceivedMessage>(std::move(request));
    // That thread is for reading: the step may wait, and does so on its session's share of them.
    context_.threads->Start(
        [self = shared_from_this(), this, bytes] { Run(std::move(*bytes), std::move(step_)); });
  }
  void OnBrokenOff(By by) override {
    MasterCall::OnBrokenOff(by);
    if (const std::shared_ptr<Step> step = running_.lock()) step->Cancel(CancelledByClient());
  }

  FeedPlacer feeds_{kind};
  std::shared_ptr<Step> step_ = std::make_shared<Step>();  // until it runs
  const std::weak_ptr<Step> running_ = step_;
};

class RunStepCall final
    : public AnyStepCall<StepCall, tensorflow::RunStepRequest, FeedPlacer::Kind::kStep> {
 public:
  using AnyStepCall::AnyStepCall;

 private:
  void Run(ReceivedMessage request, std::shared_ptr<StepCall> step) override {
    step->done = [self = shared_from_this(), this, read = &step->request](StepReply reply) {
      Status status = reply.status;
      if (status.ok()) status = TryAnswer(reply, WriteStepReply);
      if (status.ok()) return;
      if (!read->store_errors_in_response_body) return call_->Finish(status);
      call_->Answer(WriteStepReply({.status = std::move(status)}));
    };
    if (Status status = ParseStep(std::move(request), ReadStepRequest, step.get()); !status.ok())
      return step->done({.status = std::move(status)});
    context_.master->RunStep(std::move(step), context_.threads);
  }
};

class RunCallableCall final : public AnyStepCall<CallableCall, tensorflow::RunCallableRequest,
                                                 FeedPlacer::Kind::kCallable> {
 public:
  using AnyStepCall::AnyStepCall;

 private:
  void Run(ReceivedMessage request, std::shared_ptr<CallableCall> step) override {
    step->done = [self = shared_from_this(), this](Status status, CallableReply reply) {
      if (status.ok()) status = TryAnswer(reply, WriteCallableReply);
      if (!status.ok()) call_->Finish(status);
    };
    if (Status status = ParseStep(std::move(request), ReadCallableRequest, step.get());
        !status.ok())
      return step->done(std::move(status), {});
    context_.master->RunCallable(std::move(step), context_.threads);
  }
};

}  // namespace

struct MasterService::State {
  // Adds a method whose calls `make` makes a handler of.
  template <typename Make>
  void Add(RpcServer* server, const char* method, Make make) {
    server->AddMethod(
        StrCat("/tensorflow.MasterService/", method),
        [this, make](std::shared_ptr<ServedCall> call) -> std::shared_ptr<CallHandler> {
          const Status status = context.admission->AdmitClient(call->info());
          if (status.ok()) return make(&context, std::move(call));
          call->Finish(status);
          return nullptr;
        });
  }
  template <typename Request, typename Response, typename Method>
  void AddPlain(RpcServer* server, const char* method, Method answer) {
    Add(server, method, [answer](Context* context, std::shared_ptr<ServedCall> call) {
      return std::make_shared<PlainCall<Request, Response, Method>>(context, std::move(call),
                                                                    answer);
    });
  }

  Context context;
};

MasterService::MasterService(Master* master, Admission* admission, BackgroundThreads* threads)
    : state_(std::make_unique<State>()) {
  state_->context.master = master;
  state_->context.admission = admission;
  state_->context.threads = threads;
}

MasterService::~MasterService() { WaitForCalls(); }

void MasterService::AddTo(RpcServer* server) {
#define CARILLON_MASTER_CALL(name, ...)                                                           \
  state_->AddPlain<tensorflow::name##Request, tensorflow::name##Response>(                        \
      server, #name,                                                                              \
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
  state_->Add(server, "RunStep", [](Context* context, std::shared_ptr<ServedCall> call) {
    return std::make_shared<RunStepCall>(context, std::move(call));
  });
  state_->Add(server, "RunCallable", [](Context* context, std::shared_ptr<ServedCall> call) {
    return std::make_shared<RunCallableCall>(context, std::move(call));
  });
}

void MasterService::WaitForCalls() { state_->context.calls.WaitForNone(); }

}  // namespace carillon
