// Clusters that start, run and stop, again and again: nothing may be left of them.
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "base/reserved_ports.h"
#include "base/throw.h"
#include "carillon/carillon.h"
#include "own_process.h"

namespace carillon {
namespace {

int OpenFiles() {
  int count = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
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
  int64_t threads = 0, memory = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round == kWarmUp) {
      files = OpenFiles();
      threads = OwnStatus("Threads");
      memory = BytesInUse();
    }
    RunOnce(static_cast<uint64_t>(round));
    if (HasFatalFailure()) return;
  }
  // gRPC closes some of its own a little later: no more than one round's worth.
  EXPECT_LE(OpenFiles(), files + 20);
  EXPECT_LE(OwnStatus("Threads"), threads + 20);
  EXPECT_LE(BytesInUse(), memory + (30 << 20));
}

}  // namespace
}  // namespace carillon
