#include "distributed/rpc/task_link.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/strings.h"
#include "distributed/cluster/task_wire.h"
#include "distributed/rpc/admission.h"
#include "distributed/rpc/conversions.h"

namespace carillon {
namespace {

using Clock = std::chrono::steady_clock;
using grpc::ByteBuffer;
using std::chrono::milliseconds;

// Small messages travel together up to here.
constexpr size_t kBatchBytes = 256 << 10;
constexpr size_t kBatchMessages = 1000;
constexpr size_t kDirectBytes = 32 << 10;  // by UCX
constexpr size_t kLargeBytes = 64 << 10;   // travels alone

constexpr milliseconds kRetry{200};
constexpr milliseconds kLookAgain{50};

// Small values must not wait for the end of a large one that happens to travel with them.
bool IsLarge(const TaskMessage& message) {
  const auto* deliver = std::get_if<Deliver>(&message);
  return deliver != nullptr && deliver->value.has_value() &&
         deliver->value.num_bytes() >= kLargeBytes;
}

Status ShuttingDown() { return absl::CancelledError("the task is shutting down"); }

}  // namespace

TaskLink::TaskLink(LinkServices services, std::string task, std::string address)
    : services_(services), task_(std::move(task)), address_(std::move(address)) {}

void TaskLink::Send(std::vector<TaskMessage> messages) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  if (direct_ != nullptr && queue_.empty()) return SendDirectly(messages);
  std::ranges::move(messages, std::back_inserter(queue_));
  if (!writer_.joinable()) writer_ = std::thread([this] { Loop(); });
  changed_.notify_one();
}

void TaskLink::SendDirectly(std::span<const TaskMessage> messages) {
  for (size_t i = 0; i < messages.size();) {
    MessagePieces frame;
    // A large tensor ends a frame: UCX takes it as it is.
    while (i < messages.size() && frame.size() < kDirectBytes)
      AddTaskMessage(messages[i++], &frame);
    *services_.bytes_sent += static_cast<int64_t>(frame.size());
    direct_->Send(std::move(frame));
  }
}

bool TaskLink::Break() {
  std::lock_guard lock(mutex_);
  if (heartbeats_ == nullptr || stopping_) return false;
  if (messages_ != nullptr) messages_->Cancel();
  broken_ = true;
  changed_.notify_one();
  return true;
}

void TaskLink::Stop() {
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

void TaskLink::Loop() {
  const auto lost = [this] {
    return heartbeats_->WhyLost(StrCat(task_, " at ", address_), services_.watchdog->silence());
  };
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || broken_ || !queue_.empty(); });
      if (stopping_) break;
    }
    if (broken_) {
      Disconnect(lost());
      continue;
    }
    if (heartbeats_ == nullptr) {
      if (const Status connected = Connect(); !connected.ok()) {
        Disconnect(connected);
        continue;
      }
    }
    if (!WriteSome()) Disconnect(lost());
  }
  Close();
}

// Several small messages, or one that is large: those who receive them see all of them at once.
bool TaskLink::WriteSome() {
  std::vector<TaskMessage> batch;
  MessagePieces pieces;
  {
    std::lock_guard lock(mutex_);
    if (direct_ != nullptr) {
      for (; !queue_.empty(); queue_.pop_front()) SendDirectly({&queue_.front(), 1});
      return true;
    }
    while (!queue_.empty() && batch.size() < kBatchMessages && pieces.size() < kBatchBytes &&
           (batch.empty() || !IsLarge(queue_.front()))) {
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
      AddTaskMessage(batch.back(), &pieces);
    }
  }
  *services_.bytes_sent += static_cast<int64_t>(pieces.size());
  return batch.empty() || messages_->stream->Write(ToByteBuffer(pieces));
}

Status TaskLink::Connect() {
  const auto begin = Clock::now();
  const milliseconds patience =
      was_there_ ? services_.options.reconnect_deadline : services_.options.connect_deadline;
  for (;;) {
    const Status status = TryToConnect();
    if (IsRefusal(status)) {
      return Status(status.code(), StrCat(task_, " at ", address_, " is there, but not for us: ",
                                          std::string(WithAdvice(status).message())));
    }
    if (status.ok() || Clock::now() + kRetry >= begin + patience) {
      if (status.ok()) return status;
      return absl::UnavailableError(
          StrCat(task_, " at ", address_, was_there_ ? " is gone" : " is not there", "; tried for ",
                 std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count(),
                 " s, the last error: ", std::string(status.message())));
    }
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kRetry, [&] { return stopping_; })) return ShuttingDown();
  }
}

Status TaskLink::TryToConnect() {
  const auto channel = OpenTaskChannel(task_, address_, *services_.options.credentials);
  CARILLON_RETURN_IF_ERROR(WaitForConnection(channel.get()));
  auto heartbeats = Open(channel.get(), kHeartbeatsMethod);
  {
    std::lock_guard lock(mutex_);
    if (stopping_) {
      heartbeats->Cancel();
      heartbeats->stream->Finish();
      return ShuttingDown();
    }
    heartbeats_ = std::move(heartbeats);
    broken_ = false;
  }
  services_.watchdog->Add(heartbeats_.get());  // a machine may not answer at all
  heartbeats_->stream->WaitForInitialMetadata();
  const std::string there = MetadataOf(heartbeats_->context.GetServerInitialMetadata(), kTaskKey);
  if (there == task_) {
    OpenWay(channel.get());
    was_there_ = true;
    services_.listener->OnHere(task_);
    beat_ = std::thread([this] { Beat(); });
    return absl::OkStatus();
  }
  if (!there.empty()) heartbeats_->Cancel();
  Status status = FromGrpcStatus(heartbeats_->stream->Finish());
  if (status.ok() || !there.empty())
    status = absl::FailedPreconditionError(there.empty() ? "no task of a cluster answers there"
                                                         : StrCat(there, " answers there"));
  services_.watchdog->Remove(heartbeats_.get());
  std::lock_guard lock(mutex_);
  heartbeats_.reset();
  return status;
}

Status TaskLink::WaitForConnection(grpc::Channel* channel) {
  const auto give_up = Clock::now() + services_.watchdog->silence();
  while (!channel->WaitForConnected(std::chrono::system_clock::now() + kLookAgain)) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return ShuttingDown();
    }
    // A call says why.
    if (channel->GetState(false) == GRPC_CHANNEL_TRANSIENT_FAILURE) break;
    if (Clock::now() > give_up) return absl::UnavailableError("it does not answer");
  }
  return absl::OkStatus();
}

void TaskLink::OpenWay(grpc::Channel* channel) {
  std::unique_ptr<UcxTransport::Channel> direct;
  const UcxOffer offer =
      ReadUcxOffer(MetadataOf(heartbeats_->context.GetServerInitialMetadata(), kUcxKey));
  std::string why_not = services_.ucx == nullptr ? "" : "the task does not use UCX";
  if (services_.ucx != nullptr && offer.ticket != 0) {
    auto connected = services_.ucx->Connect(offer.address, offer.ticket, offer.can_read);
    if (connected.ok()) {
      direct = *std::move(connected);
      why_not.clear();
    } else {
      why_not = std::string(connected.status().message());
    }
  }
  if (!was_there_) {
    LogInfo("connected to ", task_, " at ", address_, direct != nullptr ? " by UCX" : " by gRPC",
            why_not.empty() ? "" : StrCat(" (", why_not, ")"));
  }
  auto messages = direct == nullptr ? Open(channel, kMessagesMethod) : nullptr;
  std::lock_guard lock(mutex_);
  direct_ = std::move(direct);
  messages_ = std::move(messages);
  if (stopping_ && messages_ != nullptr) messages_->Cancel();
}

std::unique_ptr<OutgoingCall> TaskLink::Open(grpc::Channel* channel, const char* method) const {
  auto call = std::make_unique<OutgoingCall>();
  call->context.AddMetadata(kTaskKey, services_.options.task);
  Sign(*services_.options.credentials, &call->context);
  if (services_.ucx != nullptr) call->context.AddMetadata(kUcxKey, services_.ucx->proof());
  // What generated code does, for messages that are bytes.
  call->stream.reset(grpc::internal::ClientReaderWriterFactory<ByteBuffer, ByteBuffer>::Create(
      channel, grpc::internal::RpcMethod(method, grpc::internal::RpcMethod::BIDI_STREAMING),
      &call->context));
  return call;
}

void TaskLink::Beat() {
  ByteBuffer beat = ToByteBuffer(MessagePieces()), answer;
  for (;;) {
    if (!heartbeats_->stream->Write(beat) || !heartbeats_->stream->Read(&answer)) break;
    heartbeats_->Heard();
    std::unique_lock lock(mutex_);
    if (changed_beat_.wait_for(lock, services_.options.heartbeat,
                               [&] { return stopping_ || closing_; }))
      return;
  }
  std::lock_guard lock(mutex_);
  if (messages_ != nullptr) messages_->Cancel();  // the writer may be in the middle of something
  broken_ = true;
  changed_.notify_one();
}

void TaskLink::Disconnect(const Status& reason) {
  Close();
  {
    std::lock_guard lock(mutex_);
    queue_.clear();
    broken_ = false;
    if (stopping_) return;
  }
  services_.listener->OnLost(task_, reason);
}

void TaskLink::Close() {
  if (heartbeats_ == nullptr) return;
  std::unique_ptr<UcxTransport::Channel> direct;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    direct = std::move(direct_);
  }
  direct.reset();
  changed_beat_.notify_one();
  for (OutgoingCall* call : {messages_.get(), heartbeats_.get()}) {
    if (call != nullptr) call->Cancel();
  }
  if (beat_.joinable()) beat_.join();
  for (OutgoingCall* call : {messages_.get(), heartbeats_.get()}) {
    if (call != nullptr) call->stream->Finish();
  }
  services_.watchdog->Remove(heartbeats_.get());
  std::lock_guard lock(mutex_);
  messages_.reset();
  heartbeats_.reset();
  closing_ = false;
}

}  // namespace carillon
