// Calls between two tasks, and the watch over them. For the other files of task_network.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/sync_stream.h>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/status.h"
#include "distributed/cluster/credentials.h"
#include "distributed/serving/served_call.h"

namespace carillon {

using ClientStream = grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// The methods of the service that every task has.
inline constexpr const char* kMessagesMethod = "/carillon.Tasks/Messages";
inline constexpr const char* kHeartbeatsMethod = "/carillon.Tasks/Heartbeats";
inline constexpr const char* kDoneMethod = "/carillon.Tasks/Done";
inline constexpr const char* kDevicesMethod = "/carillon.Tasks/Devices";
inline constexpr const char* kResetMethod = "/carillon.Tasks/Reset";

// Metadata: who calls and, in the answer, who was called.
inline constexpr const char* kTaskKey = "carillon-task";
// Of heartbeats: the caller could use UCX, and this is the proof of its memory; in the answer, a
// UcxOffer.
inline constexpr const char* kUcxKey = "carillon-ucx-bin";

// How a task can be reached by UCX, and whether it can read the memory of who asked.
struct UcxOffer {
  uint64_t ticket = 0;  // 0: it cannot
  bool can_read = false;
  std::string address;
};
std::string WriteUcxOffer(const UcxOffer& offer);
UcxOffer ReadUcxOffer(const std::string& bytes);

// The value of a key; empty when there is none.
std::string MetadataOf(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata,
                       const char* key);

// A connection of its own, not one that gRPC still knows to be bad. No proxy is asked. With TLS the
// other end has to show the certificate of `task`, whatever its host is called.
std::shared_ptr<grpc::Channel> OpenTaskChannel(const std::string& task, const std::string& address,
                                               const Credentials& credentials);

// One call, and when something was last heard in it.
class TaskCall {
 public:
  using Clock = std::chrono::steady_clock;

  void Heard() { last_.store(Clock::now().time_since_epoch().count()); }
  // Cancels the call when nothing was heard for so long.
  void CheckFor(std::chrono::milliseconds silence);
  // Why `task` is lost when this call, its heartbeats, has ended.
  Status WhyLost(const std::string& task, std::chrono::milliseconds silence) const;
  virtual void Cancel() = 0;

 protected:
  ~TaskCall() = default;

 private:
  std::atomic<Clock::rep> last_{Clock::now().time_since_epoch().count()};
  std::atomic<bool> went_silent_{false};
};

struct OutgoingCall final : TaskCall {
  void Cancel() override { context.TryCancel(); }
  grpc::ClientContext context;
  std::unique_ptr<ClientStream> stream;
};

struct IncomingCall final : TaskCall {
  explicit IncomingCall(std::shared_ptr<ServedCall> call) : call(std::move(call)) {}
  void Cancel() override { call->BreakOff(absl::CancelledError("the task has ended the call")); }
  const std::shared_ptr<ServedCall> call;
};

// Cancels calls in which nothing was heard for too long. Begins anew after a time in which this
// process stood still itself (it was stopped, or its machine): what came meanwhile has not been
// read, and where all tasks stood still, all go on. Thread-safe.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::milliseconds silence);
  ~Watchdog() { Stop(); }
  void Add(TaskCall* call);
  void Remove(TaskCall* call);
  void Stop();
  std::chrono::milliseconds silence() const { return silence_; }

 private:
  void Loop();

  const std::chrono::milliseconds silence_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<TaskCall*> watched_;  // under mutex_
  bool stopping_ = false;        // under mutex_
  std::thread thread_;
};

}  // namespace carillon
