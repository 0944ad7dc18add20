// Clusters that start, run and stop, again and again: nothing may be left of them.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "base/reserved_ports.h"
#include "base/throw.h"
#include "carillon/carillon.h"

namespace carillon {
namespace {

int OpenFiles() {
  int count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

// "Threads:" or "VmRSS:" (kB) of this process.
int64_t StatusOf(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != key) continue;
    int64_t value = 0;
    status >> value;
    return value;
  }
  return -1;
}

void RunOnce(uint64_t round) {
  const ReservedPorts ports = ValueOrThrow(ReservedPorts::Reserve(2));
  const ClusterSpec cluster{{"ps", {"127.0.0.1:" + std::to_string(ports.numbers()[0])}},
                            {"worker", {"127.0.0.1:" + std::to_string(ports.numbers()[1])}}};
  Server ps({.job = "ps", .cluster = cluster});
  {
    Server worker({.job = "worker", .cluster = cluster});
    Graph g;
    const DeviceScope on(g, ReplicaDeviceSetter(cluster, {.worker_task = 0}));
    const Variable v(g, "v", Shape{100'000}, init::Zeros());
    const Operation update = v.AssignAdd(Fill(Const(g, {100'000}), 1.0f));
    Session session(worker, g);
    session.Run(GlobalVariablesInitializer(g));
    for (int step = 0; step < 10; ++step) session.Run(update);
    EXPECT_EQ(session.Run(v.read()).data<float>()[round % 100'000], 10);
  }
  EXPECT_EQ(ps.Join(), 0);  // the only worker is done
}

TEST(Repetition, TwoHundredClustersLeaveNothingBehind) {
  constexpr int kRounds = 200, kWarmUp = 20;
  int files = 0;
  int64_t threads = 0, memory_kb = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round == kWarmUp) {
      files = OpenFiles();
      threads = StatusOf("Threads:");
      memory_kb = StatusOf("VmRSS:");
    }
    RunOnce(static_cast<uint64_t>(round));
    if (HasFatalFailure()) return;
  }
  // gRPC closes some of its own a little later: no more than one round's worth.
  EXPECT_LE(OpenFiles(), files + 20);
  EXPECT_LE(StatusOf("Threads:"), threads + 20);
  EXPECT_LE(StatusOf("VmRSS:"), memory_kb + 30'000);
}

}  // namespace
}  // namespace carillon
