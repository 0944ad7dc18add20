// The process that ends what a killed launcher leaves behind.
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/launch/process.h"

namespace carillon::launch {
namespace {

// Far more than it takes, unless the kernel cannot let go of a process.
constexpr int kMostRounds = 1000;
constexpr int kRoundMs = 5;

bool HasMarker(pid_t pid, const std::string& marker) {
  std::ifstream file(StrCat("/proc/", pid, "/environ"), std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  return environment.find(marker) != std::string::npos;
}

// True when there were any.
bool KillMarked(const std::string& marker) {
  DIR* processes = ::opendir("/proc");
  if (processes == nullptr) return false;
  bool any = false;
  while (const dirent* entry = ::readdir(processes)) {
    pid_t pid = 0;
    const std::string_view name = entry->d_name;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ptr != name.data() + name.size() || pid == ::getpid()) continue;
    if (HasMarker(pid, marker) && ::kill(pid, SIGKILL) == 0) any = true;
  }
  ::closedir(processes);
  return any;
}

[[noreturn]] void StandGuard(int lifeline, const std::string& marker) {
  // Out of reach of the terminal, and holding nothing that others wait to see closed.
  ::setsid();
  ::prctl(PR_SET_NAME, "carillon-guard");
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::dup2(lifeline, STDIN_FILENO);
  ::close_range(STDIN_FILENO + 1, ~0U, 0);
  char byte;
  while (::read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
  }
  // Until they are gone: one may have started another just before it was killed.
  for (int i = 0; i < kMostRounds && KillMarked(marker); ++i) ::poll(nullptr, 0, kRoundMs);
  ::_exit(0);
}

}  // namespace

Guard::Guard(const std::string& marker) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[1]);
    StandGuard(ends[0], marker);
  }
  ::close(ends[0]);
  lifeline_ = ends[1];
}

Guard::~Guard() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (lifeline_ >= 0) ::close(lifeline_);
}

}  // namespace carillon::launch
