#include "carillon/server.h"

#include <condition_variable>
#include <mutex>
#include <unistd.h>

#include "base/strings.h"
#include "base/throw.h"
#include "distributed/cluster/master.h"
#include "distributed/rpc/grpc_server.h"

namespace carillon {
namespace {

int64_t MemoryLimit(const ServerOptions& options) {
  if (options.memory_limit_bytes >= 0) return options.memory_limit_bytes;
  return int64_t{sysconf(_SC_PHYS_PAGES)} / 4 * 3 * sysconf(_SC_PAGE_SIZE);
}

std::string TaskName(const ServerOptions& options) {
  if (options.job.empty()) Throw(InvalidArgument("a server needs the name of its job"));
  if (options.task < 0) Throw(InvalidArgument("task ", options.task, ": tasks count from 0"));
  return StrCat("/job:", options.job, "/replica:0/task:", options.task);
}

}  // namespace

// Destroyed from the last member to the first: nothing is called any more once the port is closed.
struct Server::State {
  explicit State(const ServerOptions& options)
      : device(MakeCpuDevice(TaskName(options), {.limit_bytes = MemoryLimit(options)})),
        master({.session_memory_bytes = options.session_memory_limit_bytes,
                .session_nodes = options.session_node_limit,
                .session_idle_limit = options.session_idle_limit,
                .log_placement = options.log_device_placement},
               device, &resources),
        rpc(&master, {.bind = options.bind, .port = options.port}),
        target(StrCat("grpc://", rpc.address())) {}

  std::shared_ptr<Device> device;
  MapResourceStore resources;
  Master master;
  GrpcServer rpc;
  const std::string target;
  std::mutex mutex;
  std::condition_variable stopped;
  bool is_stopped = false;
};

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {}
Server::~Server() { Stop(); }

const std::string& Server::target() const { return state_->target; }
int Server::port() const { return state_->rpc.port(); }

int Server::Join() {
  std::unique_lock lock(state_->mutex);
  state_->stopped.wait(lock, [this] { return state_->is_stopped; });
  return 0;
}

void Server::Stop() {
  state_->master.Stop();
  state_->rpc.Stop();
  std::lock_guard lock(state_->mutex);
  state_->is_stopped = true;
  state_->stopped.notify_all();
}

int64_t Server::num_sessions() const { return static_cast<int64_t>(state_->master.num_sessions()); }
int64_t Server::bytes_in_use() const { return state_->device->allocator->stats().bytes_in_use; }

}  // namespace carillon
