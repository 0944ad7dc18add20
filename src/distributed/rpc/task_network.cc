#include "distributed/rpc/task_network.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/sync_stream.h>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/logging.h"
#include "base/strings.h"
#include "distributed/cluster/task_wire.h"
#include "distributed/rpc/conversions.h"

namespace carillon {
namespace {

using Clock = std::chrono::steady_clock;
using grpc::ByteBuffer;
using std::chrono::milliseconds;
using ClientStream = grpc::ClientReaderWriter<ByteBuffer, ByteBuffer>;
using ServerStream = grpc::ServerReaderWriter<ByteBuffer, ByteBuffer>;

constexpr const char* kMessages = "/carillon.Tasks/Messages";
constexpr const char* kHeartbeats = "/carillon.Tasks/Heartbeats";
constexpr const char* kDone = "/carillon.Tasks/Done";
// Who calls, and in the answer, who was called.
constexpr const char* kTaskKey = "carillon-task";

// Small messages travel together up to here.
constexpr size_t kBatchBytes = 256 << 10;
constexpr size_t kBatchMessages = 1000;
constexpr size_t kLargestMessage = size_t{INT32_MAX} - (1 << 20);  // what gRPC takes, and slack

constexpr milliseconds kRetry{200};
constexpr std::chrono::seconds kSayDone{2};

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A connection of its own, not one that gRPC still knows to be bad.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

std::string TaskIn(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  const auto found = metadata.find(kTaskKey);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

// One call between two tasks, and when something was last heard in it.
class Call {
 public:
  void Heard() { last_.store(Clock::now().time_since_epoch().count()); }
  // Cancels the call when nothing was heard for so long.
  void CheckFor(milliseconds silence) {
    const auto quiet = Clock::now().time_since_epoch() - Clock::duration(last_.load());
    if (quiet < silence || silent_.exchange(true)) return;
    Cancel();
  }
  bool went_silent() const { return silent_; }
  virtual void Cancel() = 0;

 protected:
  ~Call() = default;

 private:
  std::atomic<Clock::rep> last_{Clock::now().time_since_epoch().count()};
  std::atomic<bool> silent_{false};
};

struct OutgoingCall final : Call {
  void Cancel() override { context.TryCancel(); }
  grpc::ClientContext context;
  std::unique_ptr<ClientStream> stream;
};

struct IncomingCall final : Call {
  explicit IncomingCall(grpc::ServerContext* call) : context(call) {}
  void Cancel() override { context->TryCancel(); }
  grpc::ServerContext* const context;
};

Status WhyLost(const std::string& task, const Call& heartbeats, milliseconds silence) {
  return absl::UnavailableError(heartbeats.went_silent()
                                    ? StrCat(task, " has given no sign of life for ",
                                             silence.count(), " ms: it is frozen, or cut off")
                                    : StrCat(task, " is gone: it has closed the connection"));
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

  // Watches over calls in which something has to be heard all the time.
  void Watch();
  void Add(Call* call);
  void Remove(Call* call);

  grpc::Status TakeMessages(grpc::ServerContext* context, ServerStream* stream);
  grpc::Status AnswerHeartbeats(grpc::ServerContext* context, ServerStream* stream);
  grpc::Status TakeDone(grpc::ServerContext* context);
  // Who calls; refuses callers that are no tasks of the cluster.
  grpc::Status Identify(grpc::ServerContext* context, std::string* from) const;
  // Answers a caller's hello.
  grpc::Status Welcome(IncomingCall* call, ServerStream* stream, std::string* from);
  void Leave(IncomingCall* call);

  const TaskNetworkOptions options;
  TaskListener* const listener;
  std::atomic<int64_t> bytes_sent{0}, bytes_received{0};
  class Service;
  std::unique_ptr<Service> service;
  class Link;
  std::map<std::string, std::unique_ptr<Link>> links;  // never changes

  std::mutex mutex;
  std::condition_variable changed;
  std::set<Call*> watched;                // under mutex
  std::set<Call*> incoming;               // under mutex
  std::map<std::string, int> heartbeats;  // incoming streams of a task, under mutex
  bool stopping = false;                  // under mutex
  std::thread watchdog;
};

// The way to one task. Its thread writes what was queued, in order; connects when there is
// something and no connection.
//
// Invariants, under mutex_: queue_ holds what was sent since the task was last lost and is not
// written yet.
class TaskNetwork::State::Link {
 public:
  Link(State* network, std::string task, std::string address)
      : network_(*network), task_(std::move(task)), address_(std::move(address)) {}
  ~Link() { Stop(); }

  void Send(TaskMessage message) {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    queue_.push_back(std::move(message));
    if (!writer_.joinable()) writer_ = std::thread([this] { Loop(); });
    changed_.notify_one();
  }

  // The task was lost on its way to us. False when there is no connection to it: nobody will tell.
  bool Break() {
    std::lock_guard lock(mutex_);
    if (messages_ == nullptr || stopping_) return false;
    messages_->Cancel();
    broken_ = true;
    changed_.notify_one();
    return true;
  }

  void Stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      queue_.clear();
      for (OutgoingCall* call : {messages_.get(), heartbeats_.get()}) {
        if (call != nullptr) call->Cancel();
      }
    }
    changed_.notify_one();
    if (writer_.joinable()) writer_.join();
  }

 private:
  void Loop() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopping_ || broken_ || !queue_.empty(); });
        if (stopping_) break;
      }
      if (broken_) {
        Disconnect(Lost());
        continue;
      }
      if (messages_ == nullptr) {
        if (const Status connected = Connect(); !connected.ok()) {
          Disconnect(connected);
          continue;
        }
      }
      if (!WriteSome()) Disconnect(Lost());
    }
    Close();
  }

  // Several small messages, or one that is large.
  bool WriteSome() {
    std::vector<TaskMessage> batch;
    MessagePieces pieces;
    {
      std::lock_guard lock(mutex_);
      while (!queue_.empty() && batch.size() < kBatchMessages && pieces.size() < kBatchBytes) {
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
        AddTaskMessage(batch.back(), &pieces);
      }
    }
    network_.bytes_sent += static_cast<int64_t>(pieces.size());
    return batch.empty() || messages_->stream->Write(ToByteBuffer(pieces));
  }

  Status Connect() {
    const auto begin = Clock::now();
    const milliseconds patience =
        was_there_ ? network_.options.reconnect_deadline : network_.options.connect_deadline;
    for (;;) {
      const Status status = TryToConnect();
      if (status.ok() || Clock::now() + kRetry >= begin + patience) {
        if (status.ok()) return status;
        return absl::UnavailableError(StrCat(
            task_, " at ", address_, was_there_ ? " is gone" : " is not there", "; tried for ",
            std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count(),
            " s, the last error: ", std::string(status.message())));
      }
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kRetry, [&] { return stopping_; }))
        return absl::CancelledError("the task is shutting down");
    }
  }

  Status TryToConnect() {
    const auto channel = ChannelTo(address_);
    auto heartbeats = Open(channel.get(), kHeartbeats);
    auto messages = Open(channel.get(), kMessages);
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return absl::CancelledError("the task is shutting down");
      heartbeats_ = std::move(heartbeats);
      messages_ = std::move(messages);
      broken_ = false;
    }
    network_.Add(heartbeats_.get());  // a machine may not answer at all
    heartbeats_->stream->WaitForInitialMetadata();
    const std::string there = TaskIn(heartbeats_->context.GetServerInitialMetadata());
    if (there == task_) {
      if (!was_there_) LogInfo("connected to ", task_, " at ", address_, " by gRPC");
      was_there_ = true;
      network_.listener->OnHere(task_);
      beat_ = std::thread([this] { Beat(); });
      return absl::OkStatus();
    }
    if (!there.empty()) heartbeats_->Cancel();
    messages_->Cancel();
    Status status = FromGrpcStatus(heartbeats_->stream->Finish());
    if (status.ok() || !there.empty())
      status = absl::FailedPreconditionError(there.empty() ? "no task of a cluster answers there"
                                                           : StrCat(there, " answers there"));
    messages_->stream->Finish();
    Forget();
    return status;
  }

  std::unique_ptr<OutgoingCall> Open(grpc::Channel* channel, const char* method) const {
    auto call = std::make_unique<OutgoingCall>();
    call->context.AddMetadata(kTaskKey, network_.options.task);
    // What generated code does, for messages that are bytes.
    call->stream.reset(grpc::internal::ClientReaderWriterFactory<ByteBuffer, ByteBuffer>::Create(
        channel, grpc::internal::RpcMethod(method, grpc::internal::RpcMethod::BIDI_STREAMING),
        &call->context));
    return call;
  }

  // Asks for a sign of life again and again, until there is none.
  void Beat() {
    ByteBuffer beat = ToByteBuffer(MessagePieces()), answer;
    for (;;) {
      if (!heartbeats_->stream->Write(beat) || !heartbeats_->stream->Read(&answer)) break;
      heartbeats_->Heard();
      std::unique_lock lock(mutex_);
      if (changed_beat_.wait_for(lock, network_.options.heartbeat,
                                 [&] { return stopping_ || closing_; }))
        return;
    }
    messages_->Cancel();  // the writer may be in the middle of something
    std::lock_guard lock(mutex_);
    broken_ = true;
    changed_.notify_one();
  }

  Status Lost() const {
    return WhyLost(StrCat(task_, " at ", address_), *heartbeats_, network_.options.silence);
  }

  void Disconnect(const Status& reason) {
    Close();
    {
      std::lock_guard lock(mutex_);
      queue_.clear();
      broken_ = false;
      if (stopping_) return;
    }
    network_.listener->OnLost(task_, reason);
  }

  void Close() {
    if (messages_ == nullptr) return;
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_beat_.notify_one();
    messages_->Cancel();
    heartbeats_->Cancel();
    if (beat_.joinable()) beat_.join();
    messages_->stream->Finish();
    heartbeats_->stream->Finish();
    Forget();
  }

  void Forget() {
    network_.Remove(heartbeats_.get());
    std::lock_guard lock(mutex_);
    messages_.reset();
    heartbeats_.reset();
    closing_ = false;
  }

  State& network_;
  const std::string task_, address_;

  std::mutex mutex_;
  std::condition_variable changed_, changed_beat_;
  std::deque<TaskMessage> queue_;
  bool stopping_ = false, closing_ = false;
  std::atomic<bool> broken_{false};
  std::thread writer_;

  // Of the writer's thread, but for Cancel(). Set and reset under mutex_.
  std::unique_ptr<OutgoingCall> messages_, heartbeats_;
  std::thread beat_;
  bool was_there_ = false;
};

class TaskNetwork::State::Service final : public grpc::Service {
 public:
  explicit Service(State* network) {
    AddStream(kMessages, [network](Service*, grpc::ServerContext* context, ServerStream* stream) {
      return network->TakeMessages(context, stream);
    });
    AddStream(kHeartbeats, [network](Service*, grpc::ServerContext* context, ServerStream* stream) {
      return network->AnswerHeartbeats(context, stream);
    });
    AddMethod(new grpc::internal::RpcServiceMethod(
        kDone, grpc::internal::RpcMethod::NORMAL_RPC,
        new grpc::internal::RpcMethodHandler<Service, ByteBuffer, ByteBuffer>(
            [network](Service*, grpc::ServerContext* context, const ByteBuffer*,
                      ByteBuffer* answer) {
              *answer = ToByteBuffer(MessagePieces());
              return network->TakeDone(context);
            },
            this)));
  }

 private:
  using Handler = grpc::internal::BidiStreamingHandler<Service, ByteBuffer, ByteBuffer>;
  template <typename Body>
  void AddStream(const char* method, Body body) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        method, grpc::internal::RpcMethod::BIDI_STREAMING, new Handler(std::move(body), this)));
  }
};

TaskNetwork::State::State(TaskNetworkOptions given, TaskListener* listener)
    : options(std::move(given)), listener(listener), service(std::make_unique<Service>(this)) {
  for (const auto& [task, address] : options.addresses) {
    if (task != options.task) links[task] = std::make_unique<Link>(this, task, address);
  }
  watchdog = std::thread([this] { Watch(); });
}

void TaskNetwork::State::Watch() {
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, options.silence / 8, [&] { return stopping; })) {
    for (Call* call : watched) call->CheckFor(options.silence);
  }
}

void TaskNetwork::State::Add(Call* call) {
  std::lock_guard lock(mutex);
  watched.insert(call);
}

void TaskNetwork::State::Remove(Call* call) {
  std::lock_guard lock(mutex);
  watched.erase(call);
}

grpc::Status TaskNetwork::State::Identify(grpc::ServerContext* context, std::string* from) const {
  *from = TaskIn(context->client_metadata());
  if (options.addresses.contains(*from)) return grpc::Status::OK;
  LogWarning("refused ", context->peer(), ": it calls itself '", *from,
             "', which is no task of this cluster");
  return {grpc::StatusCode::PERMISSION_DENIED,
          StrCat("'", *from, "' is no task of the cluster of ", options.task)};
}

grpc::Status TaskNetwork::State::Welcome(IncomingCall* call, ServerStream* stream,
                                         std::string* from) {
  if (const grpc::Status status = Identify(call->context, from); !status.ok()) return status;
  listener->OnHere(*from);
  call->context->AddInitialMetadata(kTaskKey, options.task);
  stream->SendInitialMetadata();
  std::lock_guard lock(mutex);
  if (stopping) return {grpc::StatusCode::UNAVAILABLE, "the task is shutting down"};
  incoming.insert(call);
  return grpc::Status::OK;
}

void TaskNetwork::State::Leave(IncomingCall* call) {
  std::lock_guard lock(mutex);
  incoming.erase(call);
}

grpc::Status TaskNetwork::State::TakeDone(grpc::ServerContext* context) {
  std::string from;
  if (const grpc::Status status = Identify(context, &from); !status.ok()) return status;
  listener->OnDone(from);
  return grpc::Status::OK;
}

grpc::Status TaskNetwork::State::TakeMessages(grpc::ServerContext* context, ServerStream* stream) {
  IncomingCall call(context);
  std::string from;
  if (const grpc::Status status = Welcome(&call, stream, &from); !status.ok()) return status;
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

grpc::Status TaskNetwork::State::AnswerHeartbeats(grpc::ServerContext* context,
                                                  ServerStream* stream) {
  IncomingCall call(context);
  std::string from;
  if (const grpc::Status status = Welcome(&call, stream, &from); !status.ok()) return status;
  {
    std::lock_guard lock(mutex);
    watched.insert(&call);
    ++heartbeats[from];
  }
  ByteBuffer beat;
  while (stream->Read(&beat)) {
    call.Heard();
    if (!stream->Write(beat)) break;
  }
  Leave(&call);
  bool is_lost;
  {
    std::lock_guard lock(mutex);
    watched.erase(&call);
    is_lost = --heartbeats[from] == 0 && !stopping;
  }
  const auto link = links.find(from);
  if (is_lost && (link == links.end() || !link->second->Break()))
    listener->OnLost(from, WhyLost(from, call, options.silence));
  return grpc::Status::OK;
}

TaskNetwork::TaskNetwork(TaskNetworkOptions options, TaskListener* listener)
    : state_(std::make_unique<State>(std::move(options), listener)) {}

TaskNetwork::~TaskNetwork() { Stop(); }

void TaskNetwork::AddTo(grpc::ServerBuilder* builder) {
  builder->RegisterService(state_->service.get());
}

Status TaskNetwork::Send(const std::string& task, TaskMessage message) {
  const auto link = state_->links.find(task);
  if (link == state_->links.end())
    return absl::NotFoundError(StrCat("there is no task '", task, "' in the cluster"));
  CARILLON_RETURN_IF_ERROR(CheckSize(message));
  link->second->Send(std::move(message));
  return absl::OkStatus();
}

void TaskNetwork::SayDone() {
  struct Call {
    std::shared_ptr<grpc::Channel> channel;
    grpc::ClientContext context;
    ByteBuffer answer;
  };
  const ByteBuffer nothing = ToByteBuffer(MessagePieces());
  std::mutex mutex;
  std::condition_variable changed;
  size_t answered = 0;
  std::vector<std::unique_ptr<Call>> calls;
  for (const auto& [task, address] : state_->options.addresses) {
    if (task == state_->options.task) continue;
    Call& call = *calls.emplace_back(std::make_unique<Call>());
    call.channel = ChannelTo(address);
    call.context.AddMetadata(kTaskKey, state_->options.task);
    call.context.set_deadline(std::chrono::system_clock::now() + kSayDone);
    grpc::GenericStub(call.channel)
        .UnaryCall(&call.context, kDone, grpc::StubOptions(), &nothing, &call.answer,
                   [&](const grpc::Status&) {
                     std::lock_guard lock(mutex);
                     ++answered;
                     changed.notify_one();
                   });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return answered == calls.size(); });  // each has its deadline
}

TaskNetwork::Traffic TaskNetwork::traffic() const {
  return {state_->bytes_sent, state_->bytes_received};
}

void TaskNetwork::Stop() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    for (Call* call : state_->incoming) call->Cancel();
  }
  state_->changed.notify_all();
  if (state_->watchdog.joinable()) state_->watchdog.join();
  for (const auto& [task, link] : state_->links) link->Stop();
}

}  // namespace carillon
