#include "distributed/rpc/task_network.h"

#include <algorithm>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/generic/generic_stub.h>
#include <utility>
#include <vector>

#include "base/background.h"
#include "base/logging.h"
#include "base/random_id.h"
#include "base/strings.h"
#include "distributed/cluster/task_wire.h"
#include "distributed/rpc/admission.h"
#include "distributed/rpc/conversions.h"
#include "distributed/rpc/grpc_setup.h"
#include "distributed/rpc/guard.h"
#include "distributed/rpc/task_calls.h"
#include "distributed/rpc/task_link.h"
#include "distributed/serving/call_metadata.h"
#include "distributed/serving/unary_handler.h"

namespace carillon {
namespace {

using grpc::ByteBuffer;

constexpr size_t kLargestMessage = size_t{INT32_MAX} - (1 << 20);  // what gRPC takes, and slack
constexpr size_t kLargestQuestion = 1 << 20;
constexpr std::chrono::seconds kSayDone{2};

constexpr std::pair<TaskQuestion, const char*> kQuestions[] = {
    {TaskQuestion::kDevices, kDevicesMethod}, {TaskQuestion::kReset, kResetMethod}};

Status ShuttingDown() { return absl::UnavailableError("the task is shutting down"); }

// All tensors of a message travel in one of gRPC's.
Status CheckSize(const TaskMessage& message) {
  size_t bytes = 0;
  const auto add = [&](const Tensor& tensor) {
    if (tensor.has_value() && IsPlainData(tensor.dtype())) bytes += tensor.num_bytes();
  };
  const auto add_all = [&](const std::vector<IndexedTensor>& list) {
    for (const auto& [index, tensor] : list) add(tensor);
  };
  if (const auto* deliver = std::get_if<Deliver>(&message)) add(deliver->value);
  if (const auto* start = std::get_if<StartStep>(&message)) add_all(start->feeds);
  if (const auto* done = std::get_if<StepDone>(&message)) add_all(done->fetches);
  if (bytes <= kLargestMessage) return absl::OkStatus();
  return Unimplemented("tensors of 2 GB or more cannot be sent to another task in one message");
}

}  // namespace

struct TaskNetwork::State {
  State(TaskNetworkOptions given, TaskListener* listener);

  // What other tasks call.
  class Messages;
  class Heartbeats;
  class Question;
  template <typename Handler, typename... Args>
  MakeHandler HandlerOf(Args... args);

  // Makes such calls to several tasks at once and waits for their ends.
  struct CallOptions {
    std::chrono::milliseconds patience;
    bool wait_for_ready = false;  // else a task that is not there is an error at once
  };
  std::map<std::string, StatusOr<std::string>> Call(const std::vector<std::string>& tasks,
                                                    const char* method, const std::string& request,
                                                    const CallOptions& call_options) const;
  // Refuses callers that are no tasks of the cluster, or cannot show it.
  Status Admit(const CallInfo& call);
  // Answers a caller's hello; with a ticket that it may send by UCX with, if it wants one.
  Status Welcome(IncomingCall* call, const std::string& from, uint64_t ticket);
  void Leave(IncomingCall* call);
  // Ends the calls of a task, so that it sees that nothing it has sent is going to be answered.
  void Drop(const std::string& task);
  // Likewise, those that came by one connection: the end of an old one may be seen when there is a
  // new one.
  void DropConnection(const Caller& caller);
  void DropForNonsense(const std::string& task, const Status& status) {
    LogWarning("closed the connection of ", task, ": ", status.message());
    Drop(task);
  }

  void TakeFrame(uint64_t ticket, StatusOr<ReceivedFrame> frame);
  // Reads messages with `read`, which tells them to what it is given.
  template <typename Read>
  Status TellMessages(const std::string& from, Read read) {
    return Guard([&] {
      return read([&](TaskMessage message) { listener->OnMessage(from, std::move(message)); });
    });
  }

  // Calls of others may tell the listener something while one lives that is not false. Stop() waits
  // for it.
  class Telling {
   public:
    explicit Telling(State* network) : network_(*network) {
      std::lock_guard lock(network_.mutex);
      may_ = !network_.stopping;
      if (may_) ++network_.telling;
    }
    ~Telling() {
      if (!may_) return;
      std::lock_guard lock(network_.mutex);
      if (--network_.telling == 0) network_.nothing_told.notify_all();
    }
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;
    explicit operator bool() const { return may_; }

   private:
    State& network_;
    bool may_;
  };

  const TaskNetworkOptions options;
  TaskListener* const listener;
  Admission admission;
  LogThrottle strangers;
  std::atomic<int64_t> bytes_sent{0}, bytes_received{0};
  std::unique_ptr<UcxTransport> ucx;  // null: not used
  Watchdog watchdog;
  std::map<std::string, std::unique_ptr<TaskLink>> links;  // never changes

  std::mutex mutex;
  std::map<IncomingCall*, std::string> incoming;  // and their tasks, under mutex
  std::map<std::string, int> heartbeats;          // incoming streams of a task, under mutex
  std::map<uint64_t, std::string> tickets;        // the tasks that send by UCX, under mutex
  bool stopping = false;                          // under mutex
  int telling = 0;                                // of Telling that may, under mutex
  std::condition_variable nothing_told;

  BackgroundPool threads;  // the last to be made: their work uses all of the above
};

// Messages come one after the other; each is read, and told, on a thread of the background.
class TaskNetwork::State::Messages final : public CallHandler,
                                           public std::enable_shared_from_this<Messages> {
 public:
  Messages(State* network, std::string from, std::shared_ptr<ServedCall> call)
      : network_(*network), from_(std::move(from)), call_(std::move(call)) {
    if (const Status status = network_.Welcome(&call_, from_, 0); !status.ok())
      call_.call->Finish(status);
  }
  ~Messages() override { network_.Leave(&call_); }

 private:
  void OnMessage(ReceivedMessage bytes) override {
    auto shared = std::make_shared<ReceivedMessage>(std::move(bytes));
    network_.threads.Start([self = shared_from_this(), shared] { self->Read(*shared); });
  }
  void OnLastMessage() override { call_.call->Finish(absl::OkStatus()); }
  void OnBrokenOff(By) override { network_.DropConnection(*call_.call->info().caller); }

  void Read(ReceivedMessage& bytes) {
    const Telling telling(&network_);
    if (!telling) return;  // the call is broken off
    network_.bytes_received += static_cast<int64_t>(bytes.size());
    const Status status = network_.TellMessages(from_, [&](const auto& tell) -> Status {
      CARILLON_RETURN_IF_ERROR(bytes.Unpack());
      ReceivedMessage::Stream stream(bytes);
      CodedInput in(&stream);
      in.PushLimit(static_cast<int>(bytes.size()));
      return ReadTaskMessages(&in, network_.options.allocator.get(), tell);
    });
    if (status.ok()) return call_.call->AskForMessage();
    call_.call->Finish(status);
    network_.DropForNonsense(from_, status);
  }

  State& network_;
  const std::string from_;
  IncomingCall call_;
};

// A task's signs of life, each of which is answered with one. When they end, it is lost.
class TaskNetwork::State::Heartbeats final : public CallHandler {
 public:
  Heartbeats(State* network, std::string from, std::shared_ptr<ServedCall> call)
      : network_(*network), from_(std::move(from)), call_(std::move(call)) {
    const bool by_ucx = network_.ucx != nullptr && call_.call->info().Find(kUcxKey) != nullptr;
    ticket_ = by_ucx ? RandomId() : 0;
    if (const Status status = network_.Welcome(&call_, from_, ticket_); !status.ok()) {
      call_.call->Finish(status);
      return;
    }
    is_welcome_ = true;
    network_.watchdog.Add(&call_);
    std::lock_guard lock(network_.mutex);
    ++network_.heartbeats[from_];
  }
  ~Heartbeats() override {
    if (!is_welcome_) return;
    const Telling telling(&network_);
    network_.watchdog.Remove(&call_);
    network_.Leave(&call_);
    bool is_lost;
    {
      std::lock_guard lock(network_.mutex);
      if (network_.tickets.erase(ticket_) > 0) network_.ucx->Forget(ticket_);
      is_lost = --network_.heartbeats[from_] == 0 && telling;
    }
    const auto link = network_.links.find(from_);
    if (is_lost && (link == network_.links.end() || !link->second->Break()))
      network_.listener->OnLost(from_, call_.WhyLost(from_, network_.options.silence));
  }

 private:
  void OnMessage(ReceivedMessage) override {
    call_.Heard();
    call_.call->Send({});
    call_.call->AskForMessage();
  }
  void OnLastMessage() override { call_.call->Finish(absl::OkStatus()); }

  State& network_;
  const std::string from_;
  IncomingCall call_;
  uint64_t ticket_ = 0;
  bool is_welcome_ = false;
};

// One request and one answer, which may take a while.
class TaskNetwork::State::Question final : public UnaryHandler,
                                           public std::enable_shared_from_this<Question> {
 public:
  using Answer = std::function<StatusOr<std::string>(const std::string& from, std::string request)>;
  Question(State* network, std::string from, std::shared_ptr<ServedCall> call, Answer answer)
      : UnaryHandler(std::move(call)),
        network_(*network),
        from_(std::move(from)),
        answer_(std::move(answer)) {}

 private:
  void OnRequest(ReceivedMessage request) override {
    auto bytes = std::make_shared<ReceivedMessage>(std::move(request));
    network_.threads.Start([self = shared_from_this(), this, bytes] {
      const Telling telling(&network_);
      if (!telling) return call_->Finish(ShuttingDown());
      const Status status = Guard([&] { return TryToAnswer(bytes.get()); });
      if (!status.ok()) call_->Finish(status);
    });
  }
  Status TryToAnswer(ReceivedMessage* request) {
    // A packed one is larger when it is unpacked.
    CARILLON_RETURN_IF_ERROR(CheckSize(*request));
    CARILLON_RETURN_IF_ERROR(request->Unpack());
    CARILLON_RETURN_IF_ERROR(CheckSize(*request));
    CARILLON_ASSIGN_OR_RETURN(std::string answer, answer_(from_, request->ToString()));
    MessagePieces pieces;
    pieces.AddFields(std::move(answer));
    call_->Answer(std::move(pieces));
    return absl::OkStatus();
  }
  static Status CheckSize(const ReceivedMessage& request) {
    if (request.size() <= kLargestQuestion) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        StrCat("a question of ", request.size(), " bytes is too large for a task"));
  }

  State& network_;
  const std::string from_;
  const Answer answer_;
};

template <typename Handler, typename... Args>
MakeHandler TaskNetwork::State::HandlerOf(Args... args) {
  return [this, args...](std::shared_ptr<ServedCall> call) -> std::shared_ptr<CallHandler> {
    const Status status = Admit(call->info());
    if (status.ok())
      return std::make_shared<Handler>(this, *call->info().Find(kTaskKey), call, args...);
    call->Finish(status);
    return nullptr;
  };
}

TaskNetwork::State::State(TaskNetworkOptions given, TaskListener* listener)
    : options(std::move(given)),
      listener(listener),
      admission(options.credentials, false),
      watchdog(options.silence) {
  SetUpGrpc();
  if (options.credentials->has_tls()) {
    LogInfo("messages to other tasks go by gRPC, encrypted; not by UCX, which does not encrypt");
  } else if (options.transport != Transport::kGrpc) {
    auto made = UcxTransport::Make(
        {.tcp = options.transport == Transport::kUcx, .allocator = options.allocator},
        [this](uint64_t ticket, StatusOr<ReceivedFrame> frame) {
          TakeFrame(ticket, std::move(frame));
        });
    if (made.ok()) {
      ucx = *std::move(made);
    } else {
      LogInfo("messages to other tasks go by gRPC: ", made.status().message());
    }
  }
  const LinkServices services{options, listener, &watchdog, ucx.get(), &bytes_sent};
  for (const auto& [task, address] : options.addresses) {
    if (task != options.task) links[task] = std::make_unique<TaskLink>(services, task, address);
  }
}

Status TaskNetwork::State::Admit(const CallInfo& call) {
  const std::string* named = call.Find(kTaskKey);
  const std::string from = named == nullptr ? "" : *named;
  CARILLON_RETURN_IF_ERROR(admission.AdmitTask(call, from));
  if (options.addresses.contains(from)) return absl::OkStatus();
  strangers.Warn("refused ", call.caller->address, ": it calls itself '", WriteForLog(from),
                 "', which is no task of this cluster");
  return absl::PermissionDeniedError(
      StrCat("'", from, "' is no task of the cluster of ", options.task));
}

Status TaskNetwork::State::Welcome(IncomingCall* call, const std::string& from, uint64_t ticket) {
  bool can_read = false;
  const Telling telling(this);
  {
    std::lock_guard lock(mutex);
    if (stopping) return ShuttingDown();
    incoming.emplace(call, from);
    if (ticket != 0) {
      tickets[ticket] = from;
      can_read = ucx->Accept(ticket, *call->call->info().Find(kUcxKey));
    }
  }
  listener->OnHere(from);
  Metadata metadata{{kTaskKey, options.task}};
  if (ticket != 0)
    metadata.emplace_back(kUcxKey, WriteUcxOffer({ticket, can_read, ucx->address()}));
  call->call->SendMetadata(std::move(metadata));
  return absl::OkStatus();
}

void TaskNetwork::State::Leave(IncomingCall* call) {
  std::lock_guard lock(mutex);
  incoming.erase(call);
}

void TaskNetwork::State::Drop(const std::string& task) {
  std::lock_guard lock(mutex);
  for (const auto& [call, from] : incoming) {
    if (from == task) call->Cancel();
  }
}

void TaskNetwork::State::DropConnection(const Caller& caller) {
  std::lock_guard lock(mutex);
  for (const auto& [call, from] : incoming) {
    if (call->call->info().caller.get() == &caller) call->Cancel();
  }
}

void TaskNetwork::State::TakeFrame(uint64_t ticket, StatusOr<ReceivedFrame> frame) {
  std::string from;
  {
    std::lock_guard lock(mutex);
    const auto found = tickets.find(ticket);
    if (found == tickets.end() || stopping) return;  // a task that was lost since, or nobody
    from = found->second;
  }
  Status status = frame.status();
  if (status.ok()) {
    bytes_received += static_cast<int64_t>(
        frame->bytes.size() + (frame->content.has_value() ? frame->content.num_bytes() : 0));
    status = TellMessages(from, [&](const auto& tell) {
      return ReadTaskMessages(frame->bytes, frame->content, frame->is_cut, options.allocator.get(),
                              tell);
    });
  }
  if (status.ok()) return;
  DropForNonsense(from, status);  // which ends the heartbeats, and with them the ticket
}

TaskNetwork::TaskNetwork(TaskNetworkOptions options, TaskListener* listener)
    : state_(std::make_unique<State>(std::move(options), listener)) {}

TaskNetwork::~TaskNetwork() { Stop(); }

void TaskNetwork::AddTo(RpcServer* server) {
  State* const network = state_.get();
  server->AddMethod(kMessagesMethod, network->HandlerOf<State::Messages>());
  server->AddMethod(kHeartbeatsMethod, network->HandlerOf<State::Heartbeats>());
  const auto answer = [&](const char* method, State::Question::Answer with) {
    server->AddMethod(method, network->HandlerOf<State::Question>(std::move(with)));
  };
  answer(kDoneMethod, [network](const std::string& from, const std::string&) {
    network->listener->OnDone(from);
    return std::string();
  });
  for (const auto& [question, method] : kQuestions) {
    answer(method, [network, question](const std::string& from, const std::string& request) {
      return network->listener->OnQuestion(from, question, request);
    });
  }
}

Status TaskNetwork::Send(const std::string& task, TaskMessage message) {
  std::vector<TaskMessage> one;
  one.push_back(std::move(message));
  return SendAll(task, std::move(one));
}

Status TaskNetwork::SendAll(const std::string& task, std::vector<TaskMessage> messages) {
  const auto link = state_->links.find(task);
  if (link == state_->links.end())
    return absl::NotFoundError(StrCat("there is no task '", task, "' in the cluster"));
  for (const TaskMessage& message : messages) CARILLON_RETURN_IF_ERROR(CheckSize(message));
  link->second->Send(std::move(messages));
  return absl::OkStatus();
}

std::map<std::string, StatusOr<std::string>> TaskNetwork::State::Call(
    const std::vector<std::string>& tasks, const char* method, const std::string& request,
    const CallOptions& call_options) const {
  struct Call {
    std::shared_ptr<grpc::Channel> channel;
    grpc::ClientContext context;
    ByteBuffer answer;
    grpc::Status status;
  };
  MessagePieces pieces;
  pieces.AddFields(request);
  const ByteBuffer sent = ToByteBuffer(pieces);
  std::mutex mutex;
  std::condition_variable changed;
  size_t answered = 0;
  std::map<std::string, std::unique_ptr<Call>> calls;
  for (const std::string& task : tasks) {
    const std::string& address = options.addresses.at(task);
    Call& call = *calls.emplace(task, std::make_unique<Call>()).first->second;
    call.channel = OpenTaskChannel(task, address, *options.credentials);
    Sign(*options.credentials, &call.context);
    call.context.AddMetadata(kTaskKey, options.task);
    call.context.set_deadline(std::chrono::system_clock::now() + call_options.patience);
    call.context.set_wait_for_ready(call_options.wait_for_ready);
    grpc::GenericStub(call.channel)
        .UnaryCall(&call.context, method, grpc::StubOptions(), &sent, &call.answer,
                   [&](const grpc::Status& status) {
                     std::lock_guard lock(mutex);
                     call.status = status;
                     ++answered;
                     changed.notify_one();
                   });
  }
  std::map<std::string, StatusOr<std::string>> answers;
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return answered == calls.size(); });  // each has its deadline
  for (const auto& [task, call] : calls) {
    if (call->status.ok()) {
      answers.emplace(task, ToString(call->answer));
    } else {
      answers.emplace(task, FromGrpcStatus(call->status));
    }
  }
  return answers;
}

void TaskNetwork::SayDone() {
  std::vector<std::string> others;
  for (const auto& [task, address] : state_->options.addresses) {
    if (task != state_->options.task) others.push_back(task);
  }
  state_->Call(others, kDoneMethod, "", {.patience = kSayDone});
}

std::map<std::string, StatusOr<std::string>> TaskNetwork::Ask(const std::vector<std::string>& tasks,
                                                              TaskQuestion question,
                                                              const std::string& request,
                                                              std::chrono::milliseconds patience) {
  const char* const method =
      std::ranges::find(kQuestions, question, &std::pair<TaskQuestion, const char*>::first)->second;
  return state_->Call(tasks, method, request,
                      {.patience = patience, .wait_for_ready = question == TaskQuestion::kReset});
}

TaskNetwork::Traffic TaskNetwork::traffic() const {
  return {state_->bytes_sent, state_->bytes_received};
}

void TaskNetwork::Stop() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    for (const auto& [call, task] : state_->incoming) call->Cancel();
  }
  state_->watchdog.Stop();
  for (const auto& [task, link] : state_->links) link->Stop();
  if (state_->ucx != nullptr) state_->ucx->Stop();
  std::unique_lock lock(state_->mutex);
  state_->nothing_told.wait(lock, [this] { return state_->telling == 0; });
}

}  // namespace carillon
