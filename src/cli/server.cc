// carillon server: one task that runs steps for clients.
#include "carillon/server.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <semaphore>
#include <string>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <thread>
#include <unistd.h>

#include "base/heap.h"
#include "base/logging.h"
#include "base/strings.h"
#include "base/throw.h"
#include "cli/command.h"
#include "cli/launch/plan.h"
#include "distributed/cluster/only_task.h"

namespace carillon {
namespace {

constexpr char kSummary[] =
    "Starts a server that runs steps for clients: TensorFlow's, with "
    "Session(\"grpc://host:port\"), "
    "and Carillon's own.\n\n"
    "Variables, queues and other resources live in the server: all sessions share them, and they "
    "stay "
    "when a session ends. The server says one line when it is ready and stops cleanly on SIGTERM "
    "and "
    "Ctrl-C. In a cluster a ps ends by itself when all workers are done.";

constexpr int64_t kMegabyte = 1 << 20;

std::string FromHex(std::string_view flag, std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    uint8_t byte = 0;
    const char* const begin = digits.data() + i;
    const char* const end = begin + std::min<size_t>(2, digits.size() - i);
    if (end - begin != 2 || std::from_chars(begin, end, byte, 16).ptr != end)
      Throw(InvalidArgument(flag, ": expected pairs of hexadecimal digits, got ", digits));
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

// Ends a server from outside: by SIGTERM or Ctrl-C, or, when it is attached, by what its standard
// input says. Made before any other thread, so that none of them takes the signals.
class Owner {
 public:
  explicit Owner(bool attached) : attached_(attached), over_(eventfd(0, EFD_CLOEXEC)) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
  }
  ~Owner() {
    Release();
    close(signals_);
    close(over_);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  void Watch(Server* server) {
    thread_ = std::thread([this, server] { Loop(server); });
  }
  // For an attached server, until its owner says that its task only serves others, or the server
  // has been ended: before that a task may be busy with work of its own when those it serves are
  // done.
  void WaitForJoin() {
    if (attached_) may_join_.acquire();
  }
  // Nothing happens to the server any more.
  void Release() {
    eventfd_write(over_, 1);
    if (thread_.joinable()) thread_.join();
  }

 private:
  // Steps end when they are cancelled, but for a few kernels that take as long as they take.
  static void Stop(Server& server) {
    constexpr std::chrono::seconds kPatience{20};
    std::binary_semaphore is_stopped(0);
    std::thread watch([&] {
      if (is_stopped.try_acquire_for(kPatience)) return;
      LogError("a step does not end within ", kPatience.count(), " s: leaving it behind");
      std::_Exit(1);
    });
    server.Stop();
    is_stopped.release();
    watch.join();
  }

  void Loop(Server* server) {
    ServeUntilEnd(*server);
    may_join_.release();
  }

  void ServeUntilEnd(Server& server) {
    std::string said;
    pollfd events[] = {{signals_, POLLIN, 0}, {over_, POLLIN, 0}, {0, POLLIN, 0}};
    for (;;) {
      if (poll(events, attached_ ? 3 : 2, -1) < 0) continue;
      if (events[1].revents != 0) return;
      if (events[0].revents != 0) {
        signalfd_siginfo signal;
        if (read(signals_, &signal, sizeof(signal)) != sizeof(signal)) continue;
        LogInfo(signal.ssi_signo == SIGTERM ? "SIGTERM" : "Ctrl-C", ": stopping");
        return Stop(server);
      }
      char bytes[64];
      const ssize_t size = attached_ ? read(0, bytes, sizeof(bytes)) : -1;
      if (size < 0) continue;
      if (size == 0) {
        LogWarning("whoever started the server is gone: stopping");
        return Stop(server);
      }
      said.append(bytes, static_cast<size_t>(size));
      for (size_t end; (end = said.find('\n')) != std::string::npos; said.erase(0, end + 1)) {
        const std::string line = said.substr(0, end);
        if (line == "done") return server.Finish();
        if (line == "join") may_join_.release();
      }
    }
  }

  const bool attached_;
  const int over_;  // written when nobody needs to be watched any more
  int signals_;
  std::counting_semaphore<> may_join_{0};
  std::thread thread_;
};

}  // namespace

int RunServer(const std::vector<std::string>& arguments, Console& console) {
  ServerOptions options;
  std::string transport = "auto", cluster, session_config;
  int64_t connect_seconds = 60, grace_seconds = 60;
  bool attached = false;
  int64_t memory_mb = -1, session_memory_mb = -1, idle_seconds = 24 * 3600;
  Flags flags("carillon server", kSummary);
  flags.Group("Who and where");
  flags.Add("job", &options.job, "the name of the job that this task belongs to");
  flags.Add("task", &options.task, "its number in the job", {.min = 0});
  flags.Add("cluster", &cluster,
            "all tasks, as JOB|HOST:PORT;HOST:PORT,JOB|HOST:PORT or as JSON; the address of this "
            "task is where it listens. Empty: the task is alone");
  flags.Add("transport", &transport, {"auto", "grpc", "ucx"},
            "what messages to other tasks go by. auto: UCX where it finds shared memory or RDMA, "
            "else gRPC; ucx: also UCX by TCP, which listens on all interfaces");
  flags.Add("connect_seconds", &connect_seconds,
            "how long another task is waited for before a step that needs it fails", {.min = 1});
  flags.Add("grace_seconds", &grace_seconds,
            "when the tasks that a ps serves are done or lost, how long it waits for the lost ones "
            "before it ends. 0: for ever",
            {.min = 0});
  flags.Add("attached", &attached,
            "the server belongs to the program that started it: the line 'done' on its standard "
            "input says that the task's work is complete, 'join' that it only serves others and "
            "ends with the job, the end of the input that the program is gone");
  flags.Add(
      "bind", &options.bind,
      "the address to listen on, unless a cluster says so; one that other machines reach needs "
      "a token or TLS");
  flags.Add("port", &options.port, "the port; 0 takes any free one", {.min = 0, .max = 65535});
  flags.Group("Who may come");
  flags.Add(
      "token_file", &options.security.token_file,
      "a file with a secret, as carillon certs --token makes it; all tasks and clients of the "
      "job show it. Empty: $CARILLON_TOKEN_FILE");
  flags.Add("tls_dir", &options.security.tls_dir,
            "a folder as carillon certs makes it, with the certificates of this task and of the "
            "authority: all connections are encrypted, and both ends show who they are. Empty: "
            "$CARILLON_TLS_DIR");
  flags.Add("tls_ca", &options.security.tls_ca,
            "the authority's certificate, instead of the folder's ca.pem");
  flags.Add("tls_cert", &options.security.tls_cert,
            "the task's certificate, instead of the folder's JOB-TASK.pem");
  flags.Add("tls_key", &options.security.tls_key, "its key, instead of the folder's JOB-TASK.key");
  flags.Add("allow_plain_clients", &options.allow_plain_clients,
            "with a token or TLS, clients on this machine run steps without: TensorFlow's client "
            "has neither");
  flags.Add("insecure", &options.insecure,
            "without a token and TLS, listen even on an address that other machines reach: "
            "everybody there can run steps");
  flags.Group("Limits");
  flags.Add("threads", &options.threads,
            "threads that a kernel may use; 0: as $CARILLON_THREADS says, or all cores",
            {.min = 0, .max = 1024});
  flags.Add("memory_limit_mb", &memory_mb,
            "most megabytes that steps may take, for tensors and whatever else; one that needs "
            "more fails "
            "and the server goes on; the graphs of all sessions and their programs may take half "
            "as many besides. 0: no "
            "limit, -1: three "
            "quarters of the machine's memory",
            {.min = -1});
  flags.Add("session_memory_limit_mb", &session_memory_mb,
            "the same for the steps of one session, which besides never take more than three "
            "quarters of that, and less the less others leave. 0: neither, -1: only the latter",
            {.min = -1});
  flags.Add("session_node_limit", &options.session_node_limit,
            "most nodes of one session's graph, its functions included; 0: no limit", {.min = 0});
  flags.Add("session_idle_seconds", &idle_seconds,
            "close a session that has not been used for so long; 0: never", {.min = 0});
  flags.Add("session_config", &session_config,
            "a ConfigProto, serialized, in hexadecimal digits: what it sets holds for every "
            "session, over what the client asks for");
  flags.Group("Looking inside");
  flags.Add("log_device_placement", &options.log_device_placement,
            "say where each node of each session's graph is placed");
  flags.Example("carillon server --port 2222", "one task at grpc://127.0.0.1:2222");
  flags.Example("carillon server --cluster 'ps|127.0.0.1:2222,worker|127.0.0.1:2223' --job ps",
                "the parameter server of a cluster of two");
  if (!ParseFlags(flags, arguments, console)) return 0;
  options.cluster = ClusterSpec::FromFlag(cluster);
  options.default_session_config = FromHex("--session_config", session_config);
  options.transport = transport == "grpc"  ? Transport::kGrpc
                      : transport == "ucx" ? Transport::kUcx
                                           : Transport::kAutomatic;
  options.connect_deadline = std::chrono::seconds(connect_seconds);
  options.grace = std::chrono::seconds(grace_seconds);
  options.memory_limit_bytes = memory_mb < 0 ? -1 : memory_mb * kMegabyte;
  options.session_memory_limit_bytes = session_memory_mb < 0 ? -1 : session_memory_mb * kMegabyte;
  options.session_idle_limit = std::chrono::seconds(idle_seconds);

  options = WithOnlyTask(std::move(options));
  // Below a launcher, that puts the task before every line.
  if (std::getenv(launch::kIdVariable) == nullptr)
    SetLogTask(StrCat(options.job, ":", options.task));

  KeepHeapSmall();
  Owner owner(attached);
  Server server(options);
  console.out << "carillon server /job:" << options.job << "/task:" << options.task
              << " is ready at " << server.target() << std::endl;
  owner.Watch(&server);
  owner.WaitForJoin();
  const int code = server.Join();
  owner.Release();
  return code;
}

}  // namespace carillon
