// A client that is killed in the middle of a step: the server notices, ends the step and frees what
// the session took.
#include <csignal>
#include <cstdio>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "carillon/carillon.h"
#include "eventually.h"

namespace carillon {
namespace {

// Starts the client and returns once it says that it waits.
pid_t StartWaitingClient(const std::string& target) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t client = fork();
  if (client == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(CARILLON_WAITING_CLIENT, CARILLON_WAITING_CLIENT, target.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  char first = 0;
  const ssize_t got = read(ends[0], &first, 1);
  close(ends[0]);
  return got == 1 ? client : -1;
}

TEST(ClientDeath, EndsTheStepAndFreesTheSession) {
  Server server;
  for (int round = 0; round < 3; ++round) {
    const pid_t client = StartWaitingClient(server.target());
    ASSERT_GT(client, 0);
    // The step is running when its feed has arrived and is held.
    ASSERT_TRUE(Eventually([&] { return server.bytes_in_use() >= 4 << 20; }));
    ASSERT_EQ(server.num_sessions(), 1);
    kill(client, SIGKILL);
    waitpid(client, nullptr, 0);
    EXPECT_TRUE(Eventually([&] { return server.num_sessions() == 0; }));
    EXPECT_TRUE(Eventually([&] { return server.bytes_in_use() == 0; })) << server.bytes_in_use();
  }
}

}  // namespace
}  // namespace carillon
