#include "distributed/rpc/task_network.h"

#include <algorithm>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/random_id.h"
#include "base/strings.h"
#include "distributed/cluster/task_wire.h"
#include "distributed/rpc/admission.h"
#include "distributed/rpc/conversions.h"
#include "distributed/rpc/task_calls.h"
#include "distributed/rpc/task_link.h"

namespace carillon {
namespace {

using grpc::ByteBuffer;

constexpr size_t kLargestMessage = size_t{INT32_MAX} - (1 << 20);  // what gRPC takes, and slack
constexpr std::chrono::seconds kSayDone{2};

constexpr std::pair<TaskQuestion, const char*> kQuestions[] = {
    {TaskQuestion::kDevices, kDevicesMethod}, {TaskQuestion::kReset, kResetMethod}};

ByteBuffer ToByteBuffer(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

std::string ToString(const ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!bytes.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

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

  grpc::Status TakeMessages(grpc::ServerContext* context, ServerStream* stream);
  grpc::Status AnswerHeartbeats(grpc::ServerContext* context, ServerStream* stream);
  // A call that is one request and one answer.
  using Unary = std::function<StatusOr<std::string>(const std::string& from, std::string request)>;
  grpc::Status Answer(const Unary& method, grpc::ServerContext* context, const ByteBuffer& request,
                      ByteBuffer* answer);
  // Makes such calls to several tasks at once and waits for their ends.
  struct CallOptions {
    std::chrono::milliseconds patience;
    bool wait_for_ready = false;  // else a task that is not there is an error at once
  };
  std::map<std::string, StatusOr<std::string>> Call(const std::vector<std::string>& tasks,
                                                    const char* method, const std::string& request,
                                                    const CallOptions& call_options) const;
  // Who calls; refuses callers that are no tasks of the cluster, or cannot show it.
  grpc::Status Identify(grpc::ServerContext* context, std::string* from);
  // Answers a caller's hello; with a ticket that it may send by UCX with, if it wants one.
  grpc::Status Welcome(IncomingCall* call, ServerStream* stream, uint64_t ticket,
                       std::string* from);
  void Leave(IncomingCall* call);

  void TakeFrame(uint64_t ticket, StatusOr<Frame> frame);

  const TaskNetworkOptions options;
  TaskListener* const listener;
  Admission admission;
  LogThrottle strangers;
  std::atomic<int64_t> bytes_sent{0}, bytes_received{0};
  class Service;
  std::unique_ptr<Service> service;
  std::unique_ptr<UcxTransport> ucx;  // null: not used
  Watchdog watchdog;
  std::map<std::string, std::unique_ptr<TaskLink>> links;  // never changes

  std::mutex mutex;
  std::set<IncomingCall*> incoming;       // under mutex
  std::map<std::string, int> heartbeats;  // incoming streams of a task, under mutex
  // Who sends by UCX: the task, and the call by which it got its ticket. Under mutex.
  std::map<uint64_t, std::pair<std::string, IncomingCall*>> tickets;
  bool stopping = false;  // under mutex
};

class TaskNetwork::State::Service final : public grpc::Service {
 public:
  explicit Service(State* network) {
    AddStream(kMessagesMethod,
              [network](Service*, grpc::ServerContext* context, ServerStream* stream) {
                return network->TakeMessages(context, stream);
              });
    AddStream(kHeartbeatsMethod,
              [network](Service*, grpc::ServerContext* context, ServerStream* stream) {
                return network->AnswerHeartbeats(context, stream);
              });
    AddUnary(network, kDoneMethod, [network](const std::string& from, std::string) {
      network->listener->OnDone(from);
      return std::string();
    });
    for (const auto& [question, method] : kQuestions) {
      AddUnary(network, method, [network, question](const std::string& from, std::string request) {
        return network->listener->OnQuestion(from, question, request);
      });
    }
  }

 private:
  using Handler = grpc::internal::BidiStreamingHandler<Service, ByteBuffer, ByteBuffer>;
  template <typename Body>
  void AddStream(const char* method, Body body) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        method, grpc::internal::RpcMethod::BIDI_STREAMING, new Handler(std::move(body), this)));
  }
  void AddUnary(State* network, const char* method, Unary body) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        method, grpc::internal::RpcMethod::NORMAL_RPC,
        new grpc::internal::RpcMethodHandler<Service, ByteBuffer, ByteBuffer>(
            [network, body = std::move(body)](Service*, grpc::ServerContext* context,
                                              const ByteBuffer* request, ByteBuffer* answer) {
              return network->Answer(body, context, *request, answer);
            },
            this)));
  }
};

TaskNetwork::State::State(TaskNetworkOptions given, TaskListener* listener)
    : options(std::move(given)),
      listener(listener),
      admission(options.credentials, false),
      service(std::make_unique<Service>(this)),
      watchdog(options.silence) {
  if (options.credentials->has_tls()) {
    LogInfo("messages to other tasks go by gRPC, encrypted; not by UCX, which does not encrypt");
  } else if (options.transport != Transport::kGrpc) {
    auto made = UcxTransport::Make(
        {.tcp = options.transport == Transport::kUcx, .allocator = options.allocator},
        [this](uint64_t ticket, StatusOr<Frame> frame) { TakeFrame(ticket, std::move(frame)); });
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

grpc::Status TaskNetwork::State::Identify(grpc::ServerContext* context, std::string* from) {
  *from = MetadataOf(context->client_metadata(), kTaskKey);
  if (const grpc::Status status = admission.AdmitTask(*context, *from); !status.ok()) return status;
  if (options.addresses.contains(*from)) return grpc::Status::OK;
  strangers.Warn("refused ", context->peer(), ": it calls itself '", *from,
                 "', which is no task of this cluster");
  return {grpc::StatusCode::PERMISSION_DENIED,
          StrCat("'", *from, "' is no task of the cluster of ", options.task)};
}

grpc::Status TaskNetwork::State::Welcome(IncomingCall* call, ServerStream* stream, uint64_t ticket,
                                         std::string* from) {
  if (const grpc::Status status = Identify(call->context, from); !status.ok()) return status;
  bool can_read = false;
  {
    std::lock_guard lock(mutex);
    if (stopping) return {grpc::StatusCode::UNAVAILABLE, "the task is shutting down"};
    incoming.insert(call);
    if (ticket != 0) {
      tickets[ticket] = {*from, call};
      can_read = ucx->Accept(ticket, MetadataOf(call->context->client_metadata(), kUcxKey));
    }
  }
  listener->OnHere(*from);
  call->context->AddInitialMetadata(kTaskKey, options.task);
  if (ticket != 0) {
    call->context->AddInitialMetadata(kUcxKey, WriteUcxOffer({ticket, can_read, ucx->address()}));
  }
  stream->SendInitialMetadata();
  return grpc::Status::OK;
}

void TaskNetwork::State::Leave(IncomingCall* call) {
  std::lock_guard lock(mutex);
  incoming.erase(call);
}

grpc::Status TaskNetwork::State::Answer(const Unary& method, grpc::ServerContext* context,
                                        const ByteBuffer& request, ByteBuffer* answer) {
  *answer = ToByteBuffer(std::string());
  std::string from;
  if (const grpc::Status status = Identify(context, &from); !status.ok()) return status;
  StatusOr<std::string> result = method(from, ToString(request));
  if (result.ok()) *answer = ToByteBuffer(*result);
  return ToGrpcStatus(result.status());
}

grpc::Status TaskNetwork::State::TakeMessages(grpc::ServerContext* context, ServerStream* stream) {
  IncomingCall call(context);
  std::string from;
  if (const grpc::Status status = Welcome(&call, stream, 0, &from); !status.ok()) return status;
  Status status;
  ByteBuffer bytes;
  while (status.ok() && stream->Read(&bytes)) {
    bytes_received += static_cast<int64_t>(bytes.Length());
    grpc::ProtoBufferReader reader(&bytes);
    CodedInput in(&reader);
    in.SetTotalBytesLimit(INT32_MAX);
    status = ReadTaskMessages(&in, options.allocator.get(), [&](TaskMessage message) {
      listener->OnMessage(from, std::move(message));
    });
  }
  if (!status.ok()) LogWarning("closed the connection of ", from, ": ", status.message());
  Leave(&call);
  return ToGrpcStatus(status);
}

void TaskNetwork::State::TakeFrame(uint64_t ticket, StatusOr<Frame> frame) {
  std::string from;
  {
    std::lock_guard lock(mutex);
    const auto found = tickets.find(ticket);
    if (found == tickets.end() || stopping) return;  // a task that was lost since, or nobody
    from = found->second.first;
  }
  Status status = frame.status();
  if (status.ok()) {
    bytes_received += static_cast<int64_t>(
        frame->bytes.size() + (frame->content.has_value() ? frame->content.num_bytes() : 0));
    status = ReadTaskMessages(
        frame->bytes, frame->content, frame->is_cut, options.allocator.get(),
        [&](TaskMessage message) { listener->OnMessage(from, std::move(message)); });
  }
  if (status.ok()) return;
  LogWarning("closed the connection of ", from, ": ", status.message());
  std::lock_guard lock(mutex);
  if (const auto found = tickets.find(ticket); found != tickets.end()) {
    found->second.second->Cancel();  // which ends the heartbeats, and with them the ticket
  }
}

grpc::Status TaskNetwork::State::AnswerHeartbeats(grpc::ServerContext* context,
                                                  ServerStream* stream) {
  IncomingCall call(context);
  std::string from;
  const bool by_ucx = ucx != nullptr && !MetadataOf(context->client_metadata(), kUcxKey).empty();
  const uint64_t ticket = by_ucx ? RandomId() : 0;
  if (const grpc::Status status = Welcome(&call, stream, ticket, &from); !status.ok())
    return status;
  watchdog.Add(&call);
  {
    std::lock_guard lock(mutex);
    ++heartbeats[from];
  }
  ByteBuffer beat;
  while (stream->Read(&beat)) {
    call.Heard();
    if (!stream->Write(beat)) break;
  }
  watchdog.Remove(&call);
  Leave(&call);
  bool is_lost;
  {
    std::lock_guard lock(mutex);
    if (tickets.erase(ticket) > 0) ucx->Forget(ticket);
    is_lost = --heartbeats[from] == 0 && !stopping;
  }
  const auto link = links.find(from);
  if (is_lost && (link == links.end() || !link->second->Break()))
    listener->OnLost(from, call.WhyLost(from, options.silence));
  return grpc::Status::OK;
}

TaskNetwork::TaskNetwork(TaskNetworkOptions options, TaskListener* listener)
    : state_(std::make_unique<State>(std::move(options), listener)) {}

TaskNetwork::~TaskNetwork() { Stop(); }

void TaskNetwork::AddTo(grpc::ServerBuilder* builder) {
  builder->RegisterService(state_->service.get());
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
  const ByteBuffer sent = ToByteBuffer(request);
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
    for (IncomingCall* call : state_->incoming) call->Cancel();
  }
  state_->watchdog.Stop();
  for (const auto& [task, link] : state_->links) link->Stop();
  if (state_->ucx != nullptr) state_->ucx->Stop();
}

}  // namespace carillon
