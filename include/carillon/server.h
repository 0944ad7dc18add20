// Server: one task that runs steps for clients, TensorFlow's as well as ours.
//
//   carillon::Server server({.port = 2222});
//   return server.Join();
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "carillon/cluster.h"
#include "carillon/security.h"

namespace carillon {

// What the messages between the tasks of a cluster go by.
enum class Transport {
  kAutomatic,  // UCX, where it finds shared memory or RDMA between two tasks; otherwise gRPC
  kGrpc,
  kUcx,  // UCX, by TCP, too, for which it listens on all interfaces; gRPC where it is not there
};

struct ServerOptions {
  // Who this task is.
  std::string job = "local";
  int task = 0;
  // All tasks that there are, this one among them; empty: it is alone.
  ClusterSpec cluster;
  Transport transport = Transport::kAutomatic;
  // How long a task of the cluster that was never there is waited for.
  std::chrono::milliseconds connect_deadline{std::chrono::seconds(60)};
  // How long Join waits for the tasks that it serves to come back when all are done or lost; 0: for
  // ever.
  std::chrono::milliseconds grace{std::chrono::seconds(60)};
  // Where clients, and the other tasks, find it. In a cluster its own entry says so.
  std::string bind = "127.0.0.1";  // the address to listen on
  int port = 0;                    // 0: any free one
  // Who may come. With neither token nor TLS an address that other machines reach is refused,
  // unless `insecure` says that everybody who reaches it may run steps.
  Security security;
  bool insecure = false;
  // With a token or TLS: clients on this machine, whoever started them, run steps without either,
  // as TensorFlow's client does. Other tasks do not get in this way.
  bool allow_plain_clients = false;
  // What clients may take.
  int threads = 0;                  // that a kernel may use; 0: $CARILLON_THREADS, or all cores
  int64_t memory_limit_bytes = -1;  // all tensors together; -1: three quarters of the memory of
                                    // the machine, 0: no limit. Graphs may take half of it besides.
  // Tensors of one session: so many, and never more than three quarters of all, or less the less
  // other sessions leave; -1: only the latter, 0: neither. Holds for its clients' sessions on every
  // task that runs parts of their steps, and here for the sessions of other tasks' clients.
  int64_t session_memory_limit_bytes = -1;
  int64_t session_node_limit = 500'000;  // nodes of one session's graph; 0: no limit
  std::chrono::milliseconds session_idle_limit{std::chrono::hours(24)};  // 0: never closed
  // A serialized ConfigProto: what it sets holds for every session, whatever the client asks for.
  std::string default_session_config;
  // Looking inside.
  bool log_device_placement = false;  // say where the nodes of every session's graph are placed
};

// Starts with its construction and stops with its destruction. Owns all that it uses: several may
// live in one process. Thread-safe.
class Server {
 public:
  // Throws Error(InvalidArgument) for options that make no sense, Error(Unavailable) when the
  // address cannot be had, Error(FailedPrecondition) for one that must not be used without
  // security.
  explicit Server(const ServerOptions& options = {});
  // Finishes; stops without saying that the task is done when an exception is on its way.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "grpc://127.0.0.1:2222": what a client's session connects to.
  const std::string& target() const;
  int port() const;

  // For a task that only serves others. Returns 0, for main() to return, when the job is over: all
  // tasks of other jobs than "ps" are done, and those of its own job that had sessions here; or
  // those that came are done or lost, and nobody came (back) within the grace time. Also when the
  // server is stopped; without a cluster only then.
  int Join();
  // Tells the cluster that the work of this task is complete, and stops. Once stopped, nothing.
  void Finish();
  // Cancels running steps, closes the sessions and lets go of the port. Waits for that. The others
  // miss a task that stops without having finished: it may come back.
  void Stop();

  // For looking inside: sessions that are open, and bytes that tensors take.
  int64_t num_sessions() const;
  int64_t bytes_in_use() const;

 private:
  friend class Session;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace carillon
