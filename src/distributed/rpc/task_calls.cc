#include "distributed/rpc/task_calls.h"

#include <cstring>

#include "base/strings.h"
#include "distributed/rpc/admission.h"

namespace carillon {

std::string MetadataOf(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata,
                       const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

std::string WriteUcxOffer(const UcxOffer& offer) {
  std::string bytes(sizeof(offer.ticket), '\0');
  std::memcpy(bytes.data(), &offer.ticket, sizeof(offer.ticket));
  bytes.push_back(offer.can_read ? 1 : 0);
  return bytes + offer.address;
}

UcxOffer ReadUcxOffer(const std::string& bytes) {
  UcxOffer offer;
  if (bytes.size() <= sizeof(offer.ticket) + 1) return offer;
  std::memcpy(&offer.ticket, bytes.data(), sizeof(offer.ticket));
  offer.can_read = bytes[sizeof(offer.ticket)] != 0;
  offer.address = bytes.substr(sizeof(offer.ticket) + 1);
  return offer;
}

std::shared_ptr<grpc::Channel> OpenTaskChannel(const std::string& task, const std::string& address,
                                               const Credentials& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (credentials.has_tls()) arguments.SetSslTargetNameOverride(IdentityOfTask(task));
  return grpc::CreateCustomChannel(address, ToChannelCredentials(credentials), arguments);
}

void TaskCall::CheckFor(std::chrono::milliseconds silence) {
  const auto quiet = Clock::now().time_since_epoch() - Clock::duration(last_.load());
  if (quiet < silence || went_silent_.exchange(true)) return;
  Cancel();
}

Status TaskCall::WhyLost(const std::string& task, std::chrono::milliseconds silence) const {
  return absl::UnavailableError(went_silent_
                                    ? StrCat(task, " has given no sign of life for ",
                                             silence.count(), " ms: it is frozen, or cut off")
                                    : StrCat(task, " is gone: it has closed the connection"));
}

Watchdog::Watchdog(std::chrono::milliseconds silence)
    : silence_(silence), thread_([this] { Loop(); }) {}

void Watchdog::Add(TaskCall* call) {
  std::lock_guard lock(mutex_);
  watched_.insert(call);
}

void Watchdog::Remove(TaskCall* call) {
  std::lock_guard lock(mutex_);
  watched_.erase(call);
}

void Watchdog::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::Loop() {
  using Clock = TaskCall::Clock;
  std::unique_lock lock(mutex_);
  for (Clock::time_point last = Clock::now();;) {
    if (changed_.wait_for(lock, silence_ / 8, [&] { return stopping_; })) return;
    const bool stood_still = Clock::now() - last > silence_ / 2;
    last = Clock::now();
    for (TaskCall* call : watched_) {
      if (stood_still) {
        call->Heard();
      } else {
        call->CheckFor(silence_);
      }
    }
  }
}

}  // namespace carillon
