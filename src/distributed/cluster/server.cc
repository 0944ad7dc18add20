#include "carillon/server.h"

#include <arpa/inet.h>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <thread>
#include <unistd.h>

#include "base/cores.h"
#include "base/logging.h"
#include "base/strings.h"
#include "base/throw.h"
#include "distributed/cluster/cluster_task.h"
#include "distributed/cluster/credentials.h"
#include "distributed/cluster/local_master_client.h"
#include "distributed/cluster/master.h"
#include "distributed/cluster/only_task.h"
#include "distributed/cluster/roster.h"
#include "distributed/cluster/task_answers.h"
#include "distributed/rpc/grpc_server.h"
#include "distributed/rpc/task_network.h"
#include "report/status_channel.h"

namespace carillon {
namespace {

// What messages may take besides: a tensor that has no room comes nevertheless, and fails its step.
constexpr int64_t kMessageRoom = 64 << 20;

int64_t MemoryLimit(const ServerOptions& options) {
  if (options.memory_limit_bytes >= 0) return options.memory_limit_bytes;
  return int64_t{sysconf(_SC_PHYS_PAGES)} / 4 * 3 * sysconf(_SC_PAGE_SIZE);
}

std::string TaskName(const std::string& job, int task) {
  return StrCat("/job:", job, "/replica:0/task:", task);
}

std::string TaskName(const ServerOptions& options) {
  if (options.job.empty()) Throw(InvalidArgument("a server needs the name of its job"));
  if (options.task < 0) Throw(InvalidArgument("task ", options.task, ": tasks count from 0"));
  return TaskName(options.job, options.task);
}

std::shared_ptr<const Credentials> CredentialsOf(const ServerOptions& options) {
  return std::make_shared<Credentials>(ValueOrThrow(
      LoadCredentials(options.security, {.name = CertificateOwner(options.job, options.task),
                                         .must_be_named = !options.cluster.empty()})));
}

// Whether only this machine reaches the host. A name that begins like an address is none.
bool IsLoopback(const std::string& host) {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1)
    return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
  return host == "localhost" || host == "::1";
}

// Who reaches the address from elsewhere has to be told from the job's own.
void CheckExposure(const std::string& host, const std::string& task, const Credentials& credentials,
                   bool insecure) {
  if (IsLoopback(host) || credentials.has_tls()) return;
  if (credentials.has_token()) {
    LogWarning(
        "nothing is encrypted: whoever reads the network between the machines reads all "
        "tensors and the token too; carillon certs makes certificates for TLS");
  } else if (!insecure) {
    Throw(FailedPrecondition(task, " would listen on ", host,
                             ", where others than this machine reach it, and there is nothing to "
                             "tell them from the job's own tasks and clients: give it a token "
                             "(--token_file) or certificates (--tls_dir), use an address of "
                             "127.0.0.1, or say --insecure if everybody may run steps here"));
  }
}

RpcServerOptions RpcOptions(const ServerOptions& options,
                            std::shared_ptr<const Credentials> credentials) {
  std::string host = options.bind;
  int port = options.port;
  if (!options.cluster.empty()) {
    // As ClusterSpec has checked: host:port.
    const std::string& address = options.cluster.address(options.job, options.task);
    const size_t colon = address.rfind(':');
    host = address.substr(0, colon);
    port = std::stoi(address.substr(colon + 1));
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  CheckExposure(host, TaskName(options), *credentials, options.insecure);
  const int64_t limit = MemoryLimit(options);
  // Before a port, an address of IPv6 stands in brackets.
  const bool is_v6 = host.find(':') != std::string::npos;
  return {.bind = is_v6 ? StrCat("[", host, "]") : host,
          .port = port,
          .credentials = std::move(credentials),
          .plain_clients = options.allow_plain_clients,
          .message_memory_bytes = limit == 0 ? 0 : limit + kMessageRoom};
}

tensorflow::ConfigProto SessionConfig(const ServerOptions& options) {
  tensorflow::ConfigProto config;
  if (!config.ParseFromString(options.default_session_config))
    Throw(InvalidArgument("default_session_config is no serialized ConfigProto"));
  return config;
}

std::map<std::string, std::string> TaskAddresses(const ClusterSpec& cluster) {
  std::map<std::string, std::string> addresses;
  for (const std::string& job : cluster.jobs()) {
    for (const auto& [task, address] : cluster.tasks(job)) addresses[TaskName(job, task)] = address;
  }
  return addresses;
}

// This task among the others.
struct ClusterMember final : private TaskListener {
  ClusterMember(const ServerOptions& options, const std::shared_ptr<const Credentials>& credentials,
                const std::shared_ptr<Device>& device, MapResourceStore* resources)
      : device(device),
        resources(resources),
        roster(TaskName(options), TaskAddresses(options.cluster)),
        network({.task = TaskName(options),
                 .addresses = TaskAddresses(options.cluster),
                 .allocator = device->allocator,
                 .transport = options.transport,
                 .credentials = credentials,
                 .connect_deadline = options.connect_deadline},
                this),
        task(TaskName(options),
             {.device = device,
              .threads = options.threads > 0 ? options.threads : AvailableCores(),
              .resources = resources,
              .session_memory_bytes = options.session_memory_limit_bytes},
             &network) {}
  ~ClusterMember() override { network.Stop(); }

  const std::shared_ptr<Device> device;
  MapResourceStore* const resources;
  Roster roster;
  TaskNetwork network;
  ClusterTask task;

 private:
  void OnMessage(const std::string& from, TaskMessage message) override {
    if (std::holds_alternative<RegisterProgram>(message)) roster.BecameMaster(from);
    task.Handle(from, std::move(message));
  }
  void OnHere(const std::string& other) override { roster.Came(other); }
  void OnDone(const std::string& other) override {
    LogInfo(other, " is done");
    roster.Finished(other);
  }
  StatusOr<std::string> OnQuestion(const std::string& other, TaskQuestion question,
                                   const std::string& request) override {
    if (question == TaskQuestion::kReset) LogInfo("clearing containers: ", other, " was reset");
    return AnswerQuestion(question, request, *device, resources);
  }
  void OnLost(const std::string& other, const Status& reason) override {
    if (!roster.IsDone(other)) LogWarning(reason.message());
    roster.WasLost(other);
    task.TaskLost(other, reason);
  }
};

// Tells whoever has started the task, if that wants to know, once a second and at the end.
class StatusReporter {
 public:
  StatusReporter(const Master* master, const ClusterMember* member)
      : master_(*master), member_(member), channel_(StatusChannel::FromEnvironment()) {
    if (channel_.is_open()) thread_ = std::thread([this] { Loop(); });
  }
  ~StatusReporter() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Loop() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_; })) Send();
    Send();
  }
  void Send() const {
    JsonObject news;
    if (master_.num_steps() > 0) news.Add("server_steps", master_.num_steps());
    if (member_ != nullptr) {
      const TaskNetwork::Traffic traffic = member_->network.traffic();
      news.Add("bytes_sent", traffic.bytes_sent).Add("bytes_received", traffic.bytes_received);
    }
    channel_.Send(news);
  }

  const Master& master_;
  const ClusterMember* const member_;
  const StatusChannel channel_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // under mutex_
  std::thread thread_;
};

}  // namespace

ServerOptions WithOnlyTask(ServerOptions options) {
  const std::vector<std::string> jobs = options.cluster.jobs();
  if (jobs.size() != 1) return options;
  if (options.job == ServerOptions().job) options.job = jobs.front();
  const ClusterSpec::Tasks& tasks = options.cluster.tasks(options.job);
  if (tasks.size() == 1 && options.task == 0) options.task = tasks.begin()->first;
  return options;
}

// Destroyed from the last member to the first: nothing is called any more once the port is closed.
struct Server::State {
  explicit State(const ServerOptions& options)
      : credentials(CredentialsOf(options)),
        device(MakeCpuDevice(TaskName(options), {.limit_bytes = MemoryLimit(options)})),
        member(options.cluster.empty()
                   ? nullptr
                   : std::make_unique<ClusterMember>(options, credentials, device, &resources)),
        master({.session_memory_bytes = options.session_memory_limit_bytes,
                .session_nodes = options.session_node_limit,
                .graph_memory_bytes = MemoryLimit(options) / 2,
                .session_idle_limit = options.session_idle_limit,
                .log_placement = options.log_device_placement,
                .session_config = SessionConfig(options),
                .cluster = ClusterOf(options)},
               device, &resources),
        rpc(&master, member == nullptr ? nullptr : &member->network,
            RpcOptions(options, credentials)),
        status(&master, member.get()),
        target(StrCat("grpc://", rpc.address())),
        grace(options.grace) {}

  MasterCluster ClusterOf(const ServerOptions& options) {
    if (member == nullptr) return {};
    MasterCluster cluster{&member->task, {device->name}, &member->network};
    for (const auto& [task, address] : TaskAddresses(options.cluster)) {
      if (task != member->task.name()) cluster.devices.push_back(task + "/device:CPU:0");
    }
    return cluster;
  }

  const std::shared_ptr<const Credentials> credentials;
  std::shared_ptr<Device> device;
  MapResourceStore resources;
  std::unique_ptr<ClusterMember> member;
  Master master;
  GrpcServer rpc;
  StatusReporter status;
  const std::string target;
  const std::chrono::milliseconds grace;
  const int exceptions_before = std::uncaught_exceptions();
  std::mutex stopping;  // held while it is being stopped
  std::mutex mutex;
  std::condition_variable stopped;
  bool is_stopped = false;
};

Server::Server(const ServerOptions& options)
    : state_(std::make_unique<State>(WithOnlyTask(options))) {}
Server::~Server() {
  if (std::uncaught_exceptions() > state_->exceptions_before) {
    Stop();
  } else {
    Finish();
  }
}

const std::string& Server::target() const { return state_->target; }
int Server::port() const { return state_->rpc.port(); }

int Server::Join() {
  if (state_->member != nullptr) {
    const std::string reason = state_->member->roster.WaitForEnd(state_->grace);
    if (!reason.empty()) LogInfo("the job is over: ", reason);
    return 0;
  }
  std::unique_lock lock(state_->mutex);
  state_->stopped.wait(lock, [this] { return state_->is_stopped; });
  return 0;
}

void Server::Finish() {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->is_stopped) return;
  }
  state_->master.Stop();
  if (state_->member != nullptr) state_->member->network.SayDone();
  Stop();
}

void Server::Stop() {
  std::lock_guard stopping(state_->stopping);
  state_->master.Stop();
  if (state_->member != nullptr) {
    state_->member->network.Stop();
    state_->member->roster.Stop();
  }
  state_->rpc.Stop();
  std::lock_guard lock(state_->mutex);
  state_->is_stopped = true;
  state_->stopped.notify_all();
}

Session::Session(Server& server, Graph& graph, const SessionOptions& options)
    : state_(new State{graph, MakeClientSession(MakeLocalMasterClient(&server.state_->master),
                                                graph.nodes(), options)}) {}

int64_t Server::num_sessions() const { return static_cast<int64_t>(state_->master.num_sessions()); }
int64_t Server::bytes_in_use() const { return state_->device->allocator->stats().bytes_in_use; }

}  // namespace carillon
