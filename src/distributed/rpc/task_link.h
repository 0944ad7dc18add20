// TaskLink: the way to one other task. For the other files of task_network.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "distributed/rpc/task_calls.h"
#include "distributed/rpc/task_network.h"
#include "distributed/transport/ucx_transport.h"

namespace carillon {

// What all links of a network share; outlives them.
struct LinkServices {
  const TaskNetworkOptions& options;
  TaskListener* listener;
  Watchdog* watchdog;
  UcxTransport* ucx;  // null: there is none
  std::atomic<int64_t>* bytes_sent;
};

// Connects when there is something to send and no connection: heartbeats go over gRPC, messages by
// UCX where both ends have it and it finds a way, else over gRPC. Over UCX a message is sent by the
// thread that has it; over gRPC a thread of the link's writes what was queued. Thread-safe.
//
// Invariants, under mutex_: queue_ holds what was sent since the task was last lost and is not
// written yet; direct_ is set while messages go by UCX.
class TaskLink {
 public:
  TaskLink(LinkServices services, std::string task, std::string address);
  ~TaskLink() { Stop(); }

  // They travel together, as far as their size allows.
  void Send(std::vector<TaskMessage> messages);
  // The task was lost on its way to us. False when there is no connection to it: nobody will tell.
  bool Break();
  void Stop();

 private:
  void Loop();
  bool WriteSome();
  void SendDirectly(std::span<const TaskMessage> messages);  // under mutex_
  Status Connect();
  Status TryToConnect();
  // So that no call has to: gRPC's would wait for a machine that does not answer much longer.
  Status WaitForConnection(grpc::Channel* channel);
  // By UCX, or if that is not possible, over gRPC.
  void OpenWay(grpc::Channel* channel);
  std::unique_ptr<OutgoingCall> Open(grpc::Channel* channel, const char* method) const;
  // Asks for a sign of life again and again, until there is none.
  void Beat();
  void Disconnect(const Status& reason);
  void Close();

  const LinkServices services_;
  const std::string task_, address_;

  std::mutex mutex_;
  std::condition_variable changed_, changed_beat_;
  std::deque<TaskMessage> queue_;
  std::unique_ptr<UcxTransport::Channel> direct_;
  bool stopping_ = false, closing_ = false;
  std::atomic<bool> broken_{false};
  std::thread writer_;

  // Of the writer's thread, but for Cancel(). Set and reset under mutex_; messages_ is null while
  // messages go by UCX.
  std::unique_ptr<OutgoingCall> messages_, heartbeats_;
  std::thread beat_;
  bool was_there_ = false;
};

}  // namespace carillon
