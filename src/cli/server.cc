// carillon server: one task that runs steps for clients.
#include "carillon/server.h"

#include <csignal>

#include "base/logging.h"
#include "base/strings.h"
#include "cli/command.h"

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
    "Ctrl-C.";

constexpr int64_t kMegabyte = 1 << 20;

// Blocks the signals that end the server, before any thread is there to take them.
sigset_t BlockEndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

}  // namespace

int RunServer(const std::vector<std::string>& arguments, Console& console) {
  ServerOptions options;
  std::string cluster;
  int64_t connect_seconds = 60;
  int64_t memory_mb = -1, session_memory_mb = 0, idle_seconds = 24 * 3600;
  Flags flags("carillon server", kSummary);
  flags.Group("Who and where");
  flags.Add("job", &options.job, "the name of the job that this task belongs to");
  flags.Add("task", &options.task, "its number in the job", {.min = 0});
  flags.Add("cluster", &cluster,
            "all tasks, as JOB|HOST:PORT;HOST:PORT,JOB|HOST:PORT or as JSON; the address of this "
            "task is where it listens. Empty: the task is alone");
  flags.Add("connect_seconds", &connect_seconds,
            "how long another task is waited for before a step that needs it fails", {.min = 1});
  flags.Add("insecure", &options.insecure,
            "in a cluster, listen on addresses that other machines reach");
  flags.Add("bind", &options.bind,
            "the address to listen on; whoever reaches it can run steps here");
  flags.Add("port", &options.port, "the port; 0 takes any free one", {.min = 0, .max = 65535});
  flags.Group("Limits");
  flags.Add(
      "memory_limit_mb", &memory_mb,
      "most megabytes that tensors may take; a step that needs more fails and the server goes "
      "on. 0: no limit, -1: three quarters of the machine's memory",
      {.min = -1});
  flags.Add("session_memory_limit_mb", &session_memory_mb,
            "the same for the tensors of one session; 0: no limit of its own", {.min = 0});
  flags.Add("session_node_limit", &options.session_node_limit,
            "most nodes of one session's graph, its functions included; 0: no limit", {.min = 0});
  flags.Add("session_idle_seconds", &idle_seconds,
            "close a session that has not been used for so long; 0: never", {.min = 0});
  flags.Group("Looking inside");
  flags.Add("log_device_placement", &options.log_device_placement,
            "say where each node of each session's graph is placed");
  flags.Example("carillon server --port 2222", "one task at grpc://127.0.0.1:2222");
  flags.Example("carillon server --cluster 'ps|127.0.0.1:2222,worker|127.0.0.1:2223' --job ps",
                "the parameter server of a cluster of two");
  if (!ParseFlags(flags, arguments, console)) return 0;
  options.cluster = ClusterSpec::FromFlag(cluster);
  options.connect_deadline = std::chrono::seconds(connect_seconds);
  options.memory_limit_bytes = memory_mb < 0 ? -1 : memory_mb * kMegabyte;
  options.session_memory_limit_bytes = session_memory_mb * kMegabyte;
  options.session_idle_limit = std::chrono::seconds(idle_seconds);

  const sigset_t signals = BlockEndSignals();
  Server server(options);
  console.out << "carillon server /job:" << options.job << "/task:" << options.task
              << " is ready at " << server.target() << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  LogInfo(signal == SIGTERM ? "SIGTERM" : "Ctrl-C", ": stopping");
  server.Stop();
  return 0;
}

}  // namespace carillon
