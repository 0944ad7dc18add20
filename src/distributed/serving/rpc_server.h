// RpcServer: serves calls of gRPC on one address, with TLS or without.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log_throttle.h"
#include "distributed/cluster/credentials.h"
#include "distributed/serving/event_loop.h"
#include "distributed/serving/http2_connection.h"
#include "distributed/serving/listener.h"
#include "distributed/serving/own_addresses.h"
#include "distributed/serving/served_call.h"
#include "distributed/serving/socket.h"

namespace carillon {

struct RpcServerOptions {
  std::string bind = "127.0.0.1";
  int port = 0;  // 0: any free one
  // How long a connection may take to begin to speak, and then, to make a call that is not refused,
  // before it is closed. Where descriptors are short it is closed for a new one, the oldest first:
  // strangers do not keep others out.
  std::chrono::milliseconds handshake_timeout{20'000}, first_call_timeout{60'000};
  // How long a connection may take nothing of its answers by the windows of HTTP/2; by those of TCP
  // it is a minute.
  std::chrono::milliseconds longest_standstill = kLongestStandstill;
  // With TLS in them, connections without it are refused, in words that the client's user reads …
  std::shared_ptr<const Credentials> credentials = std::make_shared<Credentials>();
  // … but for those of this machine, with this.
  bool plain_clients = false;
  // What messages may take that have come in part, or are not read yet, all together. Where more
  // comes, the one ends that has been coming for the longest. 0: no limit.
  int64_t message_memory_bytes = 0;
};

// One thread reads what comes and calls the handlers; one accepts connections.
class RpcServer final : private ConnectionHost {
 public:
  // Throws Error(Unavailable) when the address cannot be had, Error(InvalidArgument) when the
  // certificates are none. Takes no connections yet.
  explicit RpcServer(const RpcServerOptions& options);
  ~RpcServer() override;  // stops, without grace
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // "/tensorflow.MasterService/RunStep". Before Start().
  void AddMethod(std::string name, MakeHandler make);
  void Start();
  // Takes no more calls, waits for those that are under way, breaks off what lasts longer than
  // `grace`. No handler is called or made once this returns. May be called again.
  void Stop(std::chrono::milliseconds grace);

  int port() const { return listener_->port(); }
  const std::string& address() const { return address_; }  // "host:port"

 private:
  class Newcomer;
  // A connection that may not have asked for anything yet.
  struct Stranger {
    std::weak_ptr<Newcomer> newcomer;
    std::weak_ptr<Http2Connection> connection;  // which it has become
  };

  // On the loop's thread.
  const MakeHandler* FindMethod(std::string_view method) const override;
  void OnShortOfMemory() override;
  void OnClosed(Http2Connection* connection, const std::string& error) override;
  void Receive(int descriptor, bool few_left);
  // It has said something: TLS or not.
  void Welcome(int descriptor, bool is_tls, EventLoop::Clock::time_point until, Stranger* stranger);
  void BeginConnection(int descriptor, const TlsContext* tls, Status refusal,
                       EventLoop::Clock::time_point until, Stranger* stranger);
  // Leaves one that is a stranger at the front, if there is any.
  void ForgetKnownStrangers();
  // False: there is none.
  bool CloseOldestStranger();
  // Runs `work` there and waits for its end.
  void OnLoop(const std::function<void()>& work);
  size_t NumCalls() const;

  const RpcServerOptions options_;
  const std::unique_ptr<TlsContext> tls_;  // null: none
  const std::unique_ptr<Listener> listener_;
  const std::string address_;
  const OwnAddresses own_addresses_;
  const std::shared_ptr<MessageMemory> memory_;
  LogThrottle log_;
  std::map<std::string, MakeHandler, std::less<>> methods_;
  std::vector<char> buffer_;

  // The loop's.
  std::unordered_map<int, std::shared_ptr<Newcomer>> newcomers_;
  std::unordered_map<Http2Connection*, std::shared_ptr<Http2Connection>> connections_;
  std::deque<std::shared_ptr<Stranger>> strangers_;  // the oldest first
  bool is_stopping_ = false;

  const std::shared_ptr<EventLoop> loop_ = std::make_shared<EventLoop>();
};

}  // namespace carillon
